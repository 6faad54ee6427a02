package protocol_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// TestEveryTransitionIsDefinedOnce checks that each cell of the tables has a rule, and that no two rows define one.
func TestEveryTransitionIsDefinedOnce(t *testing.T) {
	require.Empty(t, protocol.Defined())
}

// What the rules in docs/explanation say of every event of a step: the step's state afterwards,
// or "-" where nothing changes; "=" where the state stays and yet something happens. In the rows that are left out
// nothing changes. "new" is a step that was never claimed in this run, "Pending" one that was handed back.
//
// The other step of the task was claimed later. It is in flight, so that it holds up an undo; for
// a wake it was undone, so that the step is next; nothing is left then for a step never claimed, and
// the undo ends.
const stepTransitions = `
event        step          Processing    Compensating  Error-forward  Error-undo
done         Pending       Processed     Processed     Processed      Processed
done         Processing    Processed     Processed     Processed      Processed
failed       Processing    Failed        Failed        Failed         Failed
later        Processing    Pending       Failed        Failed         Failed
undone       UndoWait      Compensated   Compensated   Compensated    Compensated
undone       Compensating  Compensated   Compensated   Compensated    Compensated
undo-failed  Compensating  UndoWait      UndoWait      UndoWait       UndoWait
undo-later   Compensating  UndoWait      UndoWait      UndoWait       UndoWait
overdue      Pending       =             =             -              -
overdue      Processing    Pending       Failed        Failed         Failed
overdue      Waiting       =             =             -              -
overdue      Failed        =             =             -              -
overdue      UndoWait      =             =             -              -
overdue      Compensating  UndoWait      UndoWait      UndoWait       UndoWait
wake         new           -             =             -              -
wake         Pending       Processing    Compensating  -              -
wake         Waiting       Processed     Compensated   -              -
wake         Failed        -             Compensating  -              -
wake         UndoWait      Compensating  Compensating  -              -
`

// The same of every event of a task: the task's state afterwards, "-" where nothing changes, "="
// where something does and the state stays, "refused" for a refusal that is kept, "error" for one
// that only its sender knows.
const taskTransitions = `
event     unknown     Processing    Compensating  Error-forward  Error-undo    Processed  Compensated  Cancelled   Closed
submit    Processing  -             -             -              -             -          -            -           -
other     Processing  error         error         error          error         error      error        error       error
deadline  -           Compensating  -             -              -             -          -            -           -
resend      -           -             -             =              =             =          =            =           =
settle    -           -             -             -              -             -          -            -           -
unsent    -           =             =             =              =             =          =            =           =
cancel    Cancelled   Compensating  =             Compensating   =             refused    Cancelled    =           refused
undo      error       refused       refused       Compensating   Compensating  refused    refused      refused     refused
resubmit  error       refused       refused       Processing     Compensating  refused    Processing   refused     refused
resolve   error       refused       refused       =              =             refused    refused      refused     refused
close     error       refused       refused       Closed         Closed        refused    refused      refused    refused
move      error       refused       refused       refused        refused       refused    refused      refused     refused
erase     error       refused       refused       refused        refused       refused    refused      refused     refused
answer    error       refused       refused       refused        refused       refused    refused      refused     refused
`

var stepEvents = []string{"done", "failed", "later", "undone", "undo-failed", "undo-later", "overdue", "wake"}

var stepStates = []string{
	"new", "Pending", "Skipped", "Processing", "Processed", "Waiting", "Failed", "UndoWait", "Compensating",
	"Compensated",
}

var modes = []string{
	"Processing", "Compensating", "Error-forward", "Error-undo", "Processed", "Compensated",
	"Cancelled", "Closed",
}

// inRun is the run of the fixtures: with one before it, a step has an attempt without being claimed.
const inRun, inAttempt = 1, 3

