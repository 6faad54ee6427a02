package agent

import (
	"context"
	"fmt"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/stepkeeper/stepkeeper/functions/agent/onlambda"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// Serve handles the requests of one agent until the context ends. Then Serve waits for running
// requests and returns nil. On Lambda Serve returns only if it cannot start.
//
// Serve returns an error if it cannot start, or if requests are still running after the drain time. An
// error about settings lists all wrong settings.
func Serve(ctx context.Context, name string, operations Operations, options ...Option) error {
	var s settings
	for _, o := range options {
		o(&s)
	}
	if os.Getenv(deployment.VarRuntimeAPI) == "" {
		return s.process(ctx, name, operations)
	}
	return s.function(ctx, name, operations)
}

func (s *settings) function(ctx context.Context, name string, operations Operations) error {
	if s.log == nil {
		s.log = lambdacontext.NewLogger()
	}
	f, err := onlambda.New(os.LookupEnv, worker.Config{
		Agent: name, Operations: operations, Retry: s.retry, Breaker: s.breaker, Ledger: s.ledger,
	}, os.Stdout, s.log)
	if err != nil {
		return fmt.Errorf("agent %q: %w", name, err)
	}
	lambda.StartWithOptions(f, lambda.WithContext(ctx))
	return nil
}
