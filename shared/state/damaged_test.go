package state_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// What can be read of a damaged document is read, the rest comes from the columns beside it, and nothing
// of it is ever written again (P60, a damaged order is set aside).
func TestRemainsOfADamagedTask(t *testing.T) {
	whole := task("o-1", 3)
	whole.Parent = &core.Parent{OrderID: "p", Step: "s", Attempt: 2}
	whole.ReplyTo = "shop"
	whole.Commands.Number = 4
	whole.ContentHash = "h"
	doc, err := state.EncodeTask(whole)
	require.NoError(t, err)
	due := born.Std().Add(time.Hour)
	record := port.Record{
		ID: "o-1", Version: 3, State: "Processing", Workflow: "order", Created: born.Std(),
		Bucket: port.DueBucket, IndexAt: due, Hash: "column",
	}
	for name, c := range map[string]struct {
		from, to string
		change   func(*protocol.Task)
	}{
		"a number out of range": {`"Version":3`, `"Version":30000000000000000000`, func(*protocol.Task) {}},
		"a broken parent":       {`"task":"p"`, `"task":7`, func(x *protocol.Task) { x.Parent = nil }},
		"a broken name": {
			`"replyTo":"shop"`, `"replyTo":{}`,
			func(x *protocol.Task) { x.ReplyTo = "" },
		},
		"no JSON": {`{`, `[`, func(x *protocol.Task) {
			*x = protocol.Task{
				OrderID: x.OrderID, Version: 3, Workflow: "order", Created: x.Created,
				ProcessState: x.ProcessState, Due: x.Due, ContentHash: "column",
			}
		}},
		"the document of another order": {`"OrderID":"o-1"`, `"OrderID":"o-2"`, func(x *protocol.Task) {
			*x = protocol.Task{
				OrderID: x.OrderID, Version: 3, Workflow: "order", Created: x.Created,
				ProcessState: x.ProcessState, Due: x.Due, ContentHash: "column",
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			record.Document = bytes.Replace(doc, []byte(c.from), []byte(c.to), 1)
			require.NotEqual(t, doc, record.Document)
			got, err := state.TaskOf(&record)
			require.NoError(t, err)
			require.NotEmpty(t, got.Damaged)
			want := &protocol.Task{
				OrderID: "o-1", Version: 3, Workflow: "order", Created: born,
				ProcessState: core.Processing, Due: core.TimeOf(due), Definition: whole.Definition,
				ContentHash: "h", ReplyTo: "shop", Parent: whole.Parent, Run: whole.Run,
				Commands: whole.Commands, Steps: whole.Steps,
			}
			c.change(want)
			got.Damaged = ""
			require.Empty(t, cmp.Diff(want, got))
		})
	}
	s := state.New(state.Config{Store: memory.NewStore(1), Definitions: memory.NewDefinitions()})
	whole.Version = 4
	whole.Damaged = "no JSON"
	require.ErrorIs(t, errors.Join(s.Commit(context.Background(), []state.Change{{Task: whole}})...),
		core.ErrUnfit)
}

// What remains of an order is what was submitted, or nothing: its hash stands beside the document.
func TestAChangedOrderIsNoRemains(t *testing.T) {
	whole := task("o-1", 3)
	whole.Order = []byte(`{"amount":100,"text":"\u00e4"}`)
	doc, err := state.EncodeTask(whole)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		from, to string
		kept     bool
	}{
		"a byte beside the order": {`"Version":3`, `"Version":4`, true},
		"a digit of the order":    {`"amount":100`, `"amount":900`, false},
		"no UTF-8":                {`"text":"`, "\"text\":\"\xc3", false},
	} {
		t.Run(name, func(t *testing.T) {
			record := port.Record{
				ID: "o-1", Version: 3, State: "Processing", Workflow: whole.Workflow, Hash: state.HashOf(whole),
				Document: bytes.Replace(doc, []byte(c.from), []byte(c.to), 1), Damage: "its checksum is another one",
			}
			require.NotEqual(t, doc, record.Document)
			got, err := state.TaskOf(&record)
			require.NoError(t, err)
			require.NotEmpty(t, got.Damaged)
			require.Equal(t, c.kept, len(got.Order) > 0)
			require.Equal(t, c.kept, got.ContentHash == "")
		})
	}
}

// A document is shown as it is stored, also if it is damaged and still JSON.
func TestDocumentOf(t *testing.T) {
	doc, err := state.EncodeTask(task("o-1", 3))
	require.NoError(t, err)
	for name, x := range map[string]struct {
		document, want string
		err            error
	}{
		"whole":            {string(doc), string(doc), nil},
		"damaged":          {`{"Schema":2,"OrderID":7}`, `{"Schema":2,"OrderID":7}`, nil},
		"no JSON":          {`{`, "", core.ErrUnfit},
		"an older version": {`{"Schema":1}`, "", state.ErrSchema},
	} {
		got, err := state.DocumentOf(&port.Record{ID: "o-1", Version: 3, Document: []byte(x.document)})
		require.ErrorIs(t, err, x.err, name)
		require.Equal(t, x.want, string(got), name)
	}
	_, err = state.DocumentOf(nil)
	require.ErrorIs(t, err, port.ErrNotFound)
}
