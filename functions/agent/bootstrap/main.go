// Command bootstrap is the ready-made agent on Lambda. It calls HTTP services or services of AWS.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/onlambda"
	"github.com/stepkeeper/stepkeeper/functions/agent/orderagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/secrets"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/internal/renewed"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
)

func main() {
	log := lambdacontext.NewLogger()
	function, err := newFunction(os.LookupEnv, os.Stdout, log)
	if err != nil {
		log.Error("the agent cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}

// newFunction reads the settings, checks everything except the values of secrets, and makes the clients. It
// makes no network calls (rule 13 of docs/reference/aws-rules.md). The first batch of requests reads
// the secrets. The error lists all faults.
//
// The handler writes metrics to the writer out, as lines of the log.
func newFunction(lookup deployment.Lookup, out io.Writer, log *slog.Logger) (lambdaevent.Function, error) {
	s, err := deployment.ReadAgent(lookup, true)
	c, errClient := wire.Environment(lookup)
	if err := errors.Join(err, errClient); err != nil {
		return nil, err
	}
	file, err := read(s, lookup)
	if err != nil {
		return nil, err
	}
	reader := secrets.New(c)
	tracer := tracing.OfFunction(lookup, s.Name, log)
	// The first batch of requests makes the worker. A later batch makes a new worker if the secrets are old.
	made := &renewed.Value[*worker.Worker]{
		Clock: port.ClockFunc(time.Now),
		Get: func(ctx context.Context) (*worker.Worker, error) {
			values, err := reader.Read(ctx, s.Secrets)
			if err != nil {
				return nil,
					fmt.Errorf(
						"agent %q cannot read its secrets; check that they are there, and that the "+
							"function's role may read them: %w", s.Name, err)
			}
			agent, err := agentOf(c, file, s, with(values, lookup))
			if err != nil {
				return nil, err
			}
			if tracer != nil {
				agent.Tracer = tracer
			}
			return onlambda.NewWorker(c, s, agent, log)
		},
		Stale: func(err error) {
			log.Warn("the secrets could not be read again; those that were read before stay", "error", err)
		},
	}
	get := func(ctx context.Context) (*worker.Worker, error) {
		return made.Read(ctx, secrets.MaxAge(s.Secrets))
	}
	handle := onlambda.Function(c, s, get, out, log)
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		response, err := handle(ctx, event)
		tracer.Flush(ctx)
		return response, err
	}, nil
}

func with(values map[string]string, lookup deployment.Lookup) deployment.Lookup {
	return func(name string) (string, bool) {
		if v, secret := values[name]; secret {
			return v, true
		}
		return lookup(name)
	}
}

// read reads the compiled settings, and checks them before the values of secrets are known.
func read(s deployment.Agent, lookup deployment.Lookup) (file settings.File, err error) {
	data, err := os.ReadFile(s.Config)
	if err != nil {
		return file, fmt.Errorf("settings of agent %q: %w", s.Name, err)
	}
	file, err = settings.Decode(data)
	if err != nil {
		return file, err
	}
	if _, there := file.Agents[s.Name]; !there {
		return file, fmt.Errorf("the compiled settings hold no agent %q; deploy again", s.Name)
	}
	_, err = settings.Complete(file, settings.WithoutSecrets(slices.Collect(maps.Keys(s.Secrets)), lookup))
	return file, err
}

func agentOf(c aws.Config, file settings.File, s deployment.Agent,
	lookup deployment.Lookup,
) (agent worker.Config, err error) {
	name := s.Name
	file, err = settings.Complete(file, settings.Variables{Lookup: lookup})
	if err != nil {
		return agent, err
	}
	a := file.Agents[name]
	agent.Agent = name
	agent.Retry = a.Retry
	agent.Breaker = a.Breaker
	if a.Orders {
		intake, err := sqs.New(c, sqs.Config{URLs: s.Queues}).Queue(port.Intake)
		agent.Operations = orderagent.Operations(intake)
		return agent, err
	}
	if a.OnAWS() {
		agent.Operations = awsagent.Operations(name, a.Timeout, a.Calls(), c)
		return agent, nil
	}
	service, err := httpagent.New(name, a.Agent, a.HTTP(), httpagent.Options{AWS: c})
	if err != nil {
		return agent, err
	}
	agent.Operations = service.Operations()
	return agent, nil
}
