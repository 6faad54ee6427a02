// Command bootstrap is the Scheduler on Lambda.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/stepkeeper/stepkeeper/functions/scheduler/bootstrap/wiring"
)

func main() {
	log := lambdacontext.NewLogger()
	function, err := wiring.New(os.LookupEnv, os.Stdout, log)
	if err != nil {
		log.Error("the Scheduler cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}
