//go:build !lambda.norpc

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

func (s *settings) process(ctx context.Context, name string, operations Operations) (err error) {
	s.log = cmp.Or(s.log, slog.Default())
	environment, err := deployment.ReadProcess(os.LookupEnv, name)
	if err := errors.Join(err, operations.Validate(), worker.Validate(s.retry, s.breaker)); err != nil {
		return fmt.Errorf("agent %q: %w", name, err)
	}
	closeLedger, err := s.openLedger(ctx, environment)
	if err != nil {
		return fmt.Errorf("agent %q: opening its ledger: %w", name, err)
	}
	defer closeLedger()
	requests, w, err := s.connect(ctx, name, operations, environment)
	if err != nil {
		return fmt.Errorf("agent %q: %w", name, err)
	}
	if s.stats != nil {
		defer func() { s.stats(w.Stats()) }()
	}
	s.log.Info("the agent takes requests", "agent", name, "queue", requests.Name(), "ledger", s.ledger != nil)
	pump := worker.Pump{
		Queue: requests, Worker: w, Concurrency: s.concurrency, Batch: s.batch,
		Drain: s.drain,
	}
	return pump.Run(ctx)
}

func (s *settings) openLedger(ctx context.Context,
	environment deployment.Process,
) (closeIt func(), err error) {
	none := func() {}
	folder := cmp.Or(s.ledgerFolder, environment.LedgerFolder)
	switch {
	case s.ledger != nil:
	case environment.Ledger != "":
		// The table of a deployment takes precedence over the program's own folder, as on Lambda.
		sdk, err := awsclient.Load(ctx, awsclient.Options{Endpoint: awsclient.Endpoint("dynamodb")})
		if err != nil {
			return none, err
		}
		s.ledger = dynamo.NewLedger(dynamo.NewClient(sdk), environment.Ledger)
	case folder != "" && s.openFolder != nil:
		l, closeLedger, err := s.openFolder(ctx, folder)
		if err != nil {
			return none, err
		}
		s.ledger = l
		return func() { _ = closeLedger() }, nil
	case folder != "":
		s.log.Warn(
			"no ledger is opened, because the program lacks the option ledger.InFolder; requests of plain "+
				"steps are refused", "variable", deployment.VarLedgerFolder)
	}
	return none, nil
}

func (s *settings) connect(ctx context.Context, name string, operations Operations,
	environment deployment.Process,
) (port.Queue, *worker.Worker, error) {
	queues, clock, err := s.open(ctx, environment)
	if err != nil {
		return nil, nil, err
	}
	requests, errRequests := queues.Queue(port.Requests(name))
	if errors.Is(errRequests, port.ErrUnavailable) {
		return nil, nil, unreached(errRequests)
	}
	replies, errReplies := queues.Queue(port.Replies)
	quarantine, errQuarantine := queues.Queue(port.Quarantine)
	if err := errors.Join(errRequests, errReplies, errQuarantine); errors.Is(err, port.ErrNotFound) {
		return nil, nil,
			fmt.Errorf(
				"%w\nfor `stepkeeper dev` write `%s: {external: true}` into its agents file, and restart it; for a stack "+
					"set %s, %s and %s to the addresses in its outputs",
				err, name, deployment.VarRequestsURL, deployment.VarRepliesURL, deployment.VarQuarantineURL)
	} else if err != nil {
		return nil, nil, err
	}
	w, err := worker.New(worker.Config{
		Agent: name, Operations: operations, Replies: replies, Quarantine: quarantine, Ledger: s.ledger,
		Clock: clock, Log: s.log, Retry: s.retry, Breaker: s.breaker,
	})
	return requests, w, err
}

func (s *settings) open(ctx context.Context,
	environment deployment.Process,
) (port.Queues, port.Clock, error) {
	clock := cmp.Or[port.Clock](s.clock, port.ClockFunc(time.Now))
	if s.queues != nil {
		return s.queues, clock, nil
	}
	sdk, err := awsclient.Load(ctx, awsclient.Options{Endpoint: awsclient.Endpoint("sqs")})
	if err != nil {
		return nil, nil, fmt.Errorf("%w\n%s", err, ofDev)
	}
	return sqs.New(sdk, sqs.Config{
		URLs: environment.Queues, Prefix: environment.Prefix,
		LookUp: environment.Queues == nil,
	}), clock, nil
}

const ofDev = "for the queues of a `stepkeeper dev` on this machine " +
	"set AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377"

func unreached(err error) error {
	if endpoint := awsclient.Endpoint("sqs"); endpoint != "" {
		return fmt.Errorf("%w\nis `stepkeeper dev` running at %s? "+
			"start it, or set AWS_ENDPOINT_URL_SQS to its address", err, endpoint)
	}
	return fmt.Errorf("%w\ncheck the network, and AWS_REGION; %s", err, ofDev)
}

func (s *settings) openReplies(ctx context.Context, name string) (*Replies, error) {
	environment, err := deployment.ReadProcess(os.LookupEnv, name)
	if err != nil {
		return nil, fmt.Errorf("replies of agent %q: %w", name, err)
	}
	queues, clock, err := s.open(ctx, environment)
	if err != nil {
		return nil, fmt.Errorf("replies of agent %q: %w", name, err)
	}
	queue, err := queues.Queue(port.Replies)
	if errors.Is(err, port.ErrUnavailable) {
		err = unreached(err)
	}
	if err != nil {
		return nil, fmt.Errorf("replies of agent %q: %w", name, err)
	}
	return &Replies{Agent: name, Queue: queue, Clock: clock}, nil
}
