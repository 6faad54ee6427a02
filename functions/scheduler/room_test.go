package scheduler_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// wide returns a workflow of n steps of one agent, in sequence or parallel, whose inputs read no outputs.
func wide(n int, inARow bool) *core.Definition {
	def := actorstest.Definition()
	like := def.Steps[0]
	def.Steps = nil
	def.Output = nil
	def.HopBudget = 10 * n
	like.Input = nil
	like.Retry.MaxFailures = 1
	for i := range n {
		s := like
		s.Name = fmt.Sprintf("step-%d", i)
		if inARow && i > 0 {
			s.After = []string{def.Steps[i-1].Name}
		}
		def.Steps = append(def.Steps, s)
	}
	return def
}

// P28, P24: whatever the outputs, every order ends, its end is reported, and it answers commands. The
// undo of some steps fails for good, so that the operator is alerted and takes the order up again.
func TestOrdersNearTheDocumentLimitEnd(t *testing.T) {
	for _, c := range []struct {
		name             string
		def              *core.Definition
		orders, from, to int // bytes of an output
	}{
		{"30 steps in a row, 0 to 26 KB", wide(30, true), 10, 0, 26_000},
		{"200 steps at once, 1,700 to 1,850 bytes", wide(200, false), 1, 1700, 1850},
		{"502 steps at once, 800 bytes", wide(502, false), 1, 800, 800},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && len(c.def.Steps) > 30 {
				t.Skip("large documents take minutes with the race detector")
			}
			w := actorstest.New(t, c.def).Boot()
			draw := rand.New(rand.NewPCG(1, 2))
			refuses := map[string]bool{}
			w.Script = func(r *message.Request) *message.Reply {
				if r.Operation == core.UndoOp {
					if _, known := refuses[r.OrderID+r.Step]; !known {
						refuses[r.OrderID+r.Step] = draw.IntN(60) == 0
					}
					if refuses[r.OrderID+r.Step] {
						f := actorstest.Failed(r, "refused")
						f.Error.Message = strings.Repeat("\x01", core.MaxMessage)
						return f
					}
					return actorstest.Done(r)
				}
				d := actorstest.Done(r)
				d.Output = json.RawMessage(`"` + strings.Repeat("x", c.from+draw.IntN(c.to-c.from+1)) + `"`)
				return d
			}
			ids := make([]string, c.orders)
			for i := range ids {
				ids[i] = fmt.Sprintf("o-%d", i)
				w.Send(port.Intake, actorstest.Order(ids[i]))
			}
			limited := 0
			settle(t, w, ids)
			for _, id := range ids {
				limited += endsWhole(t, w, id, refuses)
			}
			require.NotZero(t, limited, "no order met the limit; the test shows nothing")
		})
	}
}

// settle runs the world until all orders are at rest.
func settle(t *testing.T, w *actorstest.World, ids []string) {
	t.Helper()
	for range 1500 {
		w.Round()
		w.Clock.Advance(5 * time.Second)
		resting := true
		for _, id := range ids {
			task := w.Task(id)
			resting = resting && task != nil && task.AtRest()
		}
		if resting {
			return
		}
	}
	for _, id := range ids {
		task := w.Task(id)
		require.NotNil(t, task, id)
		require.True(t, task.AtRest(), id)
	}
}

// endsWhole checks that the order, at rest, was reported, and is undone after the operator has repaired its
// services. It returns 1 if the order reached the limit.
func endsWhole(t *testing.T, w *actorstest.World, id string, refuses map[string]bool) (limited int) {
	t.Helper()
	task := w.Task(id)
	for i := range task.Steps {
		if e := task.Steps[i].Error; e != nil && e.Code == "output-too-large" {
			limited = 1
		}
	}
	require.NotEmpty(t, w.FinalStatus(id))
	for n := 0; task.ProcessState == core.Error; n++ {
		require.LessOrEqual(t, n, 600)
		alerted := false
		for _, a := range w.Alerts {
			alerted = alerted || a.OrderID == id && a.Command == task.End.Command
		}
		require.True(t, alerted)
		require.NotEmpty(t, task.Reason.Text)
		refuses[id+task.Reason.Step] = false
		// a refusal is stored too, and raises the number
		right := task.Commands.Number + 6
		for _, number := range []int{right - 1, right} {
			v, err := w.Scheduler.Command(ctx, message.Control{
				OrderID: id,
				Event:   core.Command{Name: core.Resubmit, ID: fmt.Sprintf("c-%d-%d", n, number), Number: number},
			})
			require.NoError(t, err)
			require.Equal(t, number == right, v.Accepted)
		}
		settle(t, w, []string{id})
		task = w.Task(id)
	}
	if limited == 1 && task.ProcessState != core.Compensated {
		t.Errorf("%s ended %s, and an output had not fitted", id, task.ProcessState)
	}
	v, err := w.Scheduler.Command(ctx, message.Control{
		OrderID: id,
		Event:   core.Command{Name: core.Cancel, ID: "c-last", Run: task.Run},
	})
	require.NoError(t, err)
	require.Equal(t, task.ProcessState == core.Compensated, v.Accepted)
	return limited
}
