package protocol_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// family returns a workflow of one step that has a child for each element of a list.
func family(t *testing.T, list string, changes ...func(*core.Each)) *desk {
	e := &core.Each{
		Workflow: "parcel", Definition: "feed", Order: json.RawMessage(`"template"`),
		Concurrency: 10,
	}
	for _, change := range changes {
		change(e)
	}
	def := workflow(core.StepDefinition{
		Name: "all", Each: e, OnFailure: core.OnFailureUndo,
		Input: json.RawMessage(`"template"`),
	})
	def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
		0: func(core.Environment) (json.RawMessage, error) { return json.RawMessage(list), nil },
	}}
	return newDesk(t, def)
}

func collecting(e *core.Each) { e.Collect = true }

func repeated(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }

// P40: a list that is too long, or whose outputs cannot be collected, is a failing input. A list at the limit
// is not.
func TestListsOfChildren(t *testing.T) {
	for _, c := range []struct {
		list    string
		collect bool
		says    string // expected refusal; "" if the step begins
	}{
		{repeated("1", core.MaxChildren), false, ""},
		{repeated("1", core.MaxChildren+1), false, "each is a list of 10001, the limit is 10000"},
		{repeated("1", 600), true, ""},
		{repeated("1", 700), true, "cannot be collected in 16384 bytes"},
		{`{"a":1}`, false, "each is not a list"},
		{`null`, false, ""}, // an empty one, as nil is in expressions
	} {
		var changes []func(*core.Each)
		if c.collect {
			changes = append(changes, collecting)
		}
		d := family(t, c.list, changes...)
		d.decide(d.submit)
		require.Equal(t, c.says != "", d.task.ProcessState == core.Compensated, c.list)
		require.Contains(t, d.task.Reason.Text, c.says, c.list)
	}
}

// An item whose child would get more than 48 KiB counts as failed, and the others continue.
func TestAnItemThatIsTooLarge(t *testing.T) {
	d := family(t, fmt.Sprintf(`["a",%q,"c"]`, strings.Repeat("x", 300<<10)),
		func(e *core.Each) { e.Tolerate = 1 })
	d.decide(d.submit)
	c := d.task.Steps[0].Children
	require.Len(t, c.Open, 2)
	require.Equal(t, 1, c.Failed)
	require.Equal(t, 1, c.FailedAt[0])
	require.Contains(t, c.Reason, "the limit is 49152")
}

// If the list differs from that of the claim, as in a damaged order, no child outside the list of the claim
// is started.
func TestAListThatChanges(t *testing.T) {
	for list, says := range map[string]string{
		`["a","b","c"]`: "not the one that the step was claimed with",
		`{"a":1}`:       "each is not a list",
	} {
		d := family(t, `["a","b"]`, func(e *core.Each) { e.Concurrency = 1 })
		d.decide(d.submit)
		d.def.Expr = family(t, list).def.Expr
		d.decide(core.ChildEnded{
			Parent: core.Parent{OrderID: orderID, Step: "all", Attempt: 1},
			State:  core.ChildProcessed,
		})
		c := d.task.Steps[0].Children
		require.Equal(t, 2, c.Started, list)
		require.Empty(t, c.Open, list)
		require.Equal(t, 1, c.Failed, list)
		require.Contains(t, c.Reason, says, list)
	}
}

// The collected outputs are bounded: the child whose output does not fit stops the step, with a clear text.
func TestCollectedOutputsAreBounded(t *testing.T) {
	d := family(t, `["a","b","c"]`, collecting)
	d.decide(d.submit)
	output, _ := json.Marshal(strings.Repeat("x", 7<<10))
	for i := range 3 {
		d.decide(core.ChildEnded{
			Parent: core.Parent{OrderID: orderID, Step: "all", Index: i, Attempt: 1},
			State:  core.ChildProcessed, Output: output,
		})
	}
	s := d.task.Steps[0]
	require.True(t, s.Claim.Undo, "%+v, %+v", s, s.Error)
	require.NotNil(t, s.Error, "%+v, %+v", s, s.Error)
	require.Equal(t, "children-failed", s.Error.Code)
	require.Contains(t, s.Error.Message, "more than 16384 bytes")
}

// P28: if the output about the children does not fit beside the other outputs, the step fails, and the order is
// undone. The reserve has room for outputs that are collected.
func TestAnOutputAboutChildrenThatDoesNotFit(t *testing.T) {
	d := family(t, `["a"]`)
	d.decide(d.submit)
	limit := protocol.SizeLimit(protocol.Reserve(d.def) + 10)
	ended := core.ChildEnded{
		Parent: core.Parent{OrderID: orderID, Step: "all", Attempt: 1},
		State:  core.ChildProcessed, Output: json.RawMessage(`"` + strings.Repeat("x", 4_000) + `"`),
	}
	dec, err := protocol.Decide(d.def, d.order, d.task, ended,
		protocol.At{Now: d.now, By: d.by, SizeLimit: limit})
	require.NoError(t, err)
	s := dec.Task.Steps[0]
	require.Equal(t, core.Compensating, dec.Task.ProcessState)
	require.NotNil(t, s.Error, "the order is %s, %+v", dec.Task.ProcessState, s)
	require.Equal(t, core.CodeOutputTooLarge, s.Error.Code)
}

// P40: whatever the number of children, the parent's document does not grow with it.
func TestTheParentsDocumentIsBounded(t *testing.T) {
	const children = 500
	d := family(t, repeated("1", children))
	d.decide(d.submit)
	largest := 0
	for i := range children {
		d.decide(core.ChildEnded{
			Parent: core.Parent{OrderID: orderID, Step: "all", Index: i, Attempt: 1},
			State:  core.ChildProcessed, Output: json.RawMessage(`{"n":1}`),
		})
		largest = max(largest, sizeOf(d.task))
	}
	require.Equal(t, core.Processed, d.task.ProcessState)
	require.LessOrEqual(t, largest, 5_000)
}
