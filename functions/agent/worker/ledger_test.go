package worker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P31, every state × operation × attempt. The entry was written by attempt 3.
func TestEnterByTheTable(t *testing.T) {
	type want struct {
		state string // stored next; "" where nothing is stored
		do    act
	}
	table := map[string]map[core.Operation][3]want{ // wanted act by attempt: older, the same, higher
		StateNone: {
			core.Do:     all(want{StateStarted, callService}),
			core.UndoOp: all(want{StateFenced, sayDone}),
		},
		"": {
			core.Do:     all(want{StateStarted, callService}),
			core.UndoOp: all(want{StateFenced, sayDone}),
		},
		StateStarted: {core.Do: all(want{"", sayNothing}), core.UndoOp: all(want{"", sayInDoubt})},
		StateDone: {
			core.Do:     all(want{"", sayDone}),
			core.UndoOp: all(want{StateUndoStarted, callService}),
		},
		StateFailed: {
			core.Do:     {{"", sayFailed}, {"", sayFailed}, {StateStarted, callService}},
			core.UndoOp: all(want{StateFenced, sayDone}),
		},
		StateUndoStarted: {core.Do: all(want{"", sayNothing}), core.UndoOp: all(want{"", sayInDoubt})},
		StateFenced:      {core.Do: all(want{"", sayFailed}), core.UndoOp: all(want{"", sayDone})},
	}
	for state, operations := range table {
		for op, wants := range operations {
			for i, w := range wants {
				attempt := 2 + i
				e := port.LedgerEntry{
					Key: "k", State: state, Attempt: 3, Command: 1, Output: []byte("{}"),
					Code: "c", Version: 9,
				}
				next, move, do := enter(e, op, attempt, nil, false)
				name := fmt.Sprintf("%s of attempt %d on %q", op, attempt, state)
				if do != w.do || move != (w.state != "") ||
					move && (next.State != w.state || next.Attempt != attempt) {
					t.Errorf("%s: stored %v as %q by %d, act %d", name, move, next.State, next.Attempt, do)
				}
				require.Equal(t, "k", next.Key)
				require.EqualValues(t, 9, next.Version)
				require.Equal(t, 1, next.Command)
				if state == StateDone && string(next.Output) != "{}" {
					t.Errorf("%s: the output is lost", name)
				}
			}
		}
	}
}

func all[T any](w T) [3]T { return [3]T{w, w, w} }

// The operator's fact comes first, and once per command.
func TestEnterWithAFact(t *testing.T) {
	states := []string{"", StateNone, StateStarted, StateDone, StateFailed, StateUndoStarted, StateFenced}
	for _, state := range states {
		for _, fact := range []core.Fact{core.Happened, core.NotHappened, core.Undone} {
			for _, op := range []core.Operation{core.Do, core.UndoOp} {
				e := port.LedgerEntry{Key: "k", State: state, Attempt: 3, Command: 4, Version: 2}
				name := fmt.Sprintf("%s, %s on %q", op, fact, state)
				next, move, do := enter(e, op, 7, &core.Resolved{Fact: fact, Command: 5}, false)
				wantState := StateStarted
				wantDo := callService
				switch {
				case fact == core.Happened && op == core.Do:
					wantState = StateDone
					wantDo = sayDone
				case fact == core.Happened:
					wantState = StateUndoStarted
					wantDo = callService
				case op == core.UndoOp:
					wantState = StateFenced
					wantDo = sayDone
				}
				if !move || next.State != wantState || do != wantDo || next.Command != 5 ||
					next.Attempt != 7 {
					t.Errorf("%s: %+v, act %d", name, next, do)
				}
				plain, plainMove, plainDo := enter(e, op, 7, nil, false)
				again, againMove, againDo := enter(e, op, 7, &core.Resolved{Fact: fact, Command: 4}, false)
				require.Equal(t, fmt.Sprint(plain, plainMove, plainDo), fmt.Sprint(again, againMove, againDo))
			}
		}
	}
}

// What a call has shown, every state × operation × outcome × whose attempt.
func TestLeaveByTheTable(t *testing.T) {
	type place struct {
		op      core.Operation
		state   string
		mine    bool
		failure *Failure
	}
	var happened *Failure
	unknown := &Failure{}
	refused := &Failure{Permanent: true, NoEffect: true}
	withdrawn := &Failure{NoEffect: true}
	wants := map[place]string{
		{core.Do, StateStarted, true, happened}: StateDone,
		// the effect has happened, whichever attempt called
		{core.Do, StateStarted, false, happened}:         StateDone,
		{core.Do, StateNone, true, happened}:             StateDone,
		{core.Do, StateNone, false, happened}:            StateDone,
		{core.Do, StateFailed, true, happened}:           StateDone,
		{core.Do, StateFailed, false, happened}:          StateDone,
		{core.Do, StateStarted, true, refused}:           StateFailed,
		{core.Do, StateStarted, true, withdrawn}:         StateNone,
		{core.UndoOp, StateUndoStarted, true, happened}:  StateFenced,
		{core.UndoOp, StateUndoStarted, false, happened}: StateFenced,
		{core.UndoOp, StateUndoStarted, true, refused}:   StateDone,
		{core.UndoOp, StateUndoStarted, true, withdrawn}: StateDone,
	}
	for _, op := range []core.Operation{core.Do, core.UndoOp} {
		for _, state := range []string{
			StateNone, StateStarted, StateDone, StateFailed, StateUndoStarted,
			StateFenced,
		} {
			for _, mine := range []bool{true, false} {
				for _, o := range []*Failure{unknown, happened, refused, withdrawn} {
					e := port.LedgerEntry{Key: "k", State: state, Attempt: 3, Version: 5}
					if state == StateFailed {
						e.Code = "refused"
						e.Message = "no"
					}
					attempt := 3
					if !mine {
						attempt = 4
					}
					p := place{op, state, mine, o}
					next, move := leave(e, op, attempt, false, nil, o)
					if want, moves := wants[p]; move != moves || moves && next.State != want ||
						next.Version != 5 {
						t.Errorf("%+v: stored %v as %q", p, move, next.State)
					}
					if move && o == happened && next.Code+next.Message != "" {
						t.Errorf("%+v: it is done and still says %s: %s", p, next.Code, next.Message)
					}
				}
			}
		}
	}
}
