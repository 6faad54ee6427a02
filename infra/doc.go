// Package infra provides a CDK construct that deploys Stepkeeper: tables, queues, functions, schedule, alerts
// and alarms. Import the package into your own CDK app, or use the app in infra/app.
//
//	infra.NewStepkeeper(stack, "Shop", &infra.Props{
//		Workflows:  []string{"workflows"},
//		Agents: map[string]infra.Agent{
//			"payment":  {HTTP: "agents.yaml"},           // the ready-made HTTP agent
//			"shipping": {Folder: "./agents/shipping"},    // a Go main package that calls agent.Serve
//			"mail":     {Function: existing},             // a function of your own
//			"printer":  {External: true},                 // a process elsewhere that reads the queue
//		},
//		AlarmEmail: "ops@example.com",
//	})
//
// Main runs the app and prints readable errors. The methods GrantSubmit, GrantOperate and GrantAgent give
// other roles the permissions of an application, an operator or an agent.
//
// The defaults are for production. Tables and queues are encrypted, and stay if the stack is deleted. Tables
// have deletion protection, and can be restored to any second of the last 35 days. CloudFormation generates
// all names, so that an account can have several deployments. Every permission names its actions. Every
// permission also names its resources, except two whose actions have no resources (rule 21).
//
// The app builds the functions with the Go toolchain. The app's go.mod states the version of their source
// code. Two builds of the same version have the same bytes (rule 18).
//
// Comments in this package cite the rules of docs/reference/aws-rules.md by number.
package infra
