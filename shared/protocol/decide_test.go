package protocol_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// A decision asks for the order's content only if an expression needs it, and then has decided nothing yet.
func TestOrderIsOnlyAskedForWhereItIsNeeded(t *testing.T) {
	d := newDesk(t, workflow(step("a"),
		step("b", after("a"), func(s *core.StepDefinition) { s.Input = nil })))
	d.order = nil
	_, err := d.try(d.submit)
	require.ErrorIs(t, err, core.ErrOrderNeeded)
	d.order = json.RawMessage(`{"n":1}`)
	d.decide(d.submit)
	d.order = nil
	d.decide(done("a", 1)) // b has no template, the workflow no output
	d.expect(nil, "Processing: a Processed/1, b Processing/1", "")
}

// A newer agent or a forger may send an unknown outcome, which must not count as done.
func TestUnknownOutcomeChangesNothing(t *testing.T) {
	d := begun(t, step("a"))
	for _, ev := range []core.Reply{
		reply("a", 0, 1, core.Do, "progress"), reply("a", 0, 1, core.Do, ""),
		reply("a", 0, 1, "check", core.OutcomeDone), reply("a", 0, 1, "", core.OutcomeDone),
		reply("a", 0, 0, core.Do, core.OutcomeDone), reply("a", 0, -1, core.Do, core.OutcomeDone),
		reply("a", -1, 1, core.Do, core.OutcomeDone), done("missing", 1),
	} {
		d.ignored(ev)
	}
	d.expect(nil, "Processing: a Processing/1", "")
}

// A document that does not fit its definition is an error of this one task (ErrUnfit).
func TestUnfitDocument(t *testing.T) {
	for what, harm := range map[string]func(*desk){
		"no definition":    func(d *desk) { d.def = nil },
		"another step":     func(d *desk) { d.task.Steps[0].Name = "b" },
		"fewer steps":      func(d *desk) { d.task.Steps = nil },
		"task state":       func(d *desk) { d.task.ProcessState = "Paused" },
		"Error, no phase":  func(d *desk) { d.task.ProcessState = core.Error },
		"step state":       func(d *desk) { d.task.Steps[0].State = "Waiting" },
		"undo, none there": func(d *desk) { d.task.Steps[0].State = core.Compensating },
		"never claimed":    func(d *desk) { d.task.Steps[0].First.Nth = 0 },
		"a wait now": func(d *desk) {
			d.def = workflow(waitStep("a", core.Hour))
			d.def.Hash = d.task.Definition
		},
		"no wait any more": func(d *desk) {
			d.def = workflow(waitStep("a", core.Hour))
			d.task.Steps[0].State = core.Waiting
			d.def.Steps[0] = step("a")
		},
		"undone, never called": func(d *desk) { neverBegan(d, step("a", goingOn)) },
		"undone, no children": func(d *desk) {
			neverBegan(d, core.StepDefinition{
				Name: "a", Each: &core.Each{},
				OnFailure: core.OnFailureContinue,
			})
		},
	} {
		d := begun(t, step("a"))
		harm(d)
		for _, ev := range []core.Event{done("a", 1), wake("a", 1), overdue("a", 1), cancel("c1"), d.submit} {
			_, err := protocol.Decide(d.def, d.order, d.task, ev, d.at())
			require.ErrorIs(t, err, core.ErrUnfit, what)
		}
		_, err := protocol.Decide(d.def, d.order, d.task, nil, protocol.At{Now: d.now})
		require.ErrorIs(t, err, core.ErrUnfit, what)
	}
}

// neverBegan replaces the only step of the order by one that is undone but neither began nor failed.
func neverBegan(d *desk, s core.StepDefinition) {
	d.def = workflow(s)
	d.def.Hash = d.task.Definition
	d.task.Steps[0] = protocol.Step{Name: s.Name, State: core.Compensated}
}

