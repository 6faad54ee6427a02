// Package infra is a CDK construct that deploys Stepkeeper: tables, queues, functions, schedule, alerts,
// alarms. Import it into an app of your own, or use the one in infra/app.
//
//	infra.NewStepkeeper(stack, "Shop", &infra.Props{
//		Workflows:  []string{"workflows"},
//		Agents: map[string]infra.Agent{
//			"payment":  {HTTP: "agents.yaml"},           // the ready HTTP agent, with its settings
//			"shipping": {Folder: "./agents/shipping"},    // a Go main package that calls agent.Serve
//			"mail":     {Function: existing},             // a function of your own
//			"printer":  {External: true},                 // a process elsewhere that reads the queue
//		},
//		AlarmEmail: "ops@example.com",
//	})
//
// Main runs the app and prints errors for people. The methods that begin with Grant let other roles submit,
// operate, or be an agent.
//
// All defaults are meant for production: tables and queues are encrypted and stay when the stack is deleted,
// and tables are protected and can be restored to any second of the last 35 days. CloudFormation makes all
// names, so that an account can have several deployments. Every permission names its actions and its
// resources. The numbers in comments are the rules of docs/reference/aws-rules.md.
//
// The functions are built with the Go toolchain while the app runs, from the version of this module that the
// app requires, and have the same bytes each time (rule 18).
package infra
