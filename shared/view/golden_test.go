package view_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

func second(n int) core.Time { return t0.Add(core.Duration(n) * core.Second) }

// everyKind returns a definition with a step of each kind.
func everyKind() *core.Definition {
	d := &core.Definition{
		Name: "all", Hash: "hash",
		Notify: []core.StatusKind{core.StatusReceived, core.StatusCompleted}, Expr: expressions{},
		Steps: []core.StepDefinition{
			{
				Name: "fenced", Agent: "stock", Operation: "take", Grade: core.Fenced,
				Undo: &core.Undo{Operation: "release"}, Input: json.RawMessage(`"t"`),
			},
			{
				Name: "plain", Agent: "mail", Operation: "send", Grade: core.Plain, After: []string{"fenced"},
				PointOfNoReturn: true,
			},
			{Name: "pause", Wait: &core.Wait{}},
			{
				Name: "agree", Answer: &core.Answer{Values: []string{"yes", "no"}},
				Remind: &core.Remind{After: core.Minute, Every: core.Minute, AtMost: 100},
			},
			{Name: "paid", Answer: &core.Answer{Event: "bought"}},
			{Name: "never", Fail: &core.Fail{}},
			{
				Name: "parts", Each: &core.Each{Workflow: "part", Definition: "p", Tolerate: 2},
				Input: json.RawMessage(`"t"`),
			},
			{Name: "child", Each: &core.Each{
				Workflow: "part", Definition: "p", Events: []core.PassedEvent{{Name: "signed"}, {Name: "called"}},
			}},
			{Name: "turns", Each: &core.Each{
				Workflow: "all~turns", Definition: "p", Repeat: &core.Repeat{Until: "result.done", AtMost: 9},
			}},
			{
				Name: "again", Agent: "post", Operation: "ship", Grade: core.Idempotent,
				Undo: &core.Undo{Operation: "recall"},
			},
		},
	}
	d.Link()
	return d
}

