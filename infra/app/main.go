// Command app is the CDK app that deploys the example: orders of goods, done by the ready HTTP
// agent. `make deploy` runs it; see docs/aws-rules.md and infra for an app of your own.
//
// Its settings are CDK context, `-c name=value`, with paths from the folder infra; each has a default:
//
//	stack      name of the stack; several may live in one account            Stepkeeper
//	agents     file of HTTP agents                                           app/agents.yaml
//	workflows  files and folders, with commas between them                   ../workflows/order.yaml
//	email      who gets alerts and alarms                                    nobody
//	operators  ARNs that may redrive dead letters, with commas               none
//	reply-to   status queues, name=ARN with commas between them              a queue "shop" of the stack's own
//	keep       false deletes tables and queues with the stack                true
//	x86        build for x86-64                                              false
//	rule       schedule by an EventBridge rule                               false
//	key        encrypt everything with a key of the stack's own              false
//	finished   list ended orders too                                         false
//	sweep      interval of the Supervisor: 1m, or 1s to 30s                  1m
//	nag        check with cdk-nag                                            false
//	prebuilt   folder with built functions: scheduler, supervisor, agent     built here
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/app/example"
)

func main() {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	if err := example.Add(app); err != nil {
		fmt.Fprintln(os.Stderr, "infra/app:", err)
		jsii.Close()
		os.Exit(1)
	}
	app.Synth(nil)
}
