package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// asked returns a workflow of one approval, whose question evaluates to a text.
func asked(question string, changes ...func(*core.StepDefinition)) *core.Definition {
	s := core.StepDefinition{
		Name: "w", Timeout: core.Hour, OnFailure: core.OnFailureUndo,
		Input:  json.RawMessage(`"template"`),
		Answer: &core.Answer{Values: []string{"yes", "no"}, OnTimeout: core.OnFailureUndo},
	}
	for _, change := range changes {
		change(&s)
	}
	def := workflow(s)
	def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
		0: func(core.Environment) (json.RawMessage, error) { return json.RawMessage(question), nil },
	}}
	return def
}

func byName(s *core.StepDefinition) {
	s.Answer = &core.Answer{Event: "bought", OnTimeout: core.OnFailureUndo}
}

func answered(n int, by, value string) core.Answered {
	return core.Answered{
		ID: fmt.Sprintf("a%d", n), Step: "w", Round: 1, By: by,
		Value: json.RawMessage(value),
	}
}

// sizeOf replaces the function that measures a task's document.
func sizeOf(task *protocol.Task) int {
	b, err := json.Marshal(task)
	if err != nil {
		panic(err)
	}
	return len(b)
}

// P35: a question may contain certain fields only. Any other question is a failing input, before the claim.
func TestQuestions(t *testing.T) {
	names := func(n int, length int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%q", fmt.Sprintf("%0*d", length, i)))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for question, ok := range map[string]bool{
		`{}`: true, `{"need":32}`: true, `{"need":33}`: false, `{"need":0}`: false, `{"need":"two"}`: false,
		`{"need":2.0}`: true, `{"need":3e1}`: true, `{"need":2.5}`: false, `{"need":1e400}`: false,
		`{"who":` + names(32, 128) + `}`: true, `{"who":` + names(33, 9) + `}`: false,
		`{"who":["a<b"]}`: false, `{"who":[""]}`: false,
		`{"who":["ann","bob"],"need":2}`: true, `{"who":["ann","bob"],"need":2,"notSelf":"ann"}`: false,
		`{"notSelf":"ann"}`: true, `{"notSelf":""}`: false, `{"notSelf":7}`: false,
		`{"notSelf":` + names(1, 129)[1:132] + `}`: false,
		`{"timeout":"366d"}`:                       true, `{"timeout":"367d"}`: false,
		`{"timeout":"90m"}`: true,
		`{"timeout":"0s"}`:  false, `{"timeout":"-1h"}`: false, `{"timeout":"soon"}`: false,
		`{"timeout":7}`: false, `{"who":"ann"}`: false, `7`: false,
	} {
		d := newDesk(t, asked(question))
		d.decide(d.submit)
		require.Equal(t, ok, d.task.ProcessState == core.Processing, question)
		if question == `{"timeout":"soon"}` &&
			!strings.Contains(d.task.Reason.Text, `timeout is neither a duration, like "48h" or "7d"`) {
			t.Errorf("%s: %s", question, d.task.Reason.Text)
		}
	}
}

// P35, P28: a round has at most 32 voters, and the reserve has room for them.
func TestThirtyTwoPeopleVote(t *testing.T) {
	d := newDesk(t, asked(`{"need":32}`))
	d.decide(d.submit)
	for n := range core.MaxVoters {
		d.decide(answered(n, fmt.Sprintf("%0128d", n), []string{`"yes"`, `"no"`}[n%2]))
	}
	n, most := sizeOf(d.task), protocol.Reserve(d.def)
	require.LessOrEqual(t, n, most)
	d.refused(answered(99, "one-more", `"yes"`))
	require.Len(t, d.task.Step("w").Answers.Votes, core.MaxVoters)
}

// P28: an event whose value does not fit into the document is refused, and the order continues to wait. If
// space is short, the reason of a refusal is left out.
func TestAnEventThatDoesNotFit(t *testing.T) {
	d := newDesk(t, asked(`{}`, byName))
	d.decide(d.submit)
	limit := protocol.SizeLimit(protocol.Reserve(d.def) + 300)
	try := func(ev core.Event) protocol.Decision {
		dec, err := protocol.Decide(d.def, d.order, d.task, ev,
			protocol.At{Now: d.now, By: d.by, SizeLimit: limit})
		require.NoError(t, err)
		return dec
	}
	dec := try(answered(1, "shop", `"`+strings.Repeat("x", 4000)+`"`))
	require.False(t, dec.Verdict.Accepted)
	require.Equal(t, core.Waiting, dec.Task.Step("w").State)
	require.True(t, try(answered(1, "shop", `"x"`)).Verdict.Accepted, "a short value is refused")
	wrong := answered(2, "shop", `7`)
	wrong.Round = 5
	for range 30 { // An order with a shorter ID leaves part of the reserve.
		limit -= 40
		if dec := try(wrong); len(dec.Verdict.Reason) < 60 {
			return
		}
	}
	t.Error("the reason stays although nothing is left for it")
}