// underWay returns a task of everyKind whose steps are all in progress.
func underWay() *protocol.Task {
	began := func(name string, state core.State, at int) protocol.Step {
		return protocol.Step{
			Name: name, State: state, Attempt: 1, First: protocol.First{Nth: 1, At: second(at)},
			Claim: protocol.Claim{At: second(at)},
		}
	}
	t := &protocol.Task{
		OrderID: "o", Version: 9, Workflow: "all", Definition: "hash",
		ProcessState: core.Processing, Run: 1, Commands: protocol.Commands{Number: 3, Verdicts: []protocol.Verdict{
			{ID: "c1", Command: "cancel", Reason: "too late", By: "ann", Note: "sold", At: second(40)},
			{ID: "c2", Command: "move", Accepted: true, Note: "newer", At: second(41)},
		}}, Priority: "high", ReplyTo: "shop", StatusSeq: 4,
		Start: protocol.Start{Seq: 1, At: second(1)}, Created: second(0),
		Deadline: protocol.Deadline{At: second(900)}, Undo: protocol.Reversal{CancelAsked: true},
		Parent: &core.Parent{OrderID: "p", Step: "s", Index: 2},
		Attempts: protocol.Attempts{Last: []protocol.Attempt{
			{
				Step: "fenced", Number: 1, Began: second(2),
				Ended:   second(3),
				Outcome: core.OutcomeRetryLater, Code: "busy",
			},
			{
				Step: "again", Number: 1, Undo: true, Agent: "van", Began: second(4), Ended: second(5),
				Outcome: protocol.OutcomeSuperseded,
			},
		}, Earlier: protocol.Earlier{
			Failed: 1, Later: 2, Overdue: 3,
			Superseded: 4,
		}},
		Steps: []protocol.Step{
			began("fenced", core.Processing, 10), began("plain", core.Processed, 11),
			began("pause", core.Waiting, 12), began("agree", core.Waiting, 13),
			began("paid", core.Processed, 14),
			{Name: "never", State: core.Pending},
			began("parts", core.Waiting, 15),
			began("child", core.Processing, 16), began("turns", core.Waiting, 18),
			began("again", core.Pending, 17),
		},
	}
	at := func(name string) *protocol.Step { return t.Step(name) }
	*at("fenced") = protocol.Step{
		Name: "fenced", State: core.Processing, Attempt: 2,
		First: protocol.First{Nth: 1, At: second(2)}, Claim: protocol.Claim{
			At: second(10), StopBy: second(50),
			By: "i", Progress: &protocol.StepProgress{Percent: 40, Note: "packing", At: second(20)},
		},
		CompleteBy: second(60),
		Stops:      protocol.Stops{Do: second(70)},
		Failures:   protocol.Failures{Do: 1}, Error: &protocol.StepError{
			Code: "busy", Message: "later", At: second(3), Attempt: 1, Since: second(3),
		},
		Corrected: &protocol.Corrected{
			Input: json.RawMessage(`{"n":1}`), Command: 2, By: "ann", Reason: "typo",
			At: second(9),
		},
	}
	at("plain").Finish.At = second(12)
	at("plain").Finish.Seq = 3
	at("plain").Output = json.RawMessage(`{"m":1}`)
	at("plain").NoEffect = second(12)
	at("plain").Error, at("plain").Resolved = &protocol.StepError{
		Code: core.CodeNotYet, Message: "soon",
		At: second(11),
	}, &core.Resolved{Fact: core.Happened, Command: 1, At: second(12)}
	at("pause").Wait.At = second(300)
	at("agree").CompleteBy, at("agree").Wait.At = second(600), second(600)
	at("agree").Reminded = protocol.Reminded{N: 1, At: second(75), Next: second(133), Unsent: "no such field"}
	at("agree").Answers = &protocol.Answers{
		Round: 2, Need: 2, Who: []string{"ann", "bob"}, NotSelf: "cy",
		Votes: []protocol.Vote{{By: "bob", Value: json.RawMessage(`"yes"`), At: second(30)}},
		Verdicts: []protocol.Verdict{
			{ID: "v1", Command: "answer", Accepted: true, By: "bob", Note: "fine", At: second(30)},
			{ID: "v2", Command: "answer", By: "cy", Note: "no", At: second(31)},
			{ID: "v3", Command: "answer", Accepted: true, By: "di", At: second(32)},
		},
	}
	at("paid").Answers, at("paid").Finish.At = &protocol.Answers{
		Votes: []protocol.Vote{{By: "bank", Value: json.RawMessage(`1`), At: second(33)}},
	}, second(33)
	at("parts").Children = &protocol.Children{
		Count: 9, Next: 6,
		Open: []protocol.OpenChild{
			{Index: 3, State: string(core.ChildError)},
			{Index: 4, State: string(core.ChildClosed)},
			{Index: 5},
		},
		Failed: 1, FailedAt: []int{1}, Reason: "part 1: late",
	}
	at("child").Children = &protocol.Children{
		Count: 1, Next: 1,
		Open: []protocol.OpenChild{{Index: 0, State: string(core.ChildExpired)}},
	}
	at("turns").Children = &protocol.Children{Count: 9, Next: 2, Started: 2, Last: json.RawMessage(`{"done":false}`)}
	at("turns").Children.Ends = []protocol.IterationEnd{
		{State: core.ChildCompensated, At: second(60)},
		{State: core.ChildProcessed, At: second(70)},
		{Index: 1, State: core.ChildProcessed, At: second(85)},
	}
	at("turns").Wait = protocol.StepWait{At: second(90), Until: second(90)}
	at("again").Failures.Do, at("again").Wait.At, at("again").Claim.Agent = 1, second(80), "van"
	return t
}

