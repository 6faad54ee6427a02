// Package storetest holds an adapter to what port.Store, port.Definitions, port.Leases and
// port.Ledger promise. An adapter's test is a few lines:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Options{ListsFinished: true}, func(t *testing.T) storetest.Backends {
//			s := memory.NewStore(4)
//			return storetest.Backends{Store: s}
//		})
//	}
//
// Where adapters may differ, they say so in Options; nothing else is negotiable.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Backends are the ports of one fresh, empty adapter. A port that is nil is not tested.
type Backends struct {
	Store       port.Store
	Definitions port.Definitions
	Leases      port.Leases
	Ledger      port.Ledger
	// Forget removes records and leaves their orders, as a TTL does (P26). Nil: not tested.
	Forget func(ctx context.Context, ids []string) error
	// LoseAnswer makes the adapter's backend carry out the next write and lose its answer.
	// Nil: not tested.
	LoseAnswer func()
	// Close is called when the test is over. Nil: nothing to close.
	Close func()
}

// Options say what the port leaves to the adapter.
type Options struct {
	// StaleIndex: Due and List may lag behind commits. The suite then waits until they are right,
	// for at most Settle.
	StaleIndex bool
	Settle     time.Duration // default 10 s
	// ListsFinished: List answers records in no bucket too.
	ListsFinished bool
	// Races is how many goroutines race for a version; default 16.
	Races int
}

// Make gives fresh, empty backends. It is called once a test.
type Make func(t *testing.T) Backends

// Run holds the adapter to the contract.
func Run(t *testing.T, options Options, make Make) {
	if options.Settle == 0 {
		options.Settle = 10 * time.Second
	}
	if options.Races == 0 {
		options.Races = 16
	}
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"create", createCases},
		{"replace", replaceCases},
		{"batch", batchCases},
		{"race", raceCases},
		{"lost", lostCases},
		{"limits", limitCases},
		{"due", dueCases},
		{"list", listCases},
		{"definitions", definitionCases},
		{"leases", leaseCases},
		{"ledger", ledgerCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) { runCase(t, options, make, c) })
			}
		})
	}
}

func runCase(t *testing.T, options Options, make Make, c testCase) {
	backends := make(t)
	if backends.Close != nil {
		t.Cleanup(backends.Close)
	}
	s := &suite{T: t, Backends: backends, options: options, ctx: t.Context()}
	if c.needs != nil && !c.needs(s) {
		t.Skip("the adapter does not offer this")
	}
	c.run(s)
}

// testCase is one promise. needs says whether the adapter makes it; nil: it is a Store.
type testCase struct {
	name  string
	run   func(s *suite)
	needs func(s *suite) bool
}

type suite struct {
	*testing.T
	Backends
	options Options
	ctx     context.Context
}

func hasForget(s *suite) bool      { return s.Forget != nil }
func hasLoseAnswer(s *suite) bool  { return s.LoseAnswer != nil }
func hasDefinitions(s *suite) bool { return s.Definitions != nil }
func hasLeases(s *suite) bool      { return s.Leases != nil }
func hasLedger(s *suite) bool      { return s.Ledger != nil }
func listsFinished(s *suite) bool  { return s.options.ListsFinished }