// P35, P49: after a move a question still shows the conditions under which it was asked: who may answer, how
// many answers are needed, and for how long.
func TestAMovedQuestionShowsWhatCounts(t *testing.T) {
	for _, state := range []core.State{core.Waiting, core.Processed} {
		d := newDesk(t, then(asked(`{"need":2}`)))
		d.decide(d.submit)
		if d.wait(core.Minute); state == core.Processed {
			d.decide(answered(1, "ann", `"yes"`))
			d.decide(answered(2, "bob", `"yes"`))
		}
		to := then(asked(`{"question":"may it?","need":1,"who":["ann"]}`, func(s *core.StepDefinition) {
			s.Input = json.RawMessage(`"another"`)
			s.Timeout = core.Day
		}))
		to.Hash = "another"
		d.decide(core.Command{Name: core.Move, ID: "m", To: &core.Target{Definition: to}})
		s := d.task.Step("w")
		require.Equal(t, to.Hash, d.task.Definition)
		require.Equal(t, state, s.State)
		input, err := protocol.InputOf(to, d.order, d.task, 0)
		want := `{"question":"may it?","need":2,"timeout":"1h0m0s"}`
		require.NoError(t, err, "%+v", state)
		require.Equal(t, want, string(input), "%+v", state)
	}
}

// then returns a workflow that waits for a day after step w.
func then(def *core.Definition) *core.Definition {
	last := waitStep("last", core.Day)
	last.After = []string{"w"}
	more := workflow(append(def.Steps, last)...)
	more.Expr = def.Expr
	more.Hash = def.Hash
	return more
}

// P36: the answer of a person who may not answer the step came before the step began, when that was not
// known. Once it begins, the order keeps a refusal, because the person has read that the answer is kept.
func TestAnEarlyAnswerThatDoesNotCountIsRefused(t *testing.T) {
	def := workflow(step("a"), core.StepDefinition{
		Name: "w", After: []string{"a"}, Timeout: core.Hour,
		OnFailure: core.OnFailureUndo,
		Input:     json.RawMessage(`"template"`), Answer: &core.Answer{
			Values:    []string{"yes", "no"},
			OnTimeout: core.OnFailureUndo,
		},
	})
	def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
		1: func(e core.Environment) (json.RawMessage, error) {
			if _, known := e.Outputs["a"]; !known {
				return nil, errors.New("step a has no output")
			}
			return json.RawMessage(`{"who":["ann","cem"]}`), nil
		},
	}}
	d := newDesk(t, def)
	d.decideAll(d.submit, answered(1, "bob", `"yes"`), answered(2, "ann", `"no"`))
	d.decide(core.Reply{
		Step: "a", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone,
		Output: json.RawMessage(`{}`),
	})
	a := d.task.Step("w").Answers
	require.Len(t, a.Verdicts, 3)
	v := a.Verdicts[2]
	require.False(t, v.Accepted, "the last verdict is %+v, want a refusal of bob's answer", v)
	require.Equal(t, "bob", v.By)
	require.Equal(t, "answer", v.Command)
	require.Equal(t, d.now, v.At)
	require.Contains(t, v.Reason, "not among those who may answer")
	require.Len(t, a.Votes, 1)
	require.Equal(t, "ann", a.Votes[0].By)
}

// P36: the verdict of an answer has its reason and its sender, also after the decision. If the document has
// no room for the reason, the answer counts without it.
func TestAnswersSayWhy(t *testing.T) {
	for _, full := range []bool{false, true} {
		d := newDesk(t, asked(`{"need":2}`))
		d.decide(d.submit)
		limit := protocol.SizeLimit(1 << 20)
		if full {
			limit = protocol.SizeLimit(protocol.Reserve(d.def))
		}
		for n, by := range []string{"ann", "bob"} {
			ev := answered(n, by, `"yes"`)
			ev.Note = "seen " + strings.Repeat("x", 2*core.MaxMessage)
			dec, err := protocol.Decide(d.def, d.order, d.task, ev,
				protocol.At{Now: d.now, By: d.by, SizeLimit: limit})
			require.NoError(t, err)
			d.task = dec.Task
		}
		s := d.task.Step("w")
		require.Equal(t, core.Processed, s.State)
		require.Len(t, s.Answers.Verdicts, 2)
		for i, by := range []string{"ann", "bob"} {
			v := s.Answers.Verdicts[i]
			if kept := v.By == by && strings.HasPrefix(v.Note, "seen x") &&
				len(v.Note) <= core.MaxMessage; !v.Accepted || kept == full || full && v.By+v.Note != "" {
				t.Errorf("full %t: %+v", full, v)
			}
		}
	}
}

// P56. A step keeps at most 16 KiB of the answers that wait for its child.
func TestAnswersThatWaitForAChildAreBounded(t *testing.T) {
	d := begun(t, core.StepDefinition{
		Name: "w", OnFailure: core.OnFailureUndo,
		Each: &core.Each{Workflow: "parcel", Definition: "feed", Concurrency: 1, Events: []core.PassedEvent{{Name: "paid"}}},
	})
	answer := func(id string) protocol.Verdict {
		return *d.decide(core.Answered{
			ID: id, Name: "paid", By: "bank", Value: json.RawMessage(`"` + strings.Repeat("v", 7<<10) + `"`),
		}).Verdict
	}
	require.True(t, answer("e1").Accepted)
	require.True(t, answer("e2").Accepted)
	refused := answer("e3")
	require.False(t, refused.Accepted)
	require.Contains(t, refused.Reason, "the answers that wait for step w take more than 16384 bytes with it")
	require.Len(t, d.task.Step("w").Passing.Answers, 2)
}
