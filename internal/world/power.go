package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// errCut is what an actor sees of an I/O while the power is off.
var errCut = errors.New("connection lost")

// Power is off once the process is dead: no I/O works then.
type Power struct{ Dead bool }

func (p *Power) io(do func()) error {
	if p.Dead {
		return errCut
	}
	do()
	return nil
}

// cutStore is a store behind the switch.
type cutStore struct {
	port.Store
	world *World
	power *Power
}

func (s cutStore) Commit(ctx context.Context, writes []port.Write) (errs []error) {
	s.world.Passed(ctx, "Commit")
	if err := s.power.io(func() { errs = s.Store.Commit(ctx, writes) }); err != nil {
		return all(len(writes), err)
	}
	return errs
}

func (s cutStore) Load(ctx context.Context, ids []string) (rs []*port.Record, errs []error) {
	s.world.Passed(ctx, "Load")
	if cut := s.power.io(func() { rs, errs = s.Store.Load(ctx, ids) }); cut != nil {
		return make([]*port.Record, len(ids)), all(len(ids), cut)
	}
	return rs, errs
}

func (s cutStore) Content(ctx context.Context, id, hash string) (content []byte, err error) {
	s.world.Passed(ctx, "Content")
	if cut := s.power.io(func() { content, err = s.Store.Content(ctx, id, hash) }); cut != nil {
		return nil, cut
	}
	return content, err
}

func (s cutStore) Erase(ctx context.Context, id, hash string) (err error) {
	s.world.Passed(ctx, "Erase")
	if cut := s.power.io(func() { err = s.Store.Erase(ctx, id, hash) }); cut != nil {
		return cut
	}
	return err
}

func (s cutStore) Ended(ctx context.Context, id string) (ended bool, err error) {
	s.world.Passed(ctx, "Ended")
	if cut := s.power.io(func() { ended, err = s.Store.Ended(ctx, id) }); cut != nil {
		return false, cut
	}
	return ended, err
}

func (s cutStore) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int) (due []port.Due, err error) {
	s.world.Passed(ctx, "Due")
	if cut := s.power.io(func() {
		due, err = s.Store.Due(ctx, bucket, shard, before, after,
			limit)
	}); cut != nil {
		return nil, cut
	}
	return due, err
}

func all(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// cutQueues are queues behind the switch, with the world's limits; the actors only send.
type cutQueues struct {
	port.Queues
	world *World
}

func (q cutQueues) Queue(name string) (port.Queue, error) {
	inner, err := q.Queues.Queue(name)
	return cutQueue{inner, q.world}, err
}

func (q cutQueues) ReplyTo(name string) (port.Queue, error) {
	if q.world.Outage {
		return nil, port.ErrUnavailable
	}
	if name == q.world.Gone {
		return nil, fmt.Errorf("reply-to %q: %w", name, port.ErrNotFound)
	}
	inner, err := q.Queues.ReplyTo(name)
	return cutQueue{inner, q.world}, err
}

type cutQueue struct {
	port.Queue
	world *World
}

func (q cutQueue) Send(ctx context.Context, messages []port.Message) (errs []error) {
	q.world.Passed(ctx, "Send")
	if err := q.world.Power.io(func() { errs = q.send(ctx, messages) }); err != nil {
		return all(len(messages), err)
	}
	return errs
}

func (q cutQueue) Depth(ctx context.Context) (d port.Depth, err error) {
	q.world.Passed(ctx, "Depth")
	if cut := q.world.Power.io(func() { d, err = q.Queue.Depth(ctx) }); cut != nil {
		return d, cut
	}
	return d, err
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

// definitions are the world's, with the contexts of their calls looked at.
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

// leases are the world's, with the contexts of their calls looked at.
type leases struct {
	port.Leases
	world *World
}

func (l leases) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration) (bool, error) {
	l.world.Passed(ctx, "Acquire")
	return l.Leases.Acquire(ctx, name, owner, now, ttl)
}

type mark struct{}

// Context is one that actors are called with. They must pass it on with every call: on Lambda it ends before
// the handling does.
var Context = context.WithValue(context.Background(), mark{}, true)

// Passed checks that a call was handed Context.
func (w *World) Passed(ctx context.Context, call string) {
	w.t.Helper()
	if ctx.Value(mark{}) == nil {
		w.t.Errorf("%s was called with another context than the handling's", call)
	}
}