// fixture is a task in a mode whose first step is in a state.
func fixture(mode, state string, other core.State) *protocol.Task {
	first, phase, _ := strings.Cut(mode, "-")
	t := &protocol.Task{
		OrderID: orderID, Version: 7, Workflow: "test", Definition: "0123456789abcdef", ContentHash: "c0ffee",
		Run: inRun, Commands: protocol.Commands{Number: 4},
		ProcessState: core.State(first), Phase: core.Phase(phase), Created: noon - 100_000, ReplyTo: "shop",
		StatusSeq: 1,
		Steps: []protocol.Step{
			{Name: "a", Attempt: inAttempt, First: protocol.First{Nth: 1}},
			{Name: "b", Attempt: inAttempt, First: protocol.First{Nth: 2}, State: other},
		},
	}
	a := &t.Steps[0]
	b := &t.Steps[1]
	a.State = core.State(state)
	if state == "new" {
		a.State = core.Pending
	}
	for _, s := range []*protocol.Step{a, b} {
		s.Claim.At = noon - 90_000
		s.Stops.Do = noon - 60_000
		s.Stops.Undo = noon - 60_000
		s.Claim.Undo = s.State == core.Compensating || s.State == core.UndoWait || s.State == core.Compensated
		if s.InFlight() {
			s.Claim.By = "scheduler-1"
			s.Claim.Cause = "before"
			s.Claim.StopBy = noon + 60_000
			s.CompleteBy = noon + 60_000
		}
	}
	switch {
	case state == "new" || state == "Skipped":
		a.First.Nth = 0
	case a.State != core.Processed && a.State != core.Compensated:
		a.CompleteBy = noon
	}
	if a.InFlight() {
		a.Claim.StopBy = noon
	}
	if phase != "" || t.Terminal() {
		t.End.At = noon - 1000
		t.End.Seq = 1
		t.End.ResendAt = noon
	}
	t.Due = protocol.Live(t)
	return t
}

// companion is the state that the other step has in a mode.
func companion(mode, event string) core.State {
	switch {
	case mode == "Processing":
		return core.Processing
	case mode == "Compensating" && event != "wake":
		return core.Compensating
	case mode == "Error-forward":
		return core.Failed
	case mode == "Error-undo":
		return core.UndoWait
	case mode == "Processed":
		return core.Processed
	}
	return core.Compensated
}

func stepEvent(event string) core.Event {
	of := func(op core.Operation, what core.Outcome) core.Event {
		return reply("a", inRun, inAttempt, op, what)
	}
	return map[string]core.Event{
		"done": of(core.Do, core.OutcomeDone), "failed": of(core.Do, core.OutcomeFailed),
		"later":  of(core.Do, core.OutcomeRetryLater),
		"undone": of(core.UndoOp, core.OutcomeDone), "undo-failed": of(core.UndoOp, core.OutcomeFailed),
		"undo-later": of(core.UndoOp, core.OutcomeRetryLater), "overdue": overdue("a", inAttempt),
		"wake": core.Wake{Step: "a", Run: inRun, Attempt: inAttempt},
	}[event]
}

func taskEvent(event string) core.Event {
	submit := core.Submitted{
		OrderID: orderID, Workflow: "test", ContentHash: "c0ffee", KnownHash: "c0ffee",
		ReplyTo: "shop",
	}
	other := submit
	other.ContentHash = "decaf"
	return map[string]core.Event{
		"submit": submit, "other": other, "deadline": core.DeadlinePassed{Run: inRun},
		"resend": core.ResendDue{}, "unsent": core.Unsent{ReplyTo: "shop", First: 1},
		"settle": core.Settle{},
		"cancel": core.Command{Name: core.Cancel, OrderID: orderID, ID: "c1", Run: inRun},
		"undo":   core.Command{Name: core.UndoCommand, ID: "c1", Number: 4}, "resubmit": core.Command{Name: core.Resubmit, ID: "c1", Number: 4},
		"resolve": core.Command{Name: core.Resolve, ID: "c1", Number: 4, Step: "a", Fact: core.NotHappened},
		"move":    core.Command{Name: core.Move, ID: "c1", Number: 4, To: &core.Target{Absent: "no such definition"}},
		"answer": core.Answered{
			ID: "a1", Run: inRun, Step: "a", Round: 1, By: "ann",
			Value: json.RawMessage(`"yes"`),
		},
		"erase": core.Command{Name: core.Erase, ID: "c1", Number: 4, Sender: core.Sender{By: "ann", Reason: "asked to"}},
		"close": core.Command{Name: core.Close, ID: "c1", Number: 4, Sender: core.Sender{By: "ann", Reason: "paid by hand"}},
	}[event]
}

