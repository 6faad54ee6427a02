package cli

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/demo/agents"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
)

// exampleOrders is how many orders the example comes with: enough that a service refuses some.
const exampleOrders = 40

// example is the shipped workflow with its remote services, which do not misbehave here, in a folder
// of its own. The state goes with it at the end: the services' books begin empty each time.
type example struct {
	dir   string
	fleet *services.Fleet
}

func startExample(ctx context.Context) (_ *example, err error) {
	e := &example{}
	if e.dir, err = os.MkdirTemp("", "stepkeeper-example-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.remove())
		}
	}()
	books := filepath.Join(e.dir, "services")
	for _, dir := range []string{books, e.workflows()} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := writeShipped(e.workflows()); err != nil {
		return nil, err
	}
	if err := os.WriteFile(e.orders(), someOrders(), 0o600); err != nil {
		return nil, err
	}
	// The services outlive ctx, for the calls that end while the runtime drains.
	if e.fleet, err = services.Start(context.WithoutCancel(ctx), services.Options{Dir: books}); err != nil {
		return nil, err
	}
	return e, os.WriteFile(e.agents(), agents.File(e.fleet.URL, nil), 0o600)
}

// someOrders are lines for `stepkeeper submit`.
func someOrders() []byte {
	var b bytes.Buffer
	n := 0
	for line := range shop.Good(1) {
		b.Write(line)
		b.WriteByte('\n')
		if n++; n == exampleOrders {
			break
		}
	}
	return b.Bytes()
}

func (e *example) data() string      { return filepath.Join(e.dir, "data") }
func (e *example) workflows() string { return filepath.Join(e.dir, "workflows") }
func (e *example) agents() string    { return filepath.Join(e.dir, "agents.yaml") }
func (e *example) orders() string    { return filepath.Join(e.dir, "orders.jsonl") }

func (e *example) close(log *slog.Logger) {
	if err := e.remove(); err != nil {
		log.Warn("the example's folder is left", "folder", e.dir, "error", err)
	}
}

func (e *example) remove() error {
	var err error
	if e.fleet != nil {
		err = e.fleet.Close()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