// A code that is too long is cut between two characters: what is stored is what was reported (P12).
func TestLongCodesAreCutBetweenCharacters(t *testing.T) {
	d := begun(t, step("a", grade(core.Idempotent)))
	r := later("a", 1)
	r.Code = "x" + strings.Repeat("é", 100)
	d.decide(r)
	got, want := d.task.Step("a").Error.Code, "x"+strings.Repeat("é", 63)
	require.Equal(t, want, got)
}

// A text of the longest length is kept as it is; a longer one is cut at the border of a character.
func TestTextsAreCutAtACharacter(t *testing.T) {
	whole := strings.Repeat("é", core.MaxMessage/2)
	require.Equal(t, whole, core.TrimMessage(whole))
	got, want := core.TrimMessage(whole+"x"), strings.Repeat("é", (core.MaxMessage-len("…"))/2)+
		"…"
	require.Equal(t, want, got)
}

// P32. Time in a queue counts neither against an undo nor against the hop budget.
// Broken by: undoOverdue does not look at the backlog; backlog keeps the hop.
func TestBacklogIsNotCounted(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(failed("a", 1))
	d.wait(core.Minute)
	d.sweep("a")
	s := d.task.Step("a")
	require.Equal(t, core.UndoWait, s.State)
	require.Zero(t, s.Failures.Undo)
	require.NotZero(t, s.Failures.Queued)

	d = begun(t, step("a"))
	hops := d.task.Hops
	d.wait(30 * core.Second)
	d.sweep("a")
	s = d.task.Step("a")
	require.Equal(t, hops-1, d.task.Hops)
	require.Zero(t, s.Failures.Do)
	require.Equal(t, core.Pending, s.State)
	require.Greater(t, d.task.Step("a").Claim.Allowance, 20*core.Second)
	if d.decide(done("a", 1)); d.task.Step("a").Claim.Allowance != 0 {
		t.Errorf("done, and its allowance is still stored: %s", d.task.Step("a").Claim.Allowance)
	}
}

// P32. A request that a restart has sent again comes to its agent too late, because of the restart. One that was
// claimed afterwards has waited. Broken by: notNow doubles the allowance after a restart.
func TestARequestThatIsLateByARestartGetsNoMoreTime(t *testing.T) {
	d := begun(t, step("a"))
	allowance := d.task.Step("a").Claim.Allowance
	d.wait(30 * core.Second)
	d.since = d.now
	d.decide(coded(later("a", 1), core.CodeQueue))
	require.Equal(t, 2, d.task.Step("a").Attempt)
	require.Equal(t, allowance, d.task.Step("a").Claim.Allowance)
	d.wait(30 * core.Second)
	d.decide(coded(later("a", 2), core.CodeQueue))
	require.Equal(t, 3, d.task.Step("a").Attempt)
	require.Equal(t, 2*allowance, d.task.Step("a").Claim.Allowance)
}