// grid reads a table of words: one row of the result for each line, by the words of the first.
func grid(text string) (rows []map[string]string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	names := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, word := range strings.Fields(line) {
			row[names[i]] = word
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTransitionTable walks every event × state of the step × state of the task.
func TestTransitionTable(t *testing.T) {
	rows := map[[2]string]map[string]string{}
	for _, row := range grid(stepTransitions) {
		rows[[2]string{row["event"], row["step"]}] = row
	}
	for _, event := range stepEvents {
		for _, state := range stepStates {
			row := rows[[2]string{event, state}]
			delete(rows, [2]string{event, state})
			for _, mode := range modes {
				first := step("a")
				if state == "Waiting" {
					first = waitStep("a", core.Hour)
				}
				d := newDesk(t, workflow(first, step("b", grade(core.Idempotent))))
				d.task = fixture(mode, state, companion(mode, event))
				before := d.task.Steps[0].State
				dec, err := d.try(stepEvent(event))
				got := "-"
				switch {
				case err != nil:
					got = err.Error()
				case dec.Changed && dec.Task.Steps[0].State == before:
					got = "="
				case dec.Changed:
					got = string(dec.Task.Steps[0].State)
				}
				want := cmp.Or(row[mode], "-") // nothing changes a task that has ended
				require.Equal(t, want, got, "%s of a step %s in %s", event, state, mode)
			}
		}
	}
	require.Empty(t, rows, "rows of no event or state")
}

// TestTaskTransitionTable walks every event × state of the task, the unknown one too.
func TestTaskTransitionTable(t *testing.T) {
	for _, row := range grid(taskTransitions) {
		for _, mode := range append([]string{"unknown"}, modes...) {
			event := row["event"]
			want := row[mode]
			d := newDesk(t, workflow(step("a"), step("b", grade(core.Idempotent))))
			d.def.OnDeadline = core.OnFailureUndo
			if mode != "unknown" {
				state := map[string]string{
					"Processing": "Processing", "Error-undo": "UndoWait",
					"Processed":   "Processed",
					"Compensated": "Compensated", "Cancelled": "Compensated",
				}[mode]
				if state == "" {
					state = "Failed"
				}
				d.task = fixture(mode, state, companion(mode, event))
				d.task.Undo.CancelAsked = mode == "Cancelled"
				if a := &d.task.Steps[0]; d.task.ProcessState == core.Error {
					a.CompleteBy = 0 // no step waits there
				}
				if mode == "Processing" || mode == "Compensating" {
					d.task.Deadline.At = noon
					d.task.Due = protocol.Live(d.task)
				}
			}
			require.Equal(t, want, outcomeOf(d, taskEvent(event)), mode)
		}
	}
}

func outcomeOf(d *desk, ev core.Event) string {
	before := core.State("")
	if d.task != nil {
		before = d.task.ProcessState
	}
	dec, err := d.try(ev)
	var refusal *core.Refusal
	switch {
	case errors.As(err, &refusal) && refusal.Code != "" && refusal.Text != "":
		return "error"
	case err != nil:
		return err.Error()
	case !dec.Changed:
		return "-"
	case dec.Verdict != nil && !dec.Verdict.Accepted:
		return "refused"
	case dec.Task.ProcessState == before:
		return "="
	}
	return string(dec.Task.ProcessState)
}
