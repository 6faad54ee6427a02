package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var ledgerCases = need(hasLedger, []testCase{
	{name: "an unknown key has version 0", run: func(s *suite) {
		e, err := s.Ledger.Entry(s.ctx, "a/0/charge")
		if err != nil || e.Version != 0 || e.State != "" {
			s.Errorf("entry is %+v, %v", e, err)
		}
	}},
	{name: "every field is kept", run: func(s *suite) {
		e := port.LedgerEntry{Key: "a/0/charge", State: "done", Attempt: 3, Command: 2, Output: document(5000), Code: "http-402", Message: "no\x01 money, 'sorry'"}
		s.move(e)
		e.Version = 1
		s.entryIs(e)
	}},
	{name: "moves go from version to version (P31)", run: func(s *suite) {
		e := port.LedgerEntry{Key: "k"}
		for v, state := range []string{"started", "done", "undo-started", "fenced"} {
			e.State, e.Version = state, int64(v)
			s.move(e)
		}
		e.Version = 4
		s.entryIs(e)
	}},
	{name: "a move on another version conflicts", run: func(s *suite) {
		s.move(port.LedgerEntry{Key: "k", State: "started"})
		for _, version := range []int64{0, 2, 7} {
			s.is(fmt.Sprint("version ", version), s.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", State: "done", Version: version}), port.ErrConflict)
		}
		s.entryIs(port.LedgerEntry{Key: "k", State: "started", Version: 1})
	}},
	{name: "a move on an older version conflicts", run: func(s *suite) {
		s.move(port.LedgerEntry{Key: "k", State: "started"})
		s.move(port.LedgerEntry{Key: "k", State: "done", Version: 1})
		s.move(port.LedgerEntry{Key: "k", State: "undo-started", Version: 2})
		for _, version := range []int64{1, 2} {
			s.is(fmt.Sprint("version ", version), s.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", State: "none", Version: version}), port.ErrConflict)
		}
		s.entryIs(port.LedgerEntry{Key: "k", State: "undo-started", Version: 3})
	}},
	{name: "an absent entry has no version 1", run: func(s *suite) {
		s.is("move", s.Ledger.Move(s.ctx, port.LedgerEntry{Key: "k", State: "done", Version: 1}), port.ErrConflict)
		s.entryIs(port.LedgerEntry{Key: "k"})
	}},
	{name: "the bytes are apart", run: func(s *suite) {
		output := []byte(`{"n":1}`)
		s.move(port.LedgerEntry{Key: "k", Output: output})
		output[0] = 'X'
		e, err := s.Ledger.Entry(s.ctx, "k")
		if err != nil {
			s.Fatal(err)
		}
		e.Output[1] = 'X'
		s.entryIs(port.LedgerEntry{Key: "k", Output: []byte(`{"n":1}`), Version: 1})
	}},
	{name: "one of many starts the call", run: func(s *suite) {
		for round := range 10 {
			key := fmt.Sprint("k", round)
			var won atomic.Int32
			together(s.options.Races, func(i int) {
				err := s.Ledger.Move(s.ctx, port.LedgerEntry{Key: key, State: "started", Attempt: i})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, port.ErrConflict) {
					s.Errorf("mover %d: %v", i, err)
				}
			})
			if won.Load() != 1 {
				s.Fatalf("%d movers won", won.Load())
			}
		}
	}},
})

func (s *suite) move(e port.LedgerEntry) {
	s.Helper()
	if err := s.Ledger.Move(s.ctx, e); err != nil {
		s.Fatalf("Move to %q on version %d: %v", e.State, e.Version, err)
	}
}

func (s *suite) entryIs(want port.LedgerEntry) {
	s.Helper()
	got, err := s.Ledger.Entry(s.ctx, want.Key)
	if err != nil || got.Key != want.Key || got.State != want.State || got.Attempt != want.Attempt || got.Command != want.Command ||
		got.Code != want.Code || got.Message != want.Message || got.Version != want.Version || !bytes.Equal(got.Output, want.Output) {
		s.Errorf("entry is %+v (%v), want %+v", got, err, want)
	}
}
