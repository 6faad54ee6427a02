package integration

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

func (s *site) lambdaNames(ctx context.Context) ([]string, error) {
	var names []string
	pages := lambda.NewListFunctionsPaginator(s.lambda, &lambda.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range page.Functions {
			names = append(names, text(f.FunctionName))
		}
	}
	return names, nil
}

// invoke starts a function and does not wait for it.
func (s *site) invoke(ctx context.Context, function string) error {
	_, err := s.lambda.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &function, InvocationType: types.InvocationTypeEvent,
		Payload: []byte(`{"from":"test"}`),
	})
	return err
}

// everyTick is how often the tests start the Supervisor themselves: its schedule ticks each minute, and the
// first time a minute after the deployment.
const everyTick = 2 * time.Second

// ticker starts a Supervisor again and again, unless it is held.
type ticker struct {
	mu sync.Mutex
}

// run ticks until the context ends. A tick that fails is followed by the next, as the schedule's is.
func (k *ticker) run(ctx context.Context, s *site, function string) {
	for ctx.Err() == nil {
		k.mu.Lock()
		_ = s.invokeAndWait(ctx, function)
		k.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(everyTick):
		}
	}
}

// onSchedule leaves the Supervisor to its deployed schedule for the rest of a test, which must not be
// parallel.
func (k *ticker) onSchedule(t *testing.T) {
	t.Helper()
	k.mu.Lock()
	t.Cleanup(k.mu.Unlock)
}

func (s *site) invokeAndWait(ctx context.Context, function string) error {
	_, err := s.lambda.Invoke(ctx,
		&lambda.InvokeInput{FunctionName: &function, Payload: []byte(`{"from":"test"}`)})
	return err
}
