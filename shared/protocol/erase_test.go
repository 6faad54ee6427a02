package protocol_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

const secret = "anna@example.com"

// ended returns an order at rest that has the secret in every place of a document for data of people and
// services.
func ended(state core.State) *protocol.Task {
	text := "of " + secret
	value := json.RawMessage(`"` + secret + `"`)
	of := core.Compensated
	if state == core.Processed {
		of = state
	}
	t := fixture(string(state), string(of), of)
	t.End.ResendAt = 0
	t.Due = 0
	t.Order = value
	t.Output = value
	t.Reason.Text = text
	t.Undo.Reason = protocol.Reason{Step: "a", Code: "refused", Text: text}
	t.Unknown = map[string]json.RawMessage{"later": value}
	t.Closing = &protocol.Closing{By: "ann", Reason: text}
	t.Commands.Verdicts = []protocol.Verdict{
		{ID: "v1", Command: "cancel", By: "ann", Note: text},
		{ID: "v2", Command: "answer", By: secret, Reason: text, Note: text},
	}
	s := &t.Steps[0]
	s.Output = value
	s.Unknown = map[string]json.RawMessage{"later": value}
	s.Error = &protocol.StepError{Code: "refused", Message: text, Attempt: 1}
	s.Corrected = &protocol.Corrected{Input: value, Command: 1, By: "ann", Reason: text}
	s.Claim.Progress = &protocol.StepProgress{Percent: 50, Note: text}
	s.Children = &protocol.Children{Count: 1, Reason: text, Results: []protocol.Collected{{Output: value}}}
	s.Answers = &protocol.Answers{
		Round: 1, Who: []string{secret}, NotSelf: secret,
		Votes: []protocol.Vote{{By: secret, Value: value}},
		Verdicts: []protocol.Verdict{{
			ID: "v3", Command: "answer", By: secret, Reason: text, Note: text,
			Accepted: true,
		}},
	}
	return t
}

func erase(id string) core.Command {
	return core.Command{
		Name: core.Erase,
		ID:   id, Number: 4, KnownHash: "c0ffee",
		Sender: core.Sender{By: "ann", Reason: "asked to"},
	}
}

// P52: no data of people and services remains in the document. States, times and identity stay.
func TestErasedOrder(t *testing.T) {
	for _, end := range []core.State{core.Processed, core.Compensated, core.Cancelled, core.Closed} {
		d := newDesk(t, workflow(step("a"), step("b")))
		d.task = ended(end)
		before, err := state.EncodeTask(d.task)
		require.NoError(t, err)
		require.Equal(t, 25, bytes.Count(before, []byte(secret)))
		dec, err := d.try(erase("e1"))
		require.NoError(t, err, "%+v", end)
		require.NotNil(t, dec.Verdict, "%+v", end)
		require.True(t, dec.Verdict.Accepted, "%+v", end)
		after, err := state.EncodeTask(dec.Task)
		require.NoError(t, err, "%+v", end)
		require.False(t, bytes.Contains(after, []byte(secret)), "%+v", end)
		e := dec.Task
		s := &dec.Task.Steps[0]
		if e.Erased == nil || *e.Erased != (protocol.Erasure{By: "ann", Reason: "asked to", At: d.now}) ||
			e.ProcessState != end || e.Commands.Number != 5 ||
			e.ContentHash != "c0ffee" || e.End.At != d.task.End.At || e.Reason.Code != d.task.Reason.Code ||
			e.Closing.By != "ann" || e.Apart() {
			t.Errorf("%s: %s", end, after)
		}
		if s.State != d.task.Steps[0].State || s.Attempt != inAttempt || s.Error.Code != "refused" ||
			s.Corrected.By != "ann" || s.Claim.Progress.Percent != 50 || s.Children.Count != 1 ||
			s.Answers.Round != 1 {
			t.Errorf("%s: %s", end, after)
		}
		require.Len(t, dec.Effects, 1, "%+v", end)
		require.EqualValues(t, core.EraseContent{OrderID: orderID, Hash: "c0ffee"}, dec.Effects[0], "%+v", end)
		again, err := state.DecodeTask(after)
		require.NoError(t, err)
		require.NotNil(t, again.Erased, "read again: %+v, %v", again, err)
		require.Equal(t, *e.Erased, *again.Erased)
		require.NotNil(t, d.task.Steps[0].Answers.Votes, "the decision changed the task that it was given")
		require.Equal(t, secret, d.task.Commands.Verdicts[1].By)
	}
}

