package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
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

func openRuntime(ctx context.Context, dir string,
	ops map[string]worker.Operations,
) (*embedded.Runtime, error) {
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
