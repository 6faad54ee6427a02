package actorstest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type cutQueues struct {
	port.Queues
	world *World
}

func (q cutQueues) Queue(name string) (port.Queue, error) {
	inner, err := q.Queues.Queue(name)
	return cutQueue{inner, q.world}, err
}

func (q cutQueues) ReplyTo(name string) (port.Sender, error) {
	if q.world.Outage {
		return nil, port.ErrUnavailable
	}
	if name == q.world.Gone {
		return nil, fmt.Errorf("reply-to %q: %w", name, port.ErrNotFound)
	}
	found, err := q.Queues.ReplyTo(name)
	inner, _ := found.(port.Queue)
	return cutQueue{inner, q.world}, err
}

type cutQueue struct {
	port.Queue
	world *World
}

func (q cutQueue) Send(ctx context.Context, messages []port.Message) []error {
	if err := q.world.call(ctx, "Send"); err != nil {
		return slices.Repeat([]error{err}, len(messages))
	}
	return q.send(ctx, messages)
}

func (q cutQueue) Depth(ctx context.Context) (port.Depth, error) {
	if err := q.world.call(ctx, "Depth"); err != nil {
		return port.Depth{}, err
	}
	return q.Queue.Depth(ctx)
}

func (q cutQueue) send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		body, err := m.Bytes()
		switch {
		case err != nil:
			errs[i] = err
		case q.Name() == q.world.Refuse:
			errs[i] = port.ErrUnavailable
		case q.world.Limit > 0 && len(body) > q.world.Limit:
			errs[i] = port.ErrTooLarge
		case q.world.Fail != nil && q.world.Fail(q.Name(), m) != nil:
			errs[i] = q.world.Fail(q.Name(), m)
		default:
			errs[i] = q.Queue.Send(ctx, messages[i:i+1])[0]
		}
	}
	return errs
}

type definitions struct {
	port.Definitions
	world *World
}

func (d definitions) Definition(ctx context.Context, hash string) ([]byte, error) {
	d.world.Passed(ctx, "Definition")
	if d.world.Unread != nil {
		return nil, d.world.Unread
	}
	return d.Definitions.Definition(ctx, hash)
}

func (d definitions) PutDefinition(ctx context.Context, hash string, data []byte) error {
	d.world.Passed(ctx, "PutDefinition")
	if d.world.Unread != nil {
		return d.world.Unread
	}
	return d.Definitions.PutDefinition(ctx, hash, data)
}

type leases struct {
	port.Leases
	world *World
}

func (l leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration,
) (bool, error) {
	l.world.Passed(ctx, "Acquire")
	return l.Leases.Acquire(ctx, name, owner, now, ttl)
}

type mark struct{}

// Context is the context that a World passes to the actors. An actor must pass it on in each of its calls,
// because on Lambda the context carries the deadline of the invocation.
var Context = context.WithValue(context.Background(), mark{}, true)

// Passed reports a test error if the context of a call does not come from Context.
func (w *World) Passed(ctx context.Context, call string) {
	w.t.Helper()
	if ctx.Value(mark{}) == nil {
		w.t.Errorf("%s was called with another context than the handling's", call)
	}
}

func (w *World) call(ctx context.Context, name string) error {
	w.t.Helper()
	w.Passed(ctx, name)
	if w.Dead {
		return errCut
	}
	return nil
}
