// Package storetest tests whether each adapter keeps the contracts of port.Store, port.Definitions,
// port.Leases and port.Ledger. Options states the permitted differences between adapters.
package storetest_test

import (
	"context"
	"sync/atomic"
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
	// StaleIndex means that Due and List may lag behind commits. The suite then waits until they are right.
	StaleIndex bool
	// ListsFinished means that List also returns records in no bucket.
	ListsFinished bool
	// Parallel runs the cases concurrently, which is faster if an adapter waits for its backend. Races do not
	// run concurrently, because each has many callers.
	Parallel bool
}

const (
	races  = 16               // goroutines that race for a version
	settle = 10 * time.Second // time within which a stale index is right
)

// Make returns fresh, empty backends. It is called once per test.
type Make func(t *testing.T) Backends

// Run tests the adapter's contract, case by case. Sequences and Linearizable continue from there.
func Run(t *testing.T, options Options, make Make) {
	var offers atomic.Pointer[Backends] // of the adapter, so that no backends are made needlessly
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"create", createCases()},
		{"batch", batchCases()},
		{"kept", keptCases()},
		{"erase", eraseCases},
		{"race", raceCases},
		{"faults", faultCases()},
		{"due", dueCases},
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
					runCase(t, options, make, c, &offers)
				})
			}
		})
	}
}

func runCase(t *testing.T, options Options, make Make, c testCase, offers *atomic.Pointer[Backends]) {
	offered := func(b *Backends) bool { return c.needs == nil || c.needs(options.suite(t, *b)) }
	if shown := offers.Load(); shown != nil && !offered(shown) {
		t.Skip("the adapter does not offer this")
	}
	backends := make(t)
	offers.Store(&backends)
	if backends.Close != nil {
		t.Cleanup(backends.Close)
	}
	if !offered(&backends) {
		t.Skip("the adapter does not offer this")
	}
	c.run(options.suite(t, backends))
}

func (o Options) suite(t *testing.T, b Backends) *suite {
	return &suite{TB: t, Backends: b, model: newModel(), options: o, ctx: t.Context()}
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
func listsFinished(s *suite) bool  { return s.options.ListsFinished }
