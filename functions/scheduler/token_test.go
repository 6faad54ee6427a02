package scheduler_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// linking has a call whose input contains tokens for the approval after it. need and who are the fields of
// the question.
func linking(t *testing.T, question string) *core.Definition {
	t.Helper()
	def := approving()
	def.Steps[0].Input = json.RawMessage(`{"ann":"${ token('b', 'ann') }","either":"${ token('b') }"}`)
	def.Steps[1].Input = json.RawMessage(question)
	require.NoError(t, workflow.Seal(def))
	return def
}

// keys lets a Scheduler make and read tokens with a ring that the test replaces.
func keys(ring **token.Keys) func(*scheduler.Config) {
	return func(c *scheduler.Config) {
		c.Tokens = func(context.Context, bool) (core.Tokens, error) {
			if *ring == nil {
				return nil, port.ErrUnavailable
			}
			return *ring, nil
		}
	}
}

// linked returns a world with an order that waits for its answer, and the tokens that were sent.
func linked(t *testing.T,
	question string,
) (w *actorstest.World, ring **token.Keys, sent struct{ Ann, Either string }) {
	t.Helper()
	w = actorstest.New(t, linking(t, question))
	first := token.New()
	ring = &first
	w.Config = keys(ring)
	w.Script = func(q *message.Request) *message.Reply {
		if q.Step == "a" {
			require.NoError(t, json.Unmarshal(q.Input, &sent))
		}
		return actorstest.Done(q)
	}
	w.Boot()
	w.Send(port.Intake, actorstest.Order("o-1"))
	w.Round()
	w.Round()
	require.Equal(t, core.Waiting, w.Task("o-1").Step("b").State)
	require.NotEmpty(t, sent.Ann)
	return w, ring, sent
}

// changed returns an answer after a change.
func changed(c *message.Control, change func(*core.Answered)) *message.Control {
	a := c.Event.(core.Answered)
	change(&a)
	return &message.Control{OrderID: c.OrderID, Event: a}
}

func byToken(id, text, value string) *message.Control {
	return changed(answer(id, value), func(a *core.Answered) {
		a.Step = ""
		a.By = ""
		a.Token = text
	})
}

// P39: an answer with a token counts as the answer of the person in the token. A bad token is refused and not
// stored.
func TestATokenAnswersItsStep(t *testing.T) {
	w, ring, sent := linked(t, `{"who":["ann","bob"]}`)
	before := w.Task("o-1").Version
	otherRun, err := (*ring).Token((*ring).Current(), "o-1", core.TokenOf{Run: 1, Step: "b", Person: "ann"})
	require.NoError(t, err)
	for text, want := range map[string]string{sent.Ann[1:]: token.CodeMalformed, "ffffffff" +
		sent.Ann[8:]: token.CodeUnknown, sent.Ann[:9] + "MC9iL2JvYg" + sent.Ann[19:]: token.CodeForeign} {
		_, err := w.Scheduler.Command(ctx, *byToken("x-"+want, text, "yes"))
		r, ok := err.(*core.Refusal)
		require.True(t, ok, want)
		require.Equal(t, want, r.Code)
	}
	// fields beside a token do not count
	forged := changed(byToken("x-as-bob", sent.Ann, "yes"), func(a *core.Answered) {
		a.By = "bob"
		a.Step = "c"
		a.Round = 2
	})
	for reason, c := range map[string]*message.Control{
		"names no person": byToken("x-either", sent.Either, "yes"),
		"for round 2":     forged, "must be one of": byToken("x-value", sent.Ann, "perhaps"),
	} {
		v, err := w.Scheduler.Command(ctx, *c)
		require.NoError(t, err, reason)
		require.False(t, v.Accepted, reason)
		require.Contains(t, v.Reason, reason)
	}
	// P8
	_, err = w.Scheduler.Command(ctx, *byToken("x-run", otherRun, "yes"))
	require.ErrorIs(t, err, core.ErrStale)
	require.Equal(t, before, w.Task("o-1").Version, "a refused answer by token was stored")
	right := changed(byToken("x-1", sent.Ann, "yes"), func(a *core.Answered) {
		a.By = "bob"
		a.Step = "c"
		a.Run = 7
	})
	w.Scheduler.Handle(ctx, port.Control, deliver(right))
	var decided protocol.Decided
	s := w.Task("o-1").Step("b")
	require.Equal(t, core.Processed, s.State)
	require.NoError(t, json.Unmarshal(s.Output, &decided))
	require.Equal(t, "ann", decided.By)
}

