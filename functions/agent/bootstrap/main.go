// Command bootstrap is the ready-made agent on Lambda. It calls HTTP services or services of AWS.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/stepkeeper/stepkeeper/functions/agent/bootstrap/wiring"
)

func main() {
	log := lambdacontext.NewLogger()
	function, err := wiring.New(os.LookupEnv, os.Stdout, log)
	if err != nil {
		log.Error("the agent cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}