// P52: an erased order accepts an Erase again, and sends no effects of earlier events.
func TestErasedOrderIsErasedAgain(t *testing.T) {
	d := newDesk(t, workflow(step("a"), step("b")))
	d.task = ended(core.Compensated)
	d.decide(erase("e1"))
	dec, err := d.try(core.Command{Name: core.UndoCommand, ID: "v1", Number: 3}) // it has a verdict
	require.NoError(t, err)
	require.False(t, dec.Changed, "an old command: %+v, %v", dec, err)
	require.Empty(t, dec.Effects)
	dec, err = d.try(core.Command{
		Name: core.Erase,
		ID:   "e0", Number: 4,
		Sender: core.Sender{By: "bob", Reason: "late"},
	})
	require.NoError(t, err)
	require.False(t, dec.Verdict.Accepted)
	for id, changed := range map[string]bool{"e1": false, "e2": true} { // the same command, and another one
		dec, err := d.try(core.Command{
			Name: core.Erase,
			ID:   id, Number: 5, ActiveAncestor: "p", KnownHash: "c0ffee",
			Sender: core.Sender{By: "bob", Reason: "again"},
		})
		require.NoError(t, err, id)
		require.True(t, dec.Verdict.Accepted, id)
		require.Equal(t, changed, dec.Changed, id)
		require.Len(t, dec.Effects, 1, id)
		require.Equal(t, "ann", dec.Task.Erased.By, id)
	}
}

// P52: an erased order accepts no other command, and stores nothing that people write into one.
func TestErasedOrderStoresNoTextOfLaterCommands(t *testing.T) {
	from := core.Sender{By: secret, Reason: "of " + secret}
	value := json.RawMessage(`"` + secret + `"`)
	for _, end := range []core.State{core.Processed, core.Compensated, core.Cancelled, core.Closed} {
		for name, ev := range map[string]core.Event{
			"cancel":     core.Command{Name: core.Cancel, OrderID: orderID, ID: "c", Run: inRun, Sender: from},
			"old cancel": core.Command{Name: core.Cancel, OrderID: orderID, ID: "c", Run: inRun - 1, Sender: from},
			"undo":       core.Command{Name: core.UndoCommand, ID: "c", Number: 5, Sender: from},
			"old undo":   core.Command{Name: core.UndoCommand, ID: "c", Number: 3, Sender: from},
			"resubmit":   core.Command{Name: core.Resubmit, ID: "c", Number: 5, Step: "a", Input: value, Sender: from},
			"resolve":    core.Command{Name: core.Resolve, ID: "c", Number: 5, Step: "a", Fact: core.Happened, Sender: from},
			"close":      core.Command{Name: core.Close, ID: "c", Number: 5, Sender: from},
			"move":       core.Command{Name: core.Move, ID: "c", Number: 5, To: &core.Target{Absent: "none"}, Sender: from},
			"erase":      core.Command{Name: core.Erase, ID: "c", Number: 5, KnownHash: "c0ffee", Sender: from},
			"answer": core.Answered{
				ID: "c", Run: inRun, Step: "w", Round: 1, By: secret, Value: value,
				Note: secret,
			},
			"answer to no step": core.Answered{
				ID: "c", Run: inRun, Step: secret, Round: 1, By: secret,
				Value: value,
			},
		} {
			question := asked(`"pay?"`).Steps[0]
			d := newDesk(t, workflow(step("a"), step("b"), question))
			d.task = ended(end)
			d.task.Steps = append(d.task.Steps, protocol.Step{Name: question.Name, State: core.Skipped})
			d.decide(erase("e1"))
			dec, err := d.try(ev)
			require.NoError(t, err, "%s, %s", end, name)
			require.NotNil(t, dec.Verdict, "%s, %s", end, name)
			require.Equal(t, name == "erase" || end == core.Cancelled && name == "cancel", dec.Verdict.Accepted, "%s, %s", end, name)
			require.Equal(t, end, dec.Task.ProcessState, "%s, %s", end, name)
			doc, err := state.EncodeTask(dec.Task)
			require.NoError(t, err)
			require.NotContains(t, string(doc), secret, "%s, %s", end, name)
			require.NotEmpty(t, dec.Verdict.Reason, "%s, %s: the sender learns why", end, name)
		}
	}
}
