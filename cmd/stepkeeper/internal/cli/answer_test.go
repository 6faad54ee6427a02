package cli

import (
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// asking returns an order that waits for the answer of a second person.
func asking(b *backend) {
	at := core.TimeOf(noon)
	b.put(&core.Task{OrderID: "asking", Workflow: "expense", ProcessState: core.Processing, Created: at,
		Run: 2, Steps: []core.Step{{
			Name: "approve", State: core.Waiting, Attempt: 1, First: core.First{Nth: 1, At: at},
			Claim: core.Claim{At: at},
			Wait:  core.StepWait{At: at.Add(core.Day)}, CompleteBy: at.Add(core.Day),
			Answers: &core.Answers{Round: 3, Need: 2, Who: []string{"alice", "bob"},
				Votes: []core.Vote{{By: "alice", Value: []byte(`"yes"`), At: at}}},
		}, {Name: "pay", State: core.Pending}}})
}

func TestAnswerSendsTheValue(t *testing.T) {
	b := newBackend(noon)
	asking(b)
	fill(b)
	c := call{server: serve(t, b).URL}
	r := c.run(t, "show", "asking")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "show-asking.txt")
	c.run(t, "answer", "asking", "approve", "yes", "--by", "bob", "--command-id", "a1").want(t, failure.OK)
	c.run(t, "answer", "asking", "approve", "true", "--by", "bob", "--round", "2").want(t, failure.OK)
	c.run(t, "answer", "asking", "customer-bought", `{"invoice":12345678901234567890}`, "--event", "--by",
		"bob").want(t, failure.OK)
	c.run(t, "answer", "asking", "customer-bought", "plain words", "--event", "--by", "bob").want(t,
		failure.OK)
	want := []core.Answered{
		{ID: "a1", Step: "approve", Round: 3, Value: []byte(`"yes"`)},
		{Step: "approve", Round: 2, Value: []byte(`"true"`)}, // an approval's values are words
		{Name: "customer-bought", Value: []byte(`{"invoice":12345678901234567890}`)},
		{Name: "customer-bought", Value: []byte(`"plain words"`)},
	}
	require.Len(t, b.commands, len(want))
	for i, w := range want {
		got, is := b.commands[i].Event.(core.Answered)
		require.True(t, is)
		require.Equal(t, "asking", b.commands[i].OrderID)
		require.Equal(t, 2, got.Run)
		require.Equal(t, "bob", got.By)
		require.Equal(t, w.Step, got.Step)
		require.Equal(t, w.Name, got.Name)
		require.Equal(t, w.Round, got.Round)
		require.Equal(t, string(w.Value), string(got.Value))
		require.NotEmpty(t, got.ID)
		if w.ID != "" {
			require.Equal(t, w.ID, got.ID)
		}
	}
	b.commands = nil
	at := core.TimeOf(noon)
	b.put(&core.Task{OrderID: "buying", Workflow: "expense", ProcessState: core.Processing, Created: at,
		Steps: []core.Step{{
			Name: "bought", State: core.Waiting, Attempt: 1, First: core.First{Nth: 1, At: at},
			Claim: core.Claim{At: at},
			Wait:  core.StepWait{At: at.Add(core.Day)}, CompleteBy: at.Add(core.Day),
			Answers: &core.Answers{Round: 1},
		}}})
	// an event's value is JSON
	for order, value := range map[string]string{"asking": `"true"`, "buying": "true"} {
		b.commands = nil
		keys := token.Fixed(false)
		given, err := keys.Token(keys.Current(), order,
			core.TokenOf{Step: map[string]string{"asking": "approve", "buying": "bought"}[order],
				Person: "carol"})
		require.NoError(t, err)
		c.run(t, "answer", order, "true", "--token", given).want(t, failure.OK)
		require.Len(t, b.commands, 1, order)
		a := b.commands[0].Event.(core.Answered)
		require.Equal(t, given, a.Token, order)
		require.Empty(t, a.By, order)
		require.Equal(t, value, string(a.Value), order)
	}
	b.refuse = "step approve was decided: \"no\" by alice"
	c.run(t, "answer", "asking", "approve", "yes").want(t, failure.Refused,
		"asking: answer refused: step approve was decided")
	for _, x := range []struct {
		args string
		code failure.Code
		want string
	}{
		{"asking pay yes", failure.NotFound, "its approvals and events: approve"},
		{"running charge yes", failure.NotFound, "order running has no approval or event"},
		{"missing approve yes", failure.NotFound, "there is no order missing"},
		{"asking approve yes --by a<b", failure.Usage, "cannot be the name"},
		{"asking approve yes --round -1", failure.Usage, "out of range"},
		{"asking yes --token x --by ann", failure.Usage, "the token says the step and who answers"},
		{"asking yes --token x --event", failure.Usage, "leave --by and --event out"},
		{"asking approve", failure.Usage, "an order, a step"},
	} {
		c.run(t, append([]string{"answer"}, strings.Fields(x.args)...)...).want(t, x.code, x.want)
	}
}

// TestChildOrdersAreLeftOut: a list shows child orders only if they are asked for.
func TestChildOrdersAreLeftOut(t *testing.T) {
	b := newBackend(noon)
	for _, id := range []string{"parcel", core.Parent{OrderID: "parcel", Step: "ship"}.ChildID()} {
		b.put(&core.Task{OrderID: id, Workflow: "order", ProcessState: core.Error,
			Created: core.TimeOf(noon)})
	}
	c := call{server: serve(t, b).URL}
	for args, want := range map[string]int{"": 1, "--children": 2, "--id parcel": 2, "--state Error": 1} {
		r := c.run(t, append([]string{"list"}, strings.Fields(args)...)...)
		r.want(t, failure.OK, "parcel")
		require.Equal(t, want, strings.Count(r.out, "parcel"), args)
		require.Equal(t, want == 1, strings.Contains(r.err, "1 child order left out"), args)
	}
}
