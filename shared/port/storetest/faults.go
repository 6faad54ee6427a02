package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Fault is what happens to one call that an adapter makes to its backend.
type Fault int

const (
	LostAnswer  Fault = iota // it is carried out, and its answer gets lost
	LostRequest              // it does not get through, which the caller cannot tell from a lost answer
	Throttle                 // it is refused for now
	Repeat                   // it is carried out twice; the second answer counts
	Contention               // a write is refused, because another transaction is under way
)

func (f Fault) String() string {
	return [...]string{"lost answer", "lost request", "throttle", "repeat", "contention"}[f]
}

var allFaults = []Fault{LostAnswer, LostRequest, Throttle, Repeat, Contention}

// lasting is so often that no adapter's patience outlasts it.
func lasting(f Fault) []Fault { return slices.Repeat([]Fault{f}, 100) }

// operation is one call of a port, which answers what is wrong with the result.
type operation struct {
	name   string
	needs  func(*suite) bool
	before func(*suite)
	do     func(*suite) error
	after  func(*suite)
}

func createdBefore(s *suite) { s.must(creation("a")) }

// storeOperations are those of port.Store that a fault can meet. Each goes well without one.
var storeOperations = []operation{
	{name: "create", do: func(s *suite) error { return s.commit1(creation("a")) }, after: func(s *suite) {
		s.holds(record("a", 1))
		s.orderIs("a", order("a"))
	}},
	{name: "create of a record alone", do: func(s *suite) error {
		w := creation("a")
		w.Order = nil
		return s.commit1(w)
	}, after: func(s *suite) { s.holds(record("a", 1)) }},
	{name: "replace", before: createdBefore, do: func(s *suite) error { return s.commit1(replacement("a", 1)) },
		after: func(s *suite) { s.holds(record("a", 2)); s.dueIs(port.DueBucket, "a") }},
	{name: "batch", before: createdBefore, do: func(s *suite) error { return errors.Join(s.commit(replacement("a", 1), creation("b"))...) },
		after: func(s *suite) { s.holds(record("a", 2)); s.holds(record("b", 1)) }},
	{name: "create that exists", before: createdBefore, do: func(s *suite) error { return wants(s.commit1(creation("a")), port.ErrExists) },
		after: func(s *suite) { s.holds(record("a", 1)) }},
	{name: "replace on another version", before: createdBefore, do: func(s *suite) error { return wants(s.commit1(replacement("a", 2)), port.ErrConflict) },
		after: func(s *suite) { s.holds(record("a", 1)) }},
	{name: "replace of nothing", do: func(s *suite) error { return wants(s.commit1(replacement("a", 1)), port.ErrNotFound) },
		after: func(s *suite) { s.absent("a") }},
	{name: "load", before: createdBefore, do: func(s *suite) error {
		records, errs := s.Store.Load(s.ctx, []string{"a", "none"})
		err := errors.Join(errs...)
		if err == nil && (records[0] == nil || records[1] != nil || difference(*records[0], record("a", 1)) != "") {
			err = fmt.Errorf("answers %v", records)
		}
		return err
	}},
	{name: "load of the order", before: createdBefore, do: func(s *suite) error { _, err := s.Store.LoadOrder(s.ctx, "a"); return err }},
	{name: "load of an order that is not there", do: func(s *suite) error { _, err := s.Store.LoadOrder(s.ctx, "a"); return wants(err, port.ErrNotFound) }},
	{name: "due", before: createdBefore, do: func(s *suite) error {
		_, err := s.Store.Due(s.ctx, port.DueBucket, port.ShardOf("a", s.Store.Shards()), far, nil, 10)
		return err
	}},
	{name: "list", needs: hasList, before: createdBefore, do: func(s *suite) error { _, err := s.Store.List(s.ctx, port.Query{Limit: 10}); return err }},
}