// The views of an order in each of its states, in a listing, and its history, are the same as the recorded
// ones.
func TestShown(t *testing.T) {
	var b strings.Builder
	show := func(name string, x *protocol.Task, def *core.Definition) {
		v := view.Detailed(x, def, json.RawMessage(`{"total":1}`), second(100).Std())
		fmt.Fprintf(&b, "== %s\n", name)
		steps := v.Steps
		history := v.History
		v.Steps = nil
		v.History = nil
		line := func(what any) {
			text, err := json.Marshal(what)
			require.NoError(t, err)
			fmt.Fprintf(&b, "%s\n", text)
		}
		line(v)
		for _, s := range steps {
			line(s)
		}
		line(view.SummaryOf(x))
		for _, e := range history {
			line(e)
		}
	}
	def := everyKind()
	show("under way", underWay(), def)
	show("without its definition", underWay(), nil)
	x := underWay()
	x.ProcessState = core.Error
	x.Phase = core.Undoing
	x.Undo.Why = protocol.WhyFailure
	x.End.At = second(700)
	x.End.Seq = 5
	x.Reason.Code = "refused"
	x.Reason.Step = "again"
	x.Reason.Text = "the van is gone"
	x.End.ResendAt = second(730)
	x.Undo.Reason = protocol.Reason{Step: "plain", Code: "timeout", Text: "no answer"}
	show("in Error, and its agents are at work", x, def)
	x = underWay()
	x.ProcessState = core.Compensating
	x.Undo.Why = protocol.WhyCancel
	for _, name := range []string{"fenced", "parts", "child", "again"} {
		x.Step(name).Claim.Undo, x.Step(name).Failures.Undo, x.Step(name).Claim.At = true, 1, second(90)
	}
	x.Step("fenced").State, x.Step("again").State, x.Step("parts").Children.Cursor = core.Compensated,
		core.UndoWait, 4
	show("being undone", x, def)
	x = underWay()
	x.ProcessState = core.Processed
	x.End.At = second(700)
	x.End.Seq = 5
	x.Output = json.RawMessage(`{"ok":true}`)
	for i := range x.Steps {
		x.Steps[i].State = core.Processed
		x.Steps[i].Finish.At = second(650 + i)
		x.Steps[i].CompleteBy = 0
		x.Steps[i].Wait.At = 0
	}
	show("processed", x, def)
	x.ProcessState = core.Closed
	x.Closing = &protocol.Closing{By: "ann", Reason: "refunded"}
	show("closed", x, def)
	x.ProcessState = core.Processed
	x.Erased = &protocol.Erasure{By: "ann", Reason: "asked to", At: second(800)}
	x.Commands.Verdicts = []protocol.Verdict{{
		ID: "e-1", Command: "erase", Accepted: true, By: "ann",
		Note: "asked to",
		At:   second(800),
	}, {ID: "e-2", Command: "erase", Accepted: true, By: "bob", At: second(900)}}
	show("erased", x, def)
	show("cancelled before it came", &protocol.Task{
		OrderID: "o", ProcessState: core.Cancelled,
		Created: second(0), End: protocol.End{At: second(0)},
	}, nil)
	text, err := json.Marshal(view.DefinitionOf(def))
	require.NoError(t, err)
	fmt.Fprintf(&b, "== a definition\n%s\n", text)
	golden.Assert(t, b.String(), "shown.txt")
}

// A listing states what each of the first 8 steps waits for.
func TestWaits(t *testing.T) {
	x := underWay()
	for i := range 9 {
		x.Steps = append(x.Steps, protocol.Step{Name: fmt.Sprint("s", i), State: core.Processing})
	}
	all := view.SummaryOf(x).Waits
	require.Len(t, all, 8)
	require.Equal(t, view.WaitAgent, all[0].For)
}

func TestReleases(t *testing.T) {
	r := view.Built()
	require.NotEmpty(t, r.Version)
	require.GreaterOrEqual(t, r.Tasks, 1)
	require.GreaterOrEqual(t, r.Messages, 1)
	require.Equal(t, r, view.ReadRelease(r.String()))
	for _, text := range []string{"", "v1", "v1 tasks=3", "v1 tasks=3 messages=x"} {
		require.Equal(t, view.Release{}, view.ReadRelease(text), text)
	}
}

func TestOverdue(t *testing.T) {
	var o view.Overdue
	o.Add(nil)
	o.Add([]port.Due{{ID: "b", At: second(5).Std()}, {ID: "c", At: second(6).Std()}})
	o.Add([]port.Due{{ID: "a", At: second(4).Std()}})
	o.Add([]port.Due{{ID: "d", At: second(7).Std()}})
	require.Equal(t, view.Overdue{Orders: 4, Since: second(4)}, o)
	o.Add(slices.Repeat([]port.Due{{ID: "e", At: second(8).Std()}}, view.MostOverdue-5))
	require.Equal(t, view.MostOverdue-1, o.Orders)
	o.Add([]port.Due{{ID: "f", At: second(3).Std()}, {ID: "g", At: second(9).Std()}})
	require.Equal(t, view.Overdue{Orders: view.MostOverdue, Since: second(3)}, o, "past the largest number")
}

// A task waits for the unattended queues of the agents that its steps have asked, or will ask again.
func TestAwait(t *testing.T) {
	v := view.Of(underWay(), everyKind())
	v.Await([]view.Unattended{
		{Queue: "requests-stock", Agent: "stock"},
		{Queue: "requests-mail", Agent: "mail"},
		{Queue: "requests-van", Agent: "van"},
	})
	require.Len(t, v.Unattended, 2)
	require.Equal(t, "stock", v.Unattended[0].Agent)
	require.Equal(t, "van", v.Unattended[1].Agent)
	v = view.Task{Steps: []view.Step{
		{Agent: "van", State: core.Compensating},
		{Agent: "mail", State: core.Pending},
	}}
	v.Await([]view.Unattended{{Agent: "mail"}, {Agent: "van"}})
	require.Len(t, v.Unattended, 1)
	require.Equal(t, "van", v.Unattended[0].Agent)
}
