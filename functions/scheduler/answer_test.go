package scheduler_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// approving has three steps: a, then an approval, then c.
func approving() *core.Definition {
	def := actorstest.Definition()
	def.Schema = 2
	def.Steps[1] = core.StepDefinition{
		Name: "b", After: []string{"a"}, Timeout: core.Hour,
		OnFailure: core.OnFailureUndo,
		Answer:    &core.Answer{Values: []string{"yes", "no"}, OnTimeout: core.OnFailureUndo},
	}
	delete(def.Agents, "agent-b")
	return def
}

func answer(id, value string) *message.Control {
	text, _ := json.Marshal(value)
	return &message.Control{
		OrderID: "o-1",
		Event:   core.Answered{ID: id, Step: "b", Round: 1, Value: text, By: "ann"},
	}
}

// P35: an answer through the control queue decides its step, and a copy changes nothing. A refusal is sent to
// the reply-to of the answer, and is stored in the step.
func TestAnAnswerThroughTheQueueDecides(t *testing.T) {
	w := actorstest.New(t, approving()).Boot()
	w.Send(port.Intake, actorstest.Order("o-1"))
	w.Round()
	w.Round()
	require.Equal(t, core.Waiting, w.Task("o-1").Step("b").State)
	wrong := answer("x-1", "maybe")
	wrong.ReplyTo = "desk"
	require.Empty(t, w.Scheduler.Handle(ctx, port.Control, deliver(wrong)), "a wrong answer came back")
	got := statuses(t, w, "desk")
	require.Len(t, got, 1)
	require.Equal(t, core.StatusCommandRefused, got[0].Kind)
	require.Equal(t, "answer", got[0].Command)
	require.Equal(t, "x-1", got[0].CommandID)
	w.Scheduler.Handle(ctx, port.Control, deliver(answer("x-2", "yes")))
	w.Scheduler.Handle(ctx, port.Control, again(deliver(answer("x-2", "yes"))))
	s := w.Task("o-1").Step("b")
	if v := s.Answers.Verdicts; s.State != core.Processed || len(v) != 2 || v[0].Accepted || !v[1].Accepted {
		t.Fatalf("the approval is %s, its verdicts %+v", s.State, v)
	}
	w.Round()
	w.Round()
	require.Equal(t, core.Processed, w.Task("o-1").ProcessState)
}

// P36: an answer may come before its order. It is sent again after 5 s, 1 minute and 15 minutes, then kept
// for the operator.
func TestAnAnswerMayComeBeforeItsOrder(t *testing.T) {
	for comes := range 4 {
		w := actorstest.New(t, approving()).Boot()
		next := answer("x-1", "yes")
		for n, delay := range []time.Duration{5 * time.Second, time.Minute, 15 * time.Minute}[:comes] {
			require.Empty(t, w.Scheduler.Handle(ctx, port.Control, deliver(next)), "%v", n)
			require.Empty(t, w.Take(port.Quarantine), "%v", n)
			require.Equal(t, n+1, w.Counts["answer sent again: unknown order"], "%v", n)
			w.Clock.Advance(delay - time.Second)
			require.Empty(t, w.Take(port.Control), "%v %v", n, delay)
			w.Clock.Advance(time.Second)
			delayed := w.Take(port.Control)
			require.Len(t, delayed, 1, "%v", n)
			c, err := message.Of[message.Control](delayed[0])
			require.NoError(t, err)
			next = c
		}
		if comes == 3 {
			require.Empty(t, w.Scheduler.Handle(ctx, port.Control, deliver(next)), "at last it is not in quarantine")
			require.Len(t, w.Take(port.Quarantine), 1, "at last it is not in quarantine")
			continue
		}
		w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
		w.Scheduler.Handle(ctx, port.Control, deliver(next))
		s := w.Task("o-1").Step("b")
		require.Equal(t, core.Pending, s.State)
		require.NotNil(t, s.Answers, "the early answer is not kept: %+v", s)
		require.Len(t, s.Answers.Votes, 1)
	}
}

// An answer that came without a queue is refused at once if there is no order, or no key for its token.
func TestAnAnswerThatCannotCount(t *testing.T) {
	w := actorstest.New(t, approving()).Boot()
	_, err := w.Scheduler.Command(ctx, *answer("x-1", "yes"))
	r, ok := err.(*core.Refusal)
	require.True(t, ok, "%v", err)
	require.Equal(t, core.CodeUnknownTask, r.Code)
	w.Send(port.Intake, actorstest.Order("o-1"))
	w.Round()
	_, err = w.Scheduler.Command(ctx, *byToken("x-2", "made-up", "yes"))
	r, ok = err.(*core.Refusal)
	require.True(t, ok, "a token: %v", err)
	require.Equal(t, core.CodeNoTokens, r.Code)
	v, err := w.Scheduler.Command(ctx, *answer("x-3", "yes"))
	require.NoError(t, err)
	require.True(t, v.Accepted)
}

// P35: a Scheduler of a version without answers returns the messages of an order that has one to the queue.
func TestOlderCodeLeavesAnswersAlone(t *testing.T) {
	w := actorstest.New(t, approving()).Boot()
	old := scheduler.New(w.SchedulerConfig(state.New(state.Config{
		Store: w.Store, Definitions: w.Defs, Current: func(string) *core.Definition { return nil },
		Encode:  workflow.Encode,
		Compile: func(string, []byte) (*core.Definition, error) { return nil, workflow.ErrNewer },
	}), "old"))
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	before := w.Task("o-1").Version
	require.Len(t, old.Handle(ctx, port.Control, deliver(answer("x-1", "yes"))), 1)
	require.Equal(t, before, w.Task("o-1").Version, "older code keeps an answer, or changes the order")
}
