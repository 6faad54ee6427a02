package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// broken is a store with a fault of its own: wrong changes what it does with a call now and then.
type broken struct {
	port.Store // the model
	mu         sync.Mutex
	dice       *rand.Rand
	wrong      func(b *broken, w *port.Write) (done bool, err error)
	before     map[string]*port.Record // of the last replace
	stale      bool
}

func (b *broken) Commit(ctx context.Context, writes []port.Write) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wrong != nil && b.dice.IntN(4) == 0 {
		if done, err := b.wrong(b, &writes[0]); done {
			return []error{err}
		}
	}
	there, _ := b.Store.Load(ctx, []string{writes[0].Record.ID})
	errs := b.Store.Commit(ctx, writes)
	if errs[0] == nil {
		b.before[writes[0].Record.ID] = there[0]
	}
	return errs
}

func (b *broken) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stale && b.before[ids[0]] != nil && b.dice.IntN(4) == 0 {
		return []*port.Record{b.before[ids[0]]}, []error{nil}
	}
	return b.Store.Load(ctx, ids)
}

// again carries a write out a second time, with room for others between. If it knows itself, it says
// stored where its own is still there.
func again(knows bool) func(*broken, *port.Write) (done bool, err error) {
	return func(b *broken, w *port.Write) (done bool, err error) {
		if err := b.Store.Commit(context.Background(), []port.Write{*w})[0]; err != nil || w.Expected == 0 {
			return true, err
		}
		b.mu.Unlock()
		for range 50 {
			runtime.Gosched()
		}
		b.mu.Lock()
		there, errs := b.Store.Load(context.Background(), []string{w.Record.ID})
		if err := errs[0]; err != nil || knows && bytes.Equal(there[0].Document, w.Record.Document) {
			return true, err
		}
		return true, b.Store.Commit(context.Background(), []port.Write{*w})[0]
	}
}

// The checker finds what is wrong with stores that are, and nothing with one that is not.
func TestTheCheckerCanFail(t *testing.T) {
	forced := func(b *broken, w *port.Write) error { // stores it whatever is there
		rows := b.Store.(*model).rows
		r := rows[w.Record.ID]
		r.record = &w.Record
		rows[w.Record.ID] = r
		return nil
	}
	for _, tt := range []struct {
		name  string
		wrong func(*broken, *port.Write) (done bool, err error)
		stale bool
		twice bool // requests can be carried out twice
		good  bool
	}{
		{name: "nothing is wrong", good: true},
		{
			name:  "it says stored and forgets",
			wrong: func(*broken, *port.Write) (done bool, err error) { return true, nil },
		},
		{
			name:  "it stores without the condition",
			wrong: func(b *broken, w *port.Write) (done bool, err error) { return true, forced(b, w) },
		},
		{name: "it says conflict and stores", wrong: func(b *broken, w *port.Write) (done bool, err error) {
			_ = forced(b, w)
			return w.Expected > 0, port.ErrConflict
		}},
		{
			name: "it says unavailable and stores",
			wrong: func(b *broken, w *port.Write) (done bool, err error) {
				if err := b.Store.Commit(context.Background(), []port.Write{*w})[0]; err != nil {
					return true, err
				}
				return true, port.ErrUnavailable
			},
		},
		{
			name: "it says in doubt, and truly so", good: true,
			wrong: func(b *broken, w *port.Write) (done bool, err error) {
				if b.dice.IntN(2) == 0 {
					_ = b.Store.Commit(context.Background(), []port.Write{*w})
				}
				return true, errors.New("lost")
			},
		},
		{
			name: "it carries out twice, and says conflict where it was overtaken", twice: true, good: true,
			wrong: again(true),
		},
		{name: "it carries out twice, and says conflict with itself", twice: true, wrong: again(false)},
		{
			name: "it can carry out twice, and says conflict and stores", twice: true,
			wrong: func(b *broken, w *port.Write) (done bool, err error) {
				_ = forced(b, w)
				return w.Expected > 0, port.ErrConflict
			},
		},
		{
			name: "it can carry out twice, and stores without the condition", twice: true,
			wrong: func(b *broken, w *port.Write) (done bool, err error) { return true, forced(b, w) },
		},
		{name: "it loads what was there before", stale: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := ""
			for seed := uint64(0); seed < 20 && found == ""; seed++ {
				b := &broken{
					Store: newModel().Store, dice: rand.New(rand.NewPCG(seed, 1)), wrong: tt.wrong,
					stale: tt.stale, before: map[string]*port.Record{},
				}
				backends := Backends{Store: b}
				if tt.twice {
					backends.Inject = func(...Fault) {} // its faults are its own
				}
				found = judge(recordHistory(t.Context(), backends, seed))
			}
			require.Equal(t, found == "", tt.good, "found")
			t.Log(found)
		})
	}
}
