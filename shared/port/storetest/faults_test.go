package storetest_test

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Fault is a fault of one call that an adapter makes to its backend.
type Fault int

// Kinds of faults.
const (
	LostAnswer  Fault = iota // the call is executed, and its answer is lost
	LostRequest              // the call does not arrive, which looks like a lost answer to the caller
	Throttle                 // the call is refused for now
	Repeat                   // the call is executed twice; the second answer counts
	Contention               // a write is refused because of a concurrent transaction
)

func (f Fault) String() string {
	return [...]string{"lost answer", "lost request", "throttle", "repeat", "contention"}[f]
}

var allFaults = []Fault{LostAnswer, LostRequest, Throttle, Repeat, Contention}

// lasting returns so many faults that no adapter retries longer.
func lasting(f Fault) []Fault { return slices.Repeat([]Fault{f}, 100) }

// operationUnderFaults is an operation that meets each fault.
type operationUnderFaults struct {
	name   string
	needs  func(*suite) bool
	before operation // if nil, task "a" is created
	do     operation
	after  operation // operation that shows that do was executed once
}

// faultCases checks that the adapter hides a single fault of the backend from the caller (rules 8, 9, 10 and
// 23 of docs/reference/aws-rules.md), and returns the right error for lasting faults.
func faultCases() []testCase {
	empty := core.DefinitionHash([]byte("{}"))
	started := port.LedgerEntry{Key: "k", State: "started"}
	var cases []testCase
	for _, c := range []operationUnderFaults{
		{name: "create", do: commits(write("b", 0))},
		{name: "create of an order in its document", do: commits(write("b", 0, inline))},
		{name: "replace", do: commits(write("a", 1))},
		{name: "create that exists", do: commits(write("a", 0))},
		{name: "replace on another version", do: commits(write("a", 2))},
		{name: "replace of nothing", do: commits(write("b", 1))},
		{name: "batch", do: commits(write("a", 1), write("b", 0), write("c", 1), write("d", 0))},
		{name: "load", do: loads("a", "none")},
		{name: "load of the content", do: loadsContent("a", usual("a"))},
		{name: "load of a content that is not there", do: loadsContent("b", usual("b"))},
		{name: "due", do: readsDue(port.DueBucket, far, 10)},
		{name: "list", needs: hasList, do: lists(port.Query{}, 10, false)},
		{
			name: "put of a definition", needs: hasDefinitions, do: puts(empty, []byte("{}")),
			after: defines(empty),
		},
		{name: "definition", needs: hasDefinitions, before: puts(empty, []byte("{}")), do: defines(empty)},
		{
			name: "lease", needs: hasLeases, do: acquires("l", "x", at(0), time.Minute),
			after: acquires("l", "y", at(1), time.Minute),
		},
		{
			name: "lease that another holds", needs: hasLeases, before: acquires("l", "y", at(0), time.Minute),
			do: acquires("l", "x", at(1), time.Minute),
		},
		{name: "move of a ledger", needs: hasLedger, do: moves(started), after: entries("k")},
		{
			name: "move of a ledger on another version", needs: hasLedger, before: moves(started),
			do: moves(started), after: entries("k"),
		},
		{name: "entry of a ledger", needs: hasLedger, before: moves(started), do: entries("k")},
	} {
		cases = append(cases, c.cases()...)
	}
	return append(cases, need(hasInject, lastingCases())...)
}

func (c operationUnderFaults) cases() []testCase {
	var cases []testCase
	needs := func(s *suite) bool { return hasInject(s) && (c.needs == nil || c.needs(s)) }
	if c.before == nil {
		c.before = commits(write("a", 0))
	}
	for _, f := range allFaults {
		cases = append(cases, testCase{
			name: c.name + " meets a " + f.String(), needs: needs,
			run: func(s *suite) {
				s.same(c.before)
				s.soon(readsDue(port.DueBucket, far, 10)) // a stale index is allowed, so wait for it
				if hasList(s) {
					s.soon(lists(port.Query{}, 10, false))
				}
				s.Inject(f)
				s.same(c.do)
				s.Inject()
				s.settled("a", "b", "c", "d")
				if c.after != nil {
					s.same(c.after)
				}
			},
		})
	}
	cases = append(cases, testCase{
		name: c.name + " is throttled for long", needs: needs,
		run: func(s *suite) {
			s.same(c.before)
			s.Inject(lasting(Throttle)...)
			got := c.do(s.ctx, s.Backends)
			s.Inject()
			require.Contains(s, got, port.ErrUnavailable.Error())
			require.NotContains(s, got, "success")
		},
	})
	return cases
}

// lastingCases checks the result of a write while the backend stays unavailable.
func lastingCases() []testCase {
	var cases []testCase
	for _, c := range []struct {
		name   string
		faults []Fault
		want   string
		stored bool
	}{
		{"all answers lost: in doubt, and stored", lasting(LostAnswer), class(errDoubt), true},
		{"no request gets through: in doubt, and not stored", lasting(LostRequest), class(errDoubt), false},
		{
			"an answer lost, then throttled for long: in doubt, for it is stored",
			append([]Fault{LostAnswer}, lasting(Throttle)...), class(errDoubt), true,
		},
		{
			"throttled for long: unavailable, and not stored", lasting(Throttle), class(port.ErrUnavailable),
			false,
		},
		{
			"another transaction for long: unavailable, and not stored", lasting(Contention),
			class(port.ErrUnavailable), false,
		},
	} {
		cases = append(cases, testCase{name: c.name, run: func(s *suite) {
			s.commit(write("a", 0))
			for _, w := range []port.Write{write("b", 0, inline), write("a", 1)} {
				s.Inject(c.faults...)
				s.answers(commits(w), c.want)
				s.Inject()
				if c.stored {
					s.model.Store.Commit(s.ctx, []port.Write{w})
				}
				s.settled("a", "b")
			}
			s.commit(write("b", 0), write("a", 1))
		}})
	}
	return append(cases, testCase{name: "a refused write affects no other", run: func(s *suite) {
		s.commit(write("a", 0), write("b", 0))
		s.Inject(LostAnswer, Throttle, Contention)
		s.commit(write("a", 1), write("b", 7), write("c", 0))
		s.Inject()
	}})
}
