package storetest_test

import (
	"time"

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

// operationUnderFaults is an operation that meets each fault.
type operationUnderFaults struct {
	name   string
	needs  func(*suite) bool
	before operation // if nil, task "a" is created
	do     operation
	after  operation // operation that shows that do was executed once
}

// faultCases checks that the adapter hides a single fault of the backend from the caller (rules 8, 9, 10 and
// 23 of docs/reference/aws-rules.md). Package dynamo tests the errors for lasting faults.
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
		{name: "list", do: lists(port.Query{After: epoch}, 10, false)},
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
	return cases
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
				s.soon(lists(port.Query{After: epoch}, 10, false))
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
	return cases
}