// P3. A request's trace is a W3C traceparent: the trace is the run's, the span the attempt's.
func TestTraceOfARequest(t *testing.T) {
	form := regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-01$`)
	d := newDesk(t, workflow(step("a"), step("b")))
	traces := map[string]bool{}
	spans := map[string]bool{}
	take := func(effects []core.Effect) {
		for _, e := range effects {
			if r, ok := e.(core.SendRequest); ok {
				parts := form.FindStringSubmatch(r.Trace)
				require.NotNil(t, parts, "trace %q", r.Trace)
				traces[parts[1]] = true
				spans[parts[2]] = true
			}
		}
	}
	take(d.decide(d.submit).Effects)
	d.decide(later("a", 1))
	d.wait(core.Minute)
	take(d.decide(wake("a", 1)).Effects)
	require.Len(t, traces, 1)
	require.Len(t, spans, 3)
}

// P45. In Error, an undo that is handed back waits for the operator without a count.
func TestAnUndoThatIsHandedBackInError(t *testing.T) {
	d := begun(t, step("a"))
	d.decide(cancel("c1"))
	// beside it another undo has stopped
	d.task.ProcessState = core.Error
	d.task.Phase = core.Undoing
	d.task.End.At = d.now
	d.decide(coded(reply("a", 0, 2, core.UndoOp, core.OutcomeRetryLater), core.CodeUnauthorized))
	s := d.task.Step("a")
	require.Equal(t, core.UndoWait, s.State)
	require.Zero(t, s.Failures.Undo)
	require.Zero(t, s.CompleteBy)
}

// P11, H27. An Error is reported by status and alert together: one of them alone does not settle it.
func TestAnErrorIsReportedByStatusAndAlert(t *testing.T) {
	d := begun(t, step("a", stopping))
	dec := d.decide(failed("a", 1))
	for i := range dec.Effects {
		require.False(t, protocol.Settles(d.def, d.task, dec.Effects[i:i+1]), brief(dec.Effects[i:i+1]))
	}
}

// P12, P60: a child that was closed as damaged has no definition. It reports its end to its parent until that is
// settled.
func TestTheEndOfADamagedChildIsReportedAgain(t *testing.T) {
	at := protocol.At{Now: noon, By: "scheduler-1"}
	child := &protocol.Task{
		OrderID: "p~s~0", Damaged: "it is cut", Due: noon, Parent: &core.Parent{OrderID: "p", Step: "s", Attempt: 1},
	}
	closed, err := protocol.Decide(nil, nil, child, core.Command{Name: core.Close, ID: "c"}, at)
	require.NoError(t, err)
	require.Equal(t, core.Closed, closed.Task.ProcessState)
	again, err := protocol.Decide(nil, nil, closed.Task, core.Settle{}, at)
	require.NoError(t, err)
	require.Equal(t, closed.Effects, again.Effects)
	require.True(t, settles(nil, again))
}

// P28. The output of an order that is too large, or has no room in its document, is dropped, and the order ends.
func TestOutputsThatAreTooLargeAreDropped(t *testing.T) {
	for text, size := range map[string]int{
		"the workflow's output is over 32 KiB and was dropped": 33 << 10,
		"the workflow's output of 20482 bytes does not fit into the order's document beside the outputs of its steps and " +
			"was dropped": 20 << 10,
	} {
		d := begun(t, step("a"))
		d.def.Output = json.RawMessage(`"template"`)
		d.def.Expr = &expressions{output: func(core.Environment) (json.RawMessage, error) {
			return json.Marshal(strings.Repeat("o", size))
		}}
		at := d.at()
		at.SizeLimit = protocol.SizeLimit(protocol.Reserve(d.def) + 1000)
		dec, err := protocol.Decide(d.def, d.order, d.task, done("a", 1), at)
		require.NoError(t, err)
		require.Equal(t, core.Processed, dec.Task.ProcessState)
		require.Empty(t, dec.Task.Output)
		require.Equal(t, protocol.Reason{Code: core.CodeOutputTooLarge, Text: text}, dec.Task.Reason)
	}
}

// An alert names the first and the last claim of the step that has stopped the order.
func TestAnAlertNamesTheTimesOfTheClaims(t *testing.T) {
	d := begun(t, step("a", failures(2), stopping))
	d.decide(later("a", 1))
	d.now = d.task.Step("a").Wait.At
	d.decide(wake("a", 1))
	dec := d.decide(failed("a", 2))
	alert := dec.Effects[slices.IndexFunc(dec.Effects, func(e core.Effect) bool {
		_, is := e.(core.RaiseAlert)
		return is
	})].(core.RaiseAlert)
	require.Equal(t, noon, alert.FirstTry)
	require.Equal(t, d.now, alert.LastTry)
	require.Equal(t, 2, alert.Attempts)
	require.Equal(t, core.Key(orderID, 0, "a"), alert.Key)
}
