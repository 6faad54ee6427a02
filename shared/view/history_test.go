package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// told prints a history, one entry in each line.
func told(t *protocol.Task, def *core.Definition) (lines []string) {
	for _, e := range view.History(t, def) {
		line := fmt.Sprintln(e.Way, e.Kind, e.Step, e.What, e.Peer, e.Code, e.Text)
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

// A step that ended in Error is told with the Resubmit, after the status "started".
func TestHistoryOfAStepThatEndedInError(t *testing.T) {
	x := &protocol.Task{
		ReplyTo: "shop", Start: protocol.Start{Seq: 4, At: t0 + 9},
		Steps: []protocol.Step{{Name: "plain", Finish: protocol.Finish{At: t0, Seq: 5}}},
	}
	require.Equal(t, []string{
		"received reply plain done mail", "sent status started shop", "sent status plain step-finished shop",
	}, told(x, everyKind()))
}

// The time of a step that waits for children is no end: they are asked again then.
func TestHistoryOfOpenChildren(t *testing.T) {
	x := &protocol.Task{Steps: []protocol.Step{{
		Name: "child", State: core.Waiting, Wait: protocol.StepWait{At: t0},
		Children: &protocol.Children{Open: []protocol.OpenChild{{}}},
	}}}
	require.Equal(t, []string{"plan child open child orders are asked again"}, told(x, everyKind()))
}

// At the same time, a command stands before what it caused, and a request before its reply.
func TestHistoryOfOneMoment(t *testing.T) {
	at := t0 + 7000
	x := task()
	x.Steps = x.Steps[:2]
	x.Created = at
	x.Deadline.At = 0
	x.Commands.Verdicts = []protocol.Verdict{{Command: "resubmit", Accepted: true, By: "ann", At: at}}
	x.Start = protocol.Start{Seq: 1, At: at}
	x.ReplyTo = "shop"
	x.ProcessState = core.Processed
	x.End = protocol.End{At: at, Seq: 2}
	for i := range x.Steps {
		x.Steps[i] = protocol.Step{
			Name: x.Steps[i].Name, State: core.Processed, Attempt: 2, First: protocol.First{Nth: i + 1, At: at},
			Claim: protocol.Claim{At: at}, Finish: protocol.Finish{At: at},
		}
	}
	require.Equal(t, []string{
		"received order order",
		"received command resubmit ann accepted",
		"sent status started shop",
		"sent request reserve reserve inventory", "received reply reserve done inventory",
		"sent request charge charge payment", "received reply charge done payment",
		"state Processed", "sent status completed shop",
	}, told(x, definition))
}

// The failure of a step stands before the undo that it causes at the same time, also if the attempt is stored
// and the undone step is an earlier one.
func TestHistoryOfAFailureAndItsUndo(t *testing.T) {
	at := t0 + 7000
	x := task()
	x.Commands.Verdicts = nil
	x.Deadline.At = 0
	x.Attempts.Last = []protocol.Attempt{{
		Step: "charge", Number: 1, Began: t0 + 200, Ended: at, Outcome: protocol.OutcomeOverdue,
	}}
	x.Steps[0].State = core.Compensating
	x.Steps[0].Claim = protocol.Claim{Undo: true, At: at}
	x.Steps[1] = protocol.Step{
		Name: "charge", State: core.Failed, Attempt: 1, First: protocol.First{Nth: 2, At: t0 + 200},
		Claim: protocol.Claim{At: t0 + 200}, Error: &protocol.StepError{Code: "declined", Message: "no money", At: at},
	}
	require.Equal(t, []string{
		"received order order",
		"sent request reserve reserve inventory",
		"received reply reserve done inventory", "sent request charge charge payment",
		"step charge overdue declined no money", "sent request reserve release inventory",
	}, told(x, definition))
}

func TestHistoryOfAnOperatorsFacts(t *testing.T) {
	at := t0 + 7000
	x := task()
	x.ProcessState = core.Compensated
	x.Undo.Why = protocol.WhyOperator
	x.End = protocol.End{At: at + 1}
	x.Reason = protocol.Reason{Code: "http-503", Text: "POST 503"}
	x.Commands.Verdicts = []protocol.Verdict{
		{Command: "resolve", Accepted: true, By: "ann", At: at},
		{Command: "resolve", Accepted: true, By: "bob", At: at - 1},
		{Command: "erase", Accepted: true, By: "cid", At: at + 2},
	}
	x.Erased = &protocol.Erasure{By: "cid", Reason: "asked to", At: at + 2}
	s := &x.Steps[1]
	s.State = core.Compensated
	s.Resolved = &core.Resolved{Fact: core.Undone, At: at}
	x.Steps[0].Resolved = &core.Resolved{Fact: core.Happened, At: x.Steps[0].Finish.At}
	require.Equal(t, []string{
		"received order order",
		"sent request reserve reserve inventory", "sent request charge charge payment",
		"step reserve Processed",
		"step charge failed timeout no answer",
		"sent request charge refund payment",
		"received command resolve bob accepted",
		"received command charge resolve undone ann accepted",
		"state Compensated the operator asked for it",
		"received command erase cid accepted asked to",
	}, told(x, definition))
	x.ProcessState = core.Closed
	require.Contains(t, told(x, definition), "state Closed http-503 POST 503")
}

// What a document keeps of a step besides its calls is told once, and with its person or reason.
func TestHistoryOfAStep(t *testing.T) {
	at := t0 + 7000
	answer := func(at core.Time, id, by, note string, accepted bool) protocol.Verdict {
		return protocol.Verdict{
			ID: id, Command: "answer", Accepted: accepted, By: by, Note: note, Reason: "not asked", At: at,
		}
	}
	uncalled := &protocol.StepError{Code: core.CodeBreakerOpen, Message: "open", At: at, Since: at}
	for name, c := range map[string]struct {
		step string
		is   protocol.Step
		last []protocol.Attempt
		want []string
	}{
		"the service was not called": {
			"again",
			protocol.Step{Error: uncalled},
			[]protocol.Attempt{{Step: "again", Ended: at, Outcome: core.OutcomeRetryLater, Code: core.CodeBreakerOpen}},
			[]string{"received reply again retry-later post breaker-open not called: open"},
		},
		"the service was not called, and the attempt is not kept": {
			"again",
			protocol.Step{Error: uncalled},
			[]protocol.Attempt{
				{Step: "again", Ended: at - 1, Outcome: protocol.OutcomeOverdue, Code: core.CodeTimeout},
				{Step: "plain", Ended: at, Outcome: protocol.OutcomeSuperseded},
			},
			[]string{
				"step again overdue timeout", "step again not called breaker-open open", "step plain superseded",
			},
		},
		"a reason belongs to its answer": {
			"agree", protocol.Step{Answers: &protocol.Answers{
				Votes: []protocol.Vote{{By: "bob", Value: []byte(`"yes"`), At: at}},
				Verdicts: []protocol.Verdict{
					answer(at-1, "v1", "bob", "perhaps", true), answer(at, "v2", "cid", "me too", true),
					answer(at, "v3", "bob", "fine", true), answer(at, "v4", "di", "", true),
				},
			}}, nil, []string{
				"received answer agree answer bob perhaps", `received answer agree "yes" bob fine`,
				"received answer agree answer cid me too",
			},
		},
		"an answer of an earlier round": {
			"agree", protocol.Step{Answers: &protocol.Answers{
				Verdicts: []protocol.Verdict{answer(at, "v1", "bob", "fine", true), answer(at, "v2", "cid", "no", false)},
			}}, nil, []string{"received answer agree answer bob fine"},
		},
		"an early answer that does not count": {
			"agree", protocol.Step{Answers: &protocol.Answers{
				Verdicts: []protocol.Verdict{answer(at, "", "cid", "", false)},
			}}, nil, []string{"step agree early answer refused cid not asked"},
		},
		"the data of an event, which the redaction rules do not cover": {
			"paid", protocol.Step{Answers: &protocol.Answers{
				Votes: []protocol.Vote{{By: "bank", Value: []byte(`{"card":"4111111111111111"}`), At: at}},
			}}, nil, []string{"received answer paid answer bank"},
		},
		"the winners of a race": {
			"first",
			protocol.Step{Won: []string{"two"}, Claim: protocol.Claim{At: at}, Finish: protocol.Finish{At: at}},
			nil,
			[]string{"claim first claimed", "step first decided two"},
		},
		"no longer wanted": {
			"again",
			protocol.Step{Withdrawn: at, FailureCode: "superseded"},
			nil,
			[]string{"step again withdrawn superseded"},
		},
		"an undo begins when it is no longer wanted": {
			"plain",
			protocol.Step{
				Attempt: 2, Claim: protocol.Claim{At: at, Undo: true}, Withdrawn: at, FailureCode: "overtaken",
			},
			[]protocol.Attempt{{Step: "plain", Number: 1, Ended: at, Outcome: protocol.OutcomeSuperseded}},
			[]string{"step plain superseded", "step plain withdrawn overtaken", "sent request plain send mail"},
		},
		"an undo begins when the last iteration has failed": {
			"turns",
			protocol.Step{
				Attempt: 2, Claim: protocol.Claim{At: at, Undo: true},
				Error: &protocol.StepError{At: at, Attempt: 1, Code: "exhausted"},
				Children: &protocol.Children{
					Started: 1, Next: 1, Ends: []protocol.IterationEnd{{State: core.ChildProcessed, At: at}},
				},
			},
			nil,
			[]string{
				"received end turns iteration 1 processed ~turns~0", "step turns failed exhausted",
				"sent children turns undo 1 child order, 1 ended",
			},
		},
	} {
		def := everyKind()
		def.Steps = append(def.Steps, core.StepDefinition{Name: "first", Any: &core.Any{Members: []string{"one", "two"}}})
		def.Link()
		c.is.Name = c.step
		x := &protocol.Task{Attempts: protocol.Attempts{Last: c.last}, Steps: []protocol.Step{c.is}}
		require.Equal(t, c.want, told(x, def), name)
	}
}
