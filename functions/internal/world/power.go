package world

import (
	"context"
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// ErrCut is what an actor sees of an I/O that the power switch cut.
var ErrCut = errors.New("connection lost")

// Power counts the actors' I/O and cuts it at one place: before it takes effect, or after, so that
// only the answer is lost.
type Power struct {
	Calls int  // I/O so far
	At    int  // the call that is cut; 0: none
	After bool // it takes effect
	Kill  bool // the process dies with it: nothing works any more
	Dead  bool
	hit   bool
}

func (p *Power) struck() bool { return p.hit }

func (p *Power) io(do func()) error {
	if p.Dead {
		return ErrCut
	}
	p.Calls++
	if p.Calls != p.At {
		do()
		return nil
	}
	p.hit = true
	if p.After {
		do()
	}
	p.Dead = p.Kill
	return ErrCut
}

// cutStore is a store behind the switch.
type cutStore struct {
	port.Store
	power *Power
}

func (s cutStore) Commit(ctx context.Context, writes []port.Write) (errs []error) {
	if err := s.power.io(func() { errs = s.Store.Commit(ctx, writes) }); err != nil {
		return all(len(writes), err)
	}
	return errs
}

func (s cutStore) Load(ctx context.Context, ids []string) (rs []*port.Record, err error) {
	if cut := s.power.io(func() { rs, err = s.Store.Load(ctx, ids) }); cut != nil {
		return nil, cut
	}
	return rs, err
}

func (s cutStore) LoadOrder(ctx context.Context, id string) (o *port.Order, err error) {
	if cut := s.power.io(func() { o, err = s.Store.LoadOrder(ctx, id) }); cut != nil {
		return nil, cut
	}
	return o, err
}

func all(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// cutQueues are queues behind the switch; the actors only send.
type cutQueues struct {
	port.Queues
	power *Power
}

func (q cutQueues) Queue(name string) (port.Queue, error) {
	inner, err := q.Queues.Queue(name)
	return cutQueue{inner, q.power}, err
}

func (q cutQueues) ReplyTo(name string) (port.Queue, error) {
	inner, err := q.Queues.ReplyTo(name)
	return cutQueue{inner, q.power}, err
}

type cutQueue struct {
	port.Queue
	power *Power
}

func (q cutQueue) Send(ctx context.Context, messages []port.Message) (errs []error) {
	if err := q.power.io(func() { errs = q.Queue.Send(ctx, messages) }); err != nil {
		return all(len(messages), err)
	}
	return errs
}
