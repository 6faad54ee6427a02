package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// saga is the workflow of the measurements: four sequential steps whose agents reply at once.
//
//go:embed saga.yaml
var saga string

const body = load.Order

func operations() map[string]worker.Operations {
	return map[string]worker.Operations{"shop": {worker.AnyOperation: {
		Run: func(context.Context, worker.Call) (any, error) { return json.RawMessage(`{"ok":true}`), nil },
	}}}
}

// runtimeOptions writes the workflows into the folder dir. It returns the options of a runtime in this
// folder.
func runtimeOptions(dir string, ops map[string]worker.Operations,
	workflows map[string]string,
) (embedded.Options, error) {
	flows := filepath.Join(dir, "workflows")
	if err := os.MkdirAll(flows, 0o700); err != nil {
		return embedded.Options{}, err
	}
	for name, text := range workflows {
		if err := os.WriteFile(filepath.Join(flows, name+".yaml"), []byte(text), 0o600); err != nil {
			return embedded.Options{}, err
		}
	}
	return embedded.Options{
		Data: filepath.Join(dir, "data"), Workflows: flows, Operations: ops, MaxOpen: 1 << 20,
		Inside: embedded.Inside{Concurrency: 64, Breaker: worker.Breaker{Off: true}},
	}, nil
}

func openRuntime(ctx context.Context, dir string, ops map[string]worker.Operations) (*embedded.Runtime, error) {
	o, err := runtimeOptions(dir, ops, map[string]string{"saga": saga})
	if err != nil {
		return nil, err
	}
	return embedded.Open(ctx, o)
}

func ended(t *protocol.Task) bool { return t.Terminal() || t.ProcessState == core.Error }

func submit(ctx context.Context, s *embedded.Runtime, order []byte) error {
	o, err := message.DecodeSubmit(order)
	if err != nil {
		return err
	}
	return s.Submit(ctx, []message.SubmitOrder{o})[0].Err
}

func one(ctx context.Context, s *embedded.Runtime, id string) error {
	if err := submit(ctx, s, fmt.Appendf(nil, `{"schema":1,"orderId":%q,"workflow":"saga","order":%s}`, id,
		body)); err != nil {
		return err
	}
	t, err := s.Wait(ctx, id, ended)
	if err != nil {
		return err
	}
	if t.ProcessState != core.Processed {
		return fmt.Errorf("order %s ended %s: %s", id, t.ProcessState, t.Reason.Text)
	}
	return nil
}

// submitAll submits n orders in groups of 100. It submits several groups concurrently.
func submitAll(ctx context.Context, s *embedded.Runtime, n, concurrency int, order func(k int) []byte) error {
	const group = 100
	r := load.Request{Orders: (n + group - 1) / group, Concurrency: concurrency}
	_, err := load.Run(ctx, r, func(i int) error {
		var orders []message.SubmitOrder
		for k := i * group; k < min(n, (i+1)*group); k++ {
			o, err := message.DecodeSubmit(order(k))
			if err != nil {
				return err
			}
			orders = append(orders, o)
		}
		for _, r := range s.Submit(ctx, orders) {
			if r.Err != nil {
				return r.Err
			}
		}
		return nil
	})
	return err
}

func noneIn(ctx context.Context, s *embedded.Runtime, states ...core.State) error {
	for {
		open := 0
		for _, state := range states {
			some, _, err := s.List(ctx, port.Query{State: string(state), Limit: 1})
			if err != nil {
				return err
			}
			open += len(some)
		}
		if open == 0 {
			return nil
		}
		if err := port.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func processed(ctx context.Context, s *embedded.Runtime) (all []view.Summary, err error) {
	for cursor, first := "", true; cursor != "" || first; first = false {
		var page []view.Summary
		page, cursor, err = s.List(ctx, port.Query{
			State: string(core.Processed), Limit: 1000,
			Cursor: cursor,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}
