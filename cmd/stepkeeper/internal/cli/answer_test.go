package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// asking returns an order that waits for the answer of a second person.
func asking(b *backend) {
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "asking", Workflow: "expense", ProcessState: core.Processing, Created: at,
		Run: 2, Steps: []protocol.Step{{
			Name: "approve", State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at},
			Wait:  protocol.StepWait{At: at.Add(core.Day)}, CompleteBy: at.Add(core.Day),
			Answers: &protocol.Answers{
				Round: 3, Need: 2, Who: []string{"alice", "bob"},
				Votes: []protocol.Vote{{By: "alice", Value: []byte(`"yes"`), At: at}},
			},
		}, {Name: "pay", State: core.Pending}},
	})
}

// The values of an approval are words; that of an event is JSON, if it is JSON.
func TestAnswerSendsTheValue(t *testing.T) {
	b := newBackend(noon)
	asking(b)
	c := call{server: serve(t, b).URL}
	for name, x := range map[string]struct {
		args []string
		want core.Answered
	}{
		"a value": {
			[]string{"approve", "yes", "--by", "bob"},
			core.Answered{Step: "approve", Round: 3, Value: []byte(`"yes"`)},
		},
		"a value of an earlier round": {
			[]string{"approve", "true", "--by", "bob", "--round", "2"},
			core.Answered{Step: "approve", Round: 2, Value: []byte(`"true"`)},
		},
		"an event with JSON": {
			[]string{"customer-bought", `{"invoice":12345678901234567890}`, "--event", "--by", "bob"},
			core.Answered{Name: "customer-bought", Value: []byte(`{"invoice":12345678901234567890}`)},
		},
		"an event with words": {
			[]string{"customer-bought", "plain words", "--event", "--by", "bob"},
			core.Answered{Name: "customer-bought", Value: []byte(`"plain words"`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b.Commands = nil
			c.run(t, slices.Concat([]string{"answer", "asking", "--command-id", "a1"}, x.args)...).want(t, failure.OK)
			x.want.ID = "a1"
			x.want.Run = 2
			x.want.By = "bob"
			require.Len(t, b.Commands, 1)
			require.Equal(t, "asking", b.Commands[0].OrderID)
			require.Empty(t, cmp.Diff(x.want, b.Commands[0].Event))
		})
	}
	for name, x := range map[string]struct{ value, want string }{
		"broken JSON":           {`{"status": ok}`, "the value of the event: it is not JSON at byte 11"},
		"half a list":           {"[1,", "the value of the event: it is not JSON"},
		"a member twice":        {`{"a":1,"a":2}`, "the value of the event: a: the key stands twice"},
		"a number out of range": {"1e9999", "the value of the event: a number is out of bounds"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			b.Commands = nil
			c.run(t, "answer", "asking", "customer-bought", x.value, "--event", "--by", "bob").want(t, failure.Usage, x.want,
				`write JSON like '{"amount": 12}'`)
			require.Empty(t, b.Commands)
		})
	}
	t.Run("an ID of its own", func(t *testing.T) {
		b.Commands = nil
		c.run(t, "answer", "asking", "approve", "yes", "--by", "bob").want(t, failure.OK)
		require.NotEmpty(t, b.Commands[0].Event.(core.Answered).ID)
	})
}

// A token says the step and who answers.
func TestAnswerWithAToken(t *testing.T) {
	b := newBackend(noon)
	asking(b)
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "buying", Workflow: "expense", ProcessState: core.Processing, Created: at,
		Steps: []protocol.Step{{
			Name: "bought", State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at},
			Wait:  protocol.StepWait{At: at.Add(core.Day)}, CompleteBy: at.Add(core.Day),
			Answers: &protocol.Answers{Round: 1},
		}},
	})
	c := call{server: serve(t, b).URL}
	for order, x := range map[string]struct{ step, value string }{
		"asking": {"approve", `"true"`},
		"buying": {"bought", "true"},
	} {
		t.Run(order, func(t *testing.T) {
			keys := token.Fixed(false)
			given, err := keys.Token(keys.Current(), order, core.TokenOf{Step: x.step, Person: "carol"})
			require.NoError(t, err)
			b.Commands = nil
			c.run(t, "answer", order, "true", "--token", given).want(t, failure.OK)
			require.Len(t, b.Commands, 1)
			sent := b.Commands[0].Event.(core.Answered)
			require.Equal(t, given, sent.Token)
			require.Empty(t, sent.By)
			require.Equal(t, x.value, string(sent.Value))
		})
	}
}

// TestChildOrdersAreLeftOut: a list shows child orders only if they are asked for.
func TestChildOrdersAreLeftOut(t *testing.T) {
	b := newBackend(noon)
	for _, id := range []string{"parcel", core.Parent{OrderID: "parcel", Step: "ship"}.ChildID()} {
		b.Put(&protocol.Task{
			OrderID: id, Workflow: "order", ProcessState: core.Error,
			Created: core.TimeOf(noon),
		})
	}
	c := call{server: serve(t, b).URL}
	for args, want := range map[string]int{"": 1, "--children": 2, "--where id=parcel": 2, "--where state=Error": 1} {
		r := c.run(t, append([]string{"list"}, strings.Fields(args)...)...)
		r.want(t, failure.OK, "parcel")
		require.Equal(t, want, strings.Count(r.out, "parcel"), args)
		require.Equal(t, want == 1, strings.Contains(r.err, "1 child order left out"), args)
	}
}

// looping returns an order whose second iteration of a block waits for an answer. Another one was asked to start, and is
// not there yet.
func looping(b *backend) (child string) {
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "looping", Workflow: "expense", ProcessState: core.Processing, Created: at,
		Steps: []protocol.Step{{
			Name: "card", State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 1, At: at},
			Claim:    protocol.Claim{At: at},
			Children: &protocol.Children{Count: 5, Next: 3, Started: 3, Open: []protocol.OpenChild{{Index: 1}, {Index: 2}}},
		}},
	})
	parent := core.Parent{OrderID: "looping", Step: "card", Index: 1, Attempt: 1}
	b.Put(&protocol.Task{
		OrderID: parent.ChildID(), Workflow: "expense", ProcessState: core.Processing, Created: at, Parent: &parent,
		Steps: []protocol.Step{{
			Name: "check", State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at}, Wait: protocol.StepWait{At: at.Add(core.Day)}, CompleteBy: at.Add(core.Day),
			Answers: &protocol.Answers{Round: 1, Need: 1},
		}},
	})
	return parent.ChildID()
}

// P56: a step of the iteration that is open is answered as if it were a step of the order.
func TestAnswerFindsTheOpenIteration(t *testing.T) {
	b := newBackend(noon)
	child := looping(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "answer", "looping", "check", "yes", "--by", "bob").want(t, failure.OK)
	require.Len(t, b.Commands, 1)
	require.Equal(t, child, b.Commands[0].OrderID)
	require.Equal(t, "check", b.Commands[0].Event.(core.Answered).Step)
	c.run(t, "answer", "looping", "chekc", "yes", "--by", "bob").want(t, failure.NotFound, "its approvals and events: check")
	c.run(t, "approvals").want(t, failure.OK, "looping / card / 1")
}
