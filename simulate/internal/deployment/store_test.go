package deployment

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// simulatedPorts are the ports of a world without faults in which nothing else happens.
type simulatedPorts struct {
	storePort
	leases
	ledgerPort
	*memory.Definitions
}

func newSimulatedPorts(shards int) simulatedPorts {
	w := &world.Simulation{
		Quiescing: true, Shards: shards, Leases: memory.NewLeases(),
		Result: world.Result{Stats: world.NewStats()},
	}
	w.Store = &world.Store{W: w, Rows: map[string]*world.Row{}, Defs: memory.NewDefinitions(), Bare: true}
	p := &world.Process{W: w, Name: "suite", Up: true}
	w.Cur = &world.Invocation{W: w, P: p}
	return simulatedPorts{
		storePort{p},
		leases{p},
		ledgerPort{p, memory.NewLedger()},
		w.Store.Defs,
	}
}

var storeStart = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// drawnWrite draws a write whose expected version is often the stored one.
func drawnWrite(r *rapid.T, id string, at time.Time) port.Write {
	expected := rapid.Int64Range(-1, 4).Draw(r, "expected")
	w := port.Write{Expected: expected, Record: port.Record{
		ID: id, Version: expected + 1,
		State: "Processing", Workflow: "order", Created: at, Document: fmt.Appendf(nil, `{"at":%d}`, at.Unix()),
		IndexAt: at.Add(time.Minute), Bucket: rapid.SampledFrom([]port.Bucket{
			port.DueBucket,
			port.AttentionBucket, port.NoBucket,
		}).Draw(r, "bucket"),
	}}
	if expected == 0 {
		w.Hash = "h" + id
		w.Apart = true
		w.Content = []byte(id)
		switch rapid.IntRange(0, 2).Draw(r, "kind") {
		case 0:
			w.Apart = false
			w.Content = nil
		case 1:
			w.Content = nil // which is refused
		}
	}
	return w
}

// operateOnBoth runs one drawn operation on both, and returns the two results.
func operateOnBoth(r *rapid.T, simulated simulatedPorts, real *memory.Store, leases *memory.Leases,
	ledger *memory.Ledger,
) (got, want []any) {
	ctx := r.Context()
	id := rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(r, "id")
	at := storeStart.Add(time.Duration(rapid.IntRange(0, 9).Draw(r, "at")) * time.Second)
	both := func(f func(s port.Store) []any) ([]any, []any) { return f(simulated.storePort), f(real) }
	switch rapid.IntRange(0, 8).Draw(r, "operation") {
	case 0:
		return both(func(s port.Store) []any {
			records, errs := s.Load(ctx, []string{id, "b", "unknown"})
			return []any{records, errs}
		})
	case 1:
		return both(func(s port.Store) []any { c, err := s.Content(ctx, id, "ha"); return []any{c, err} })
	case 2:
		return both(func(s port.Store) []any { return []any{s.Erase(ctx, id, "ha")} })
	case 3:
		return both(func(s port.Store) []any { ended, err := s.Ended(ctx, id); return []any{ended, err} })
	case 4:
		shard := rapid.IntRange(0, 2).Draw(r, "shard")
		limit := rapid.IntRange(0, 3).Draw(r, "limit")
		after := rapid.SampledFrom([]*port.Due{nil, {ID: "b", At: at}}).Draw(r, "after")
		return both(func(s port.Store) []any {
			due, err := s.Due(ctx, port.DueBucket, shard, at.Add(time.Minute), after, limit)
			return []any{due, err}
		})
	case 5:
		if row := simulated.storePort.p.W.Store.Rows[id]; row != nil {
			row.Expire() // as the fault TTL does
		}
		return []any{nil}, []any{real.Forget(ctx, []string{id})}
	case 6:
		owner := rapid.SampledFrom([]string{"x", "y"}).Draw(r, "owner")
		ttl := 2 * time.Second
		ours, err := simulated.Acquire(ctx, id, owner, at, ttl)
		theirs, wrong := leases.Acquire(ctx, id, owner, at, ttl)
		return []any{ours, err}, []any{theirs, wrong}
	case 7:
		e := port.LedgerEntry{
			Key: id, State: "started", Version: rapid.Int64Range(0, 2).Draw(r, "version"),
			Output: []byte(id),
		}
		err := simulated.Move(ctx, e)
		wrong := ledger.Move(ctx, e)
		moved, err2 := simulated.Entry(ctx, id)
		stored, wrong2 := ledger.Entry(ctx, id)
		return []any{err, moved, err2}, []any{wrong, stored, wrong2}
	}
	writes := []port.Write{drawnWrite(r, id, at), drawnWrite(r, "b", at)}
	return both(func(s port.Store) []any { return []any{s.Commit(ctx, writes)} })
}

// comparable replaces errors by what a caller can see of them.
func comparable(results []any) (seen []any) {
	class := func(err error) any {
		for _, sentinel := range []error{
			port.ErrExists, port.ErrNotFound, port.ErrConflict,
			port.ErrTooLarge,
		} {
			if errors.Is(err, sentinel) {
				return sentinel
			}
		}
		return err != nil
	}
	for _, result := range results {
		switch x := result.(type) {
		case error:
			result = class(x)
		case []error:
			for _, err := range x {
				seen = append(seen, class(err))
			}
			continue
		case nil:
			result = false
		}
		seen = append(seen, result)
	}
	return seen
}

// TestTheSimulatedStoreIsLikeTheOneInMemory compares results in random sequences. The store in memory passes
// the suite storetest, which cannot import this package.
func TestTheSimulatedStoreIsLikeTheOneInMemory(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const shards = 3
		simulated := newSimulatedPorts(shards)
		real := memory.NewStore(shards)
		leases := memory.NewLeases()
		ledger := memory.NewLedger()
		for range rapid.IntRange(1, 60).Draw(r, "operations") {
			got, want := operateOnBoth(r, simulated, real, leases, ledger)
			got, want = comparable(got), comparable(want)
			require.Equal(r, want, got)
		}
	})
}
