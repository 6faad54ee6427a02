// Package storetest tests whether each adapter keeps the contracts of port.Store, port.Definitions,
// port.Leases and port.Ledger. Options states the permitted differences between adapters.
package storetest_test

import (
	"cmp"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Backends holds the ports of one fresh, empty adapter. A nil port is not tested.
type Backends struct {
	Store       port.Store
	Definitions port.Definitions
	Leases      port.Leases
	Ledger      port.Ledger
	// Forget removes records and leaves their orders, as a TTL does (P26, an ID never runs twice). If nil,
	// this is not tested.
	Forget func(ctx context.Context, ids []string) error
	// Inject makes the adapter's next calls to its backend meet these faults, one each, and drops earlier
	// unused ones. If nil, this is not tested.
	Inject func(faults ...Fault)
	// Close is called at the end of the test. It may be nil.
	Close func()
}

// Options describes the properties that the port leaves to the adapter.
type Options struct {
	// StaleIndex means that Due and List may lag behind commits. The suite then waits until they are right,
	// for at most Settle.
	StaleIndex bool
	Settle     time.Duration // default 10 s
	// ListsFinished means that List also returns records in no bucket.
	ListsFinished bool
	// ListsNothing means that List only returns errors.
	ListsNothing bool
	// Parallel runs the cases concurrently, which is faster if an adapter waits for its backend. Races do not
	// run concurrently, because each has many callers.
	Parallel bool
	// Races is the number of goroutines that race for a version; default 16.
	Races int
}

// Make returns fresh, empty backends. It is called once per test.
type Make func(t *testing.T) Backends

// Run tests the adapter's contract, case by case. Sequences and Linearizable continue from there.
func Run(t *testing.T, options Options, make Make) {
	var done tally
	t.Cleanup(func() { // the cases may run in parallel until the end of t
		t.Logf(
			"%d cases of the contract; %d further ones broke off, or ask for what the adapter does not offer",
			done.ran, done.tried-done.ran)
	})
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"create", createCases()},
		{"replace", replaceCases()},
		{"batch", batchCases()},
		{"kept", keptCases()},
		{"erase", eraseCases},
		{"race", raceCases},
		{"faults", faultCases()},
		{"due", dueCases()},
		{"place", placeCases()},
		{"list", listCases},
		{"definitions", definitionCases},
		{"leases", leaseCases},
		{"ledger", ledgerCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					if options.Parallel && group.name != "race" {
						t.Parallel()
					}
					runCase(t, options, make, c, &done)
				})
			}
		})
	}
}

// tally counts cases, and remembers the adapter's ports, so that no backends are made needlessly.
type tally struct {
	mu         sync.Mutex
	ran, tried int
	offers     *Backends
}

func (d *tally) begin() *Backends {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tried++
	return d.offers
}

func (d *tally) made(b *Backends) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.offers = b
}

func (d *tally) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran++
}

func runCase(t *testing.T, options Options, make Make, c testCase, done *tally) {
	offered := func(b *Backends) bool { return c.needs == nil || c.needs(options.suite(t, *b)) }
	if shown := done.begin(); shown != nil && !offered(shown) {
		t.Skip("the adapter does not offer this")
	}
	backends := make(t)
	done.made(&backends)
	if backends.Close != nil {
		t.Cleanup(backends.Close)
	}
	if !offered(&backends) {
		t.Skip("the adapter does not offer this")
	}
	c.run(options.suite(t, backends))
	done.end()
}

func (o Options) suite(t *testing.T, b Backends) *suite {
	o.Settle = cmp.Or(o.Settle, 10*time.Second)
	o.Races = cmp.Or(o.Races, 16)
	model := newModel()
	return &suite{TB: t, Backends: b, model: model, options: o, ctx: t.Context()}
}

// testCase tests one guarantee. needs reports whether the adapter gives it; nil means that every Store does.
type testCase struct {
	name  string
	run   func(s *suite)
	needs func(s *suite) bool
}

func hasForget(s *suite) bool      { return s.Forget != nil }
func hasInject(s *suite) bool      { return s.Inject != nil }
func hasDefinitions(s *suite) bool { return s.Definitions != nil }
func hasLeases(s *suite) bool      { return s.Leases != nil }
func hasLedger(s *suite) bool      { return s.Ledger != nil }
func hasList(s *suite) bool        { return !s.options.ListsNothing }
func listsFinished(s *suite) bool  { return s.options.ListsFinished && !s.options.ListsNothing }