// sideOperations are those of the smaller ports.
var sideOperations = []operation{
	{name: "put of a definition", needs: hasDefinitions, do: func(s *suite) error {
		return s.Definitions.PutDefinition(s.ctx, core.DefinitionHash([]byte("{}")), []byte("{}"))
	},
		after: func(s *suite) { s.definitionIs([]byte("{}")) }},
	{name: "definition", needs: hasDefinitions, before: func(s *suite) { s.putDefinition([]byte("{}")) },
		do: func(s *suite) error {
			_, err := s.Definitions.Definition(s.ctx, core.DefinitionHash([]byte("{}")))
			return err
		}},
	{name: "lease", needs: hasLeases, do: func(s *suite) error { return acquires(s, "x", 0, true) }},
	{name: "lease that another holds", needs: hasLeases, before: func(s *suite) { s.acquire("l", "y", at(0), time.Minute, true) },
		do: func(s *suite) error { return acquires(s, "x", 1, false) }},
	{name: "move of a ledger", needs: hasLedger, do: func(s *suite) error { return s.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", State: "started"}) },
		after: func(s *suite) { s.entryIs(port.LedgerEntry{Key: "k", State: "started", Version: 1}) }},
	{name: "move of a ledger on another version", needs: hasLedger, before: func(s *suite) { s.move(port.LedgerEntry{Key: "k", State: "started"}) },
		do: func(s *suite) error {
			return wants(s.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", State: "none"}), port.ErrConflict)
		},
		after: func(s *suite) { s.entryIs(port.LedgerEntry{Key: "k", State: "started", Version: 1}) }},
	{name: "entry of a ledger", needs: hasLedger, do: func(s *suite) error { _, err := s.Ledger.Entry(s.ctx, "k"); return err }},
}

// wants turns the error that is wanted into none.
func wants(err, sentinel error) error {
	if errors.Is(err, sentinel) {
		return nil
	}
	return fmt.Errorf("answer %w, want %w", err, sentinel)
}

func acquires(s *suite, owner string, now int, want bool) error {
	got, err := s.Leases.Acquire(s.ctx, "l", owner, at(now), time.Minute)
	if err == nil && got != want {
		err = fmt.Errorf("%s has the lease: %v, want %v", owner, got, want)
	}
	return err
}

// faultCases: one fault of the backend is nothing that a caller hears of (rules 8, 9, 10 and 23 of
// docs/aws-rules.md); of those that last it hears the truth.
func faultCases() []testCase {
	var cases []testCase
	for _, op := range slices.Concat(storeOperations, sideOperations) {
		needs := func(s *suite) bool { return hasInject(s) && (op.needs == nil || op.needs(s)) }
		for _, f := range allFaults {
			cases = append(cases, testCase{name: op.name + " meets a " + f.String(), needs: needs, run: func(s *suite) {
				if op.before != nil {
					op.before(s)
				}
				s.Inject(f)
				err := op.do(s)
				s.Inject()
				if err != nil {
					s.Errorf("%v", err)
				}
				if op.after != nil {
					op.after(s)
				}
			}})
		}
		cases = append(cases, testCase{name: op.name + " is throttled for long", needs: needs, run: func(s *suite) {
			if op.before != nil {
				op.before(s)
			}
			s.Inject(lasting(Throttle)...)
			err := op.do(s)
			s.Inject()
			s.is(op.name, err, port.ErrUnavailable)
		}})
	}
	return append(cases, need(hasInject, lastingCases)...)
}

// lastingCases: what a caller hears of a write when the backend stays away.
var lastingCases = []testCase{
	{name: "all answers lost: in doubt, and stored", run: func(s *suite) {
		s.must(creation("a"))
		s.doubtful(creation("b"), lasting(LostAnswer)...)
		s.doubtful(replacement("a", 1), lasting(LostAnswer)...)
		s.holds(record("b", 1))
		s.holds(record("a", 2))
	}},
	{name: "no request gets through: in doubt, and not stored", run: func(s *suite) {
		s.must(creation("a"))
		s.doubtful(creation("b"), lasting(LostRequest)...)
		s.doubtful(replacement("a", 1), lasting(LostRequest)...)
		s.absent("b")
		s.holds(record("a", 1))
	}},
	{name: "an answer lost, then throttled for long: in doubt, for it is stored", run: func(s *suite) {
		s.must(creation("a"))
		s.doubtful(creation("b"), append([]Fault{LostAnswer}, lasting(Throttle)...)...)
		s.doubtful(replacement("a", 1), append([]Fault{LostAnswer}, lasting(Throttle)...)...)
		s.holds(record("b", 1))
		s.holds(record("a", 2))
	}},
	{name: "throttled for long: unavailable, and not stored", run: func(s *suite) {
		s.must(creation("a"))
		for _, f := range []Fault{Throttle, Contention} {
			for _, w := range []port.Write{creation("b"), replacement("a", 1)} {
				s.Inject(lasting(f)...)
				err := s.commit1(w)
				s.Inject()
				s.is(f.String(), err, port.ErrUnavailable)
			}
		}
		s.absent("b")
		s.holds(record("a", 1))
		s.must(creation("b"), replacement("a", 1))
	}},
	{name: "a refused write affects no other", run: func(s *suite) {
		s.must(creation("a"), creation("b"))
		s.Inject(LostAnswer, Throttle, Contention)
		errs := s.commit(replacement("a", 1), replacement("b", 7), creation("c"))
		s.Inject()
		s.is("a", errs[0], nil)
		s.is("b", errs[1], port.ErrConflict)
		s.is("c", errs[2], nil)
	}},
}

// doubtful commits a write of which it is unknown whether it is stored: no sentinel may say so.
func (s *suite) doubtful(w port.Write, faults ...Fault) {
	s.Helper()
	s.Inject(faults...)
	err := s.commit1(w)
	s.Inject()
	for _, sentinel := range []error{nil, port.ErrExists, port.ErrConflict, port.ErrNotFound, port.ErrTooLarge, port.ErrUnavailable} {
		if errors.Is(err, sentinel) {
			s.Errorf("%q: %v says %v, which is unknown", w.Record.ID, err, sentinel)
		}
	}
}
