package deployment

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// oneByOne is the simulated store for many goroutines; the simulator itself has one.
type oneByOne struct {
	mu sync.Mutex
	storePort
	leases
	ledgerPort
}

// simulated returns the ports of a world without faults in which nothing else happens.
func simulated(*testing.T) storetest.Backends {
	w := &world.Simulation{Quiescing: true, Shards: 3, Leases: map[string]world.Lease{},
		Checks: world.NewChecks()}
	w.Store = &world.Store{W: w, Rows: map[string]*world.Row{}, Defs: map[string][]byte{}, Bare: true}
	p := &world.Process{W: w, Name: "suite", Up: true}
	w.Cur = &world.Invocation{W: w, P: p}
	s := &oneByOne{storePort: storePort{p}, leases: leases{p},
		ledgerPort: ledgerPort{p, &world.Ledger{Entries: map[string]port.LedgerEntry{}}}}
	return storetest.Backends{Store: s, Definitions: s, Leases: s, Ledger: s, Forget: s.forget}
}

// The simulator's store keeps the contract that the real ones keep, so that what is found with it
// is true of them.
func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Options{ListsNothing: true}, simulated)
}

func TestStoreInSequences(t *testing.T) {
	storetest.Sequences(t, storetest.Options{ListsNothing: true}, simulated)
}

func TestStoreIsLinearizable(t *testing.T) { storetest.Linearizable(t, simulated) }

func (s *oneByOne) Commit(ctx context.Context, writes []port.Write) []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Commit(ctx, writes)
}

func (s *oneByOne) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Load(ctx, ids)
}

func (s *oneByOne) Content(ctx context.Context, id, hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Content(ctx, id, hash)
}

func (s *oneByOne) Erase(ctx context.Context, id, hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Erase(ctx, id, hash)
}

func (s *oneByOne) Ended(ctx context.Context, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Ended(ctx, id)
}

func (s *oneByOne) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int) ([]port.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.Due(ctx, bucket, shard, before, after, limit)
}

func (s *oneByOne) Definition(ctx context.Context, hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.p.W.Store.Definition(ctx, hash)
}

func (s *oneByOne) PutDefinition(ctx context.Context, hash string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.storePort.p.W.Store.PutDefinition(ctx, hash, data)
}

func (s *oneByOne) Acquire(ctx context.Context, name, owner string, now time.Time,
	ttl time.Duration) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases.Acquire(ctx, name, owner, now, ttl)
}

func (s *oneByOne) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledgerPort.Entry(ctx, key)
}

func (s *oneByOne) Move(ctx context.Context, e port.LedgerEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledgerPort.Move(ctx, e)
}

// forget does what the fault TTL does: the record goes, its ID stays.
func (s *oneByOne) forget(_ context.Context, ids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if r := s.storePort.p.W.Store.Rows[id]; r != nil {
			r.Expire()
		}
	}
	return nil
}
