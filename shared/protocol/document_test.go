package protocol_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// FuzzDocument decides every kind of event on a document that may be damaged, or stored by another version.
// Decide may return an error, but does not panic, and does not change its arguments.
func FuzzDocument(f *testing.F) {
	for _, mode := range modes {
		for _, of := range []string{
			"new", "Pending", "Processing", "Waiting", "Failed", "UndoWait",
			"Compensating", "Compensated",
		} {
			if doc, err := state.EncodeTask(fixture(mode, of, companion(mode, ""))); err == nil {
				f.Add(doc, uint8(0))
			}
		}
	}
	f.Add([]byte(`{"Schema":2,"OrderID":"o1","ProcessState":"Error","Created":"2026-11-21T12:00:00Z","Steps":[{"name":"a","ProcessState":"Compensating"},{"name":"b"}]}`), uint8(7))
	f.Fuzz(func(t *testing.T, doc []byte, of uint8) {
		task, err := state.DecodeTask(doc)
		if err != nil {
			t.Skip("not a document")
		}
		def := workflow(step("a"), step("b", after("a"), grade(core.Idempotent)))
		if of&1 != 0 {
			def = workflow(step("a", stopping), step("b", noReturn, after("a")))
		}
		if of&4 != 0 {
			def = workflow(waitStep("a", core.Hour), step("b", after("a")))
		}
		if of&2 != 0 {
			def = nil
		}
		before := snapshot(task)
		for _, ev := range eventsOn(task) {
			dec, err := protocol.Decide(def, []byte(`{}`), task, ev, protocol.At{Now: noon, By: "x"})
			require.Equal(t, before, snapshot(task))
			if err == nil && dec.Changed && dec.Task.Steps != nil && supervises(ev) &&
				len(requests(dec.Effects)) > 0 {
				t.Fatalf("P16: %s asks an agent", name(ev))
			}
		}
		if _, err := protocol.Decide(def, []byte(`{}`), task, nil, protocol.At{Now: noon}); err != nil &&
			!errors.Is(err, core.ErrUnfit) {
			t.Fatalf("restart: %v", err)
		}
		protocol.Push(task)
		protocol.Settled(task)
	})
}

// eventsOn returns events whose run and attempt fit the document.
func eventsOn(t *protocol.Task) (all []core.Event) {
	all = append(protocol.SweepEvents(nil, t, noon),
		core.Submitted{OrderID: orderID, ContentHash: t.ContentHash}, core.Settle{},
		core.ResendDue{},
		core.DeadlinePassed{Run: t.Run}, core.Command{Name: core.Cancel, ID: "f1", Run: t.Run},
		core.Command{Name: core.UndoCommand, ID: "f2", Number: t.Commands.Number},
		core.Command{Name: core.Resubmit, ID: "f3", Number: t.Commands.Number})
	for _, s := range t.Steps {
		for _, op := range []core.Operation{core.Do, core.UndoOp} {
			for _, what := range []core.Outcome{
				core.OutcomeDone, core.OutcomeFailed, core.OutcomeRetryLater,
				"strange",
			} {
				all = append(all, reply(s.Name, t.Run, s.Attempt, op, what),
					reply(s.Name, t.Run, s.Attempt-1, op, what))
			}
		}
		all = append(all, core.Wake{Step: s.Name, Run: t.Run, Attempt: s.Attempt},
			core.Overdue{Step: s.Name, Attempt: s.Attempt},
			core.Overdue{Step: s.Name, Attempt: s.Attempt, Queue: core.QueueHeld},
			core.Command{Name: core.Resolve, ID: "f4", Number: t.Commands.Number, Step: s.Name, Fact: core.Happened},
			core.Command{Name: core.Resolve, ID: "f5", Number: t.Commands.Number, Step: s.Name, Fact: core.Undone})
	}
	return all
}

// A time can be in each form of RFC 3339, and is read to the millisecond. The error for any other text quotes
// it.
func TestTimesAreRead(t *testing.T) {
	for text, want := range map[string]core.Time{
		`"2026-11-21T12:00:00Z"`: noon, `"2026-11-21T13:00:00.0009+01:00"`: noon,
		`"2026-11-21T12:00:00.001Z"`: noon + 1, `null`: 0, `""`: 0,
		`"2026-11-21t12:00:00z"`: noon,
		// A leap second, in UTC and elsewhere, is the first second of the next day.
		`"2026-11-20T23:59:60Z"`: noon - 12*3_600_000, `"2026-11-20t18:59:60.5-05:00"`: noon - 12*3_600_000 + 500,
		`"2026-11-21T05:29:60+05:30"`: noon - 12*3_600_000,
	} {
		got := noon + 5
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		`7`, `true`, `{}`, `"noon"`, `"2026-11-21"`, `"2026-11-21T12:00:00"`,
		`"2026-11-21T12:00:60Z"`, `"2026-11-20T23:59:60+01:00"`, `"2026-11-20T23:59:61Z"`, `"2026-02-30T23:59:60Z"`,
	} {
		got := noon
		err := json.Unmarshal([]byte(text), &got)
		require.ErrorContains(t, err, strings.Trim(text, `"`), text)
		require.ErrorContains(t, err, "RFC 3339", text)
	}
}
