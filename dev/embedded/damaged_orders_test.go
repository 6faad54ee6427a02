package embedded_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// damages are changes of a stored order after which no program can decide about it. Each names the columns of
// the row that it needs.
var damages = map[string]string{
	"no JSON":                   "document = x'7b'",
	"another version":           "version = version + 1",
	"a number out of range":     `document = CAST(replace(document, '"Version":', '"Version":99999999999999999999') AS BLOB), version = version + 7`,
	"no UTF-8":                  "document = CAST(CAST(document AS BLOB) || x'ff' AS BLOB)",
	"a step of no definition":   `document = CAST(replace(document, '"name":"second"', '"name":"sekond"') AS BLOB)`,
	"half of a surrogate pair":  `document = CAST(replace(document, '"OrderID"', '"x":"\ud83d","OrderID"') AS BLOB)`,
	"a bit that nobody notices": `document = CAST(replace(document, '"Created":"2', '"Created":"3') AS BLOB)`,
	"the document of no order":  "document = x'7b7d'",
	"a definition that is lost": `document = CAST(replace(document, '"Definition":"', '"Definition":"f') AS BLOB)`,
}

// A damaged order becomes an incident with one alert. Readiness and listings name it, its parent learns it, and
// it accepts a close, after which its ID never runs again, and an erasure (P60, a damaged order is set aside).
func TestADamagedOrderIsSetAside(t *testing.T) {
	for name, set := range damages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := parentFixture(t)
				w.shop.hang.Store(true)
				log := w.logs()
				s := w.open()
				submitParent(t, s, "p", 2)
				submit(t, s, "solo", "")
				eventually(t, "the children run", func() bool {
					_, _, err := s.Task(t.Context(), "p~all~1")
					return err == nil
				})
				closeRuntime(t, s)
				for _, id := range []string{"p~all~0", "solo"} {
					w.execute("UPDATE orders SET "+set+" WHERE id = ?", id)
				}
				w.shop.hang.Store(false)
				s = w.open()
				defer func() { closeRuntime(t, s) }()

				w.isReported(s, log)
				w.takesNothingButClose(s)
				w.isClosed(s)
				for range 2 { // also after a restart
					r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "solo", "")})[0]
					require.True(t, r.Known && r.State == core.Closed, "%+v", r)
					closeRuntime(t, s)
					s = w.open()
				}
				require.Empty(t, s.Health(t.Context()).Checks[view.CheckDamaged])
				require.Equal(t, 0, log.count("left for the next sweep"))
			})
		})
	}
}

func (w *fixture) isReported(s *embedded.Runtime, log *logged) {
	t := w.t
	t.Helper()
	eventually(t, "the alert", func() bool { return log.count("cannot be read since") > 0 })
	eventually(t, "the check", func() bool {
		text := s.Health(t.Context()).Checks[view.CheckDamaged]
		return strings.Contains(text, "p~all~0") && strings.Contains(text, "solo")
	})
	require.True(t, s.Health(t.Context()).Ready)
	eventually(t, "the parent knows it", func() bool {
		p, _, err := s.Task(t.Context(), "p")
		require.NoError(t, err)
		c := p.Steps[0].Children
		return c != nil && slices.ContainsFunc(c.Open, func(o protocol.OpenChild) bool {
			return o.Index == 0 && o.State == string(core.ChildError)
		})
	})
	eventually(t, "the metric", func() bool {
		return strings.Contains(scraped(s), `stepkeeper_orders_in_error{workflow="pair"} 2`)
	})
	listed, _, err := s.List(t.Context(), port.Query{Damaged: true, Limit: 10})
	require.NoError(t, err)
	require.Len(t, listed, 2)
	require.NotEmpty(t, listed[0].Damaged)
	for _, id := range []string{"p~all~0", "solo"} {
		task, def, err := s.Task(t.Context(), id)
		require.NoError(t, err)
		shown := view.Detailed(task, def, nil, time.Now())
		require.NotEmpty(t, shown.Damaged)
		require.Equal(t, core.Processing, shown.State)
		require.Equal(t, []view.Command{{Command: "close"}}, shown.Accepts)
	}
	require.Equal(t, 1, log.count("cannot be read since"), "one alert for the workflow")
}

func (w *fixture) takesNothingButClose(s *embedded.Runtime) {
	t := w.t
	t.Helper()
	task, _, err := s.Task(t.Context(), "solo")
	require.NoError(t, err)
	n := task.Commands.Number
	by := core.Sender{By: "ann", Reason: "test"}
	for i, ev := range []core.Event{
		core.Command{Name: core.Cancel, ID: "1"},
		core.Command{Name: core.UndoCommand, ID: "2", Number: n},
		core.Command{Name: core.Resubmit, ID: "3", Number: n},
		core.Command{Name: core.Move, ID: "4", Number: n, Definition: message.Latest},
		core.Command{Name: core.Resolve, ID: "5", Number: n, Step: "first", Fact: core.Happened},
		core.Command{Name: core.Erase, ID: "6", Number: n, Sender: by},
		core.Command{Name: core.Close, ID: "7", Number: n + 1, Sender: by},
	} {
		_, err := s.Command(t.Context(), message.Control{OrderID: "solo", Event: ev})
		var refused *core.Refusal
		require.ErrorAs(t, err, &refused, "%+v", i)
		require.Equal(t, core.CodeDamaged, refused.Code, "%+v", i)
	}
	other := order(t, "solo", "")
	other.Order = []byte(`{"n":2}`)
	require.Error(t, s.Submit(t.Context(), []message.SubmitOrder{other})[0].Err)
	r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "solo", "")})[0]
	require.True(t, r.Known, "%+v", r)
}

func (w *fixture) isClosed(s *embedded.Runtime) {
	t := w.t
	t.Helper()
	by := core.Sender{By: "ann", Reason: "the backup is gone"}
	control, err := s.Queue(port.Control) // a queue, as on AWS
	require.NoError(t, err)
	for _, id := range []string{"solo", "p~all~0"} {
		task, _, err := s.Task(t.Context(), id)
		require.NoError(t, err)
		require.NoError(t, control.Send(t.Context(), []port.Message{{Value: &message.Control{
			OrderID: id,
			Event:   core.Command{Name: core.Close, ID: "c", Number: task.Commands.Number, Sender: by},
		}}})[0])
		eventually(t, "it is closed", func() bool {
			task, _, err := s.Task(t.Context(), id)
			require.NoError(t, err)
			return task.ProcessState == core.Closed && task.Damaged == "" && task.AtRest()
		})
	}
	eventually(t, "the parent goes on, and stops at the child that cannot be undone", func() bool {
		p, _, err := s.Task(t.Context(), "p")
		require.NoError(t, err)
		return p.ProcessState == core.Error && strings.Contains(p.Reason.Text, "p~all~0")
	})
	task, _, err := s.Task(t.Context(), "solo")
	require.NoError(t, err)
	accepted(t, s, "solo", core.Command{Name: core.Erase, ID: "e", Number: task.Commands.Number, Sender: by})
	require.Empty(t, s.Health(t.Context()).Checks[view.CheckDamaged])
}
