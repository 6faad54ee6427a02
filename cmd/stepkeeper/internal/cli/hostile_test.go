package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// hostile would colour the terminal, forge a line, and reverse the text beside it.
const hostile = "x\x1b[31m\r\nFORGED\tline\u2028FORGED\u2029FORGED\u0085FORGED\u009b1m\u202eFORGED\u2066\x7f\x07"

// poison puts hostile into each text of a value, at any depth, and into each JSON value. Values of a closed
// set, such as states, stay unchanged.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostile)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			text, _ := json.Marshal(map[string]string{"value": hostile, "by": hostile})
			v.SetBytes([]byte(strings.ReplaceAll(string(text), `\u2028`, "\u2028")))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		poison(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	}
}

// No text command prints a control character or a whole line that services or people have written into an
// order.
func TestHostileTextsArePrintedHarmlessly(t *testing.T) {
	b := newBackend(noon)
	c := call{server: serve(t, b).URL}
	ends := map[core.State]core.State{
		core.Error: core.Failed, core.Closed: core.Failed, core.Processed: core.Processed,
		core.Compensated: core.Compensated,
	}
	for end, state := range ends {
		var task protocol.Task
		poison(reflect.ValueOf(&task).Elem())
		task.OrderID = "o-" +
			strings.ToLower(string(end))
		task.Workflow = "order"
		task.Definition = ""
		task.ReplyTo = ""
		task.Priority = ""
		task.ProcessState = end
		task.Phase = core.Forward
		task.Parent = nil
		task.Unknown = nil
		task.Created = core.TimeOf(b.now)
		task.End.At = core.TimeOf(b.now)
		s := task.Steps[0]
		s.Name = "charge"
		s.State = state
		s.Children = nil
		s.Unknown = nil
		s.First.Nth = 1
		s.Attempt = 1
		answered := s
		answered.Name = "bought"
		answered.State = core.Processed
		s.Answers = nil
		task.Steps = []protocol.Step{s, answered}
		task.Reason.Step = "charge"
		task.Attempts.Last[0].Step = "charge"
		task.Attempts.Last[0].Outcome = core.OutcomeFailed
		b.Put(&task)
		for _, command := range [][]string{{"show"}, {"show", "--messages"}, {"watch"}, {"undo", "--yes"}} {
			c.printsHarmlessly(t, append(command, task.OrderID)...)
		}
		c.printsHarmlessly(t, "show", "--output", "json", task.OrderID)
	}
	c.printsHarmlessly(t, "list")
	c.printsHarmlessly(t, "list", "--output", "json")
	b.refuse = hostile
	for _, command := range [][]string{{"cancel", "o-error"}, {"close", "o-error", "--yes", "--reason", "no"}} {
		c.printsHarmlessly(t, command...)
	}
}

func (c call) printsHarmlessly(t *testing.T, command ...string) {
	t.Helper()
	r := c.run(t, command...)
	all := r.out + r.err
	require.False(t, strings.ContainsFunc(strings.ReplaceAll(all, "\n", ""), core.Unprintable))
	require.NotContains(t, all, "\nFORGED")
	if command[0] == "show" && slices.Contains(command, "json") {
		// JSON is read as what it was.
		require.Contains(t, all, `\u202eFORGED\u2066\u007f`)
	} else if command[0] == "show" {
		require.Contains(t, all, `x\x1b[31m\r\nFORGED\tline\u2028`)
	}
}