// P39: a token without a person answers only where no one asks who answers.
func TestATokenForAnyone(t *testing.T) {
	for question, want := range map[string]bool{
		`{}`: true, `{"need":2}`: false,
		`{"who":["token","ann"]}`: false, `{"notSelf":"eve"}`: false,
	} {
		w, _, sent := linked(t, question)
		v, err := w.Scheduler.Command(ctx, *byToken("x-1", sent.Either, "yes"))
		require.NoError(t, err, question)
		require.Equal(t, want, v.Accepted, question)
	}
}

// P39, P12: a request that is sent again is the same, byte for byte, after the key was replaced.
func TestASentTokenStaysTheSame(t *testing.T) {
	w := actorstest.New(t, linking(t, `{}`))
	ring := token.New()
	requests := 0
	w.Config = keys(&ring)
	w.Script = func(*message.Request) *message.Reply {
		requests++
		return nil
	}
	w.Boot()
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	w.Agents()
	ring = ring.Replace(core.TimeOf(w.Clock.Now()))
	w.Boot()
	w.Scheduler.Handle(ctx, port.Intake, again(deliver(actorstest.Order("o-1"))))
	w.Agents() // which compares the two
	require.Equal(t, 2, requests)
}

// P39: while the keys cannot be read, nothing is decided. If there are none, orders that need them are
// refused, and the request for a child that needs them waits, because its parent would fail.
func TestWithoutKeys(t *testing.T) {
	w := actorstest.New(t, linking(t, `{}`))
	var none *token.Keys
	w.Config = keys(&none)
	w.Boot()
	require.Len(t, w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1"))), 1,
		"an order is taken whose key cannot be read")
	w.Config = nil
	w.Boot()
	r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*actorstest.Order("o-1")})[0]
	require.NotNil(t, r.Refusal)
	require.Equal(t, core.CodeNoTokens, r.Refusal.Code)
	require.Len(t, w.Scheduler.Handle(ctx, port.Tasks, deliver(childOf(w, core.AskStart, 1))), 1)
	require.Empty(t, reported(t, w))
	ring := token.New()
	w.Config = keys(&ring)
	w.Boot().Send(port.Intake, actorstest.Order("o-1"))
	w.Round()
	ring = token.New() // an instance that does not know the key
	require.Len(t, w.Scheduler.Handle(ctx, port.Intake, again(deliver(actorstest.Order("o-1")))), 1)
	require.Equal(t, core.Processing, w.Task("o-1").Step("a").State)
	failing := actorstest.New(t, linking(t, `{}`))
	failing.Config = keys(&ring)
	failing.Boot()
	failing.Script = func(*message.Request) *message.Reply { return nil }
	failing.Send(port.Intake, actorstest.Order("o-1"))
	failing.Round()
	ring = token.New()
	failing.Clock.Advance(time.Hour)
	for range 5 {
		failing.Round()
	}
	require.NotEqual(t, core.Failed, failing.Task("o-1").Step("a").State)
	require.Equal(t, core.Processing, failing.Task("o-1").ProcessState)
	w.Config = nil
	w.Boot()
	_, err := w.Scheduler.Command(ctx, *answer("x-1", "yes"))
	require.Error(t, err)
	require.NotErrorAs(t, err, new(*core.Refusal))
}

// P39: a Scheduler that read the keys before the key was replaced reads them again for an order or a token of
// the new one.
func TestAReplacedKeyIsRead(t *testing.T) {
	old := token.New()
	now := old.Replace(5)
	w := actorstest.New(t, linking(t, `{"who":["ann"]}`))
	known := old
	asked := 0
	unread := error(nil)
	w.Config = func(c *scheduler.Config) {
		c.Tokens = func(_ context.Context, fresh bool) (core.Tokens, error) {
			if fresh {
				asked++
				return now, unread
			}
			return known, nil
		}
	}
	w.Boot()
	known = now
	w.Scheduler.Handle(ctx, port.Intake, deliver(actorstest.Order("o-1")))
	known = old
	w.Round()
	w.Round()
	require.Equal(t, core.Waiting, w.Task("o-1").Step("b").State)
	require.NotZero(t, asked)
	asked = 0
	text, err := now.Token(now.Current(), "o-1", core.TokenOf{Step: "b", Person: "ann"})
	require.NoError(t, err)
	unread = actorstest.ErrFailing
	_, err = w.Scheduler.Command(ctx, *byToken("x-1", text, "yes"))
	require.ErrorIs(t, err, actorstest.ErrFailing)
	unread = nil
	v, err := w.Scheduler.Command(ctx, *byToken("x-1", text, "yes"))
	require.NoError(t, err)
	require.True(t, v.Accepted, "%+v, %v", v, err)
}
