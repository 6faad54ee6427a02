package workflowtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

type moment struct {
	at   time.Time
	text string
}

type alerts struct{ w *Workflow }

func (a alerts) Raise(_ context.Context, x core.RaiseAlert) error {
	r := a.w.run(x.OrderID)
	r.alerts = append(r.alerts, x)
	r.note("ALERT to the operator: %s", joined(x.Step, x.Code, x.Message))
	return nil
}

func (w *Workflow) committed(c state.Change) {
	t := c.Task
	r := w.run(t.OrderID)
	old := r.task
	r.task = t
	if old == nil {
		r.note("submitted")
		old = &protocol.Task{ProcessState: core.Processing}
	}
	if old.Run != t.Run {
		r.path = nil
		r.undone = nil
		r.note("started again from the beginning, run %d", t.Run)
	}
	for _, begun := range []bool{false, true} { // ended steps first, because their ends cause claims
		for i := range t.Steps {
			var was protocol.Step
			if s := old.Step(t.Steps[i].Name); s != nil { // A Move may have changed the position of the step.
				was = *s
			}
			if now := &t.Steps[i]; now.InFlight() == begun {
				r.stepped(&was, now)
			}
		}
	}
	if old.ProcessState != t.ProcessState {
		why := ""
		if t.Reason.Text != "" {
			why = ": " + joined(t.Reason.Step, t.Reason.Code, t.Reason.Text)
		}
		r.note("task %s%s", t.ProcessState, why)
	}
}

func (r *Run) stepped(was, now *protocol.Step) {
	if was.State == now.State && was.Attempt == now.Attempt {
		return
	}
	switch now.State {
	case core.Processed:
		r.path = append(r.path, now.Name)
	case core.Compensated:
		r.undone = append(r.undone, now.Name)
	}
	switch now.State {
	case core.Processing, core.Compensating:
		r.note("%s: %s, attempt %d", now.Name, now.State, now.Attempt)
	case core.Pending:
		if now.Attempted() {
			r.note("%s: waits for another attempt until %s, failures so far: %d", now.Name,
				r.w.since(now.Wait.At.Std()), now.Failures.Do)
		}
	case core.Waiting:
		if now.Wait.At == 0 { // its members wait
			r.note("%s: %s", now.Name, now.State)
			return
		}
		r.note("%s: waits until %s", now.Name, r.w.since(now.Wait.At.Std()))
	case core.UndoWait:
		r.note("%s: its undo waits%s", now.Name, r.w.wake(now))
	case core.Failed:
		text := ""
		if now.Error != nil {
			text = ": " + joined(now.Error.Code, now.Error.Message)
		}
		r.note("%s: %s%s", now.Name, now.State, text)
	default:
		r.note("%s: %s", now.Name, now.State)
	}
}

func (w *Workflow) wake(s *protocol.Step) string {
	if s.Wait.At == 0 {
		return " for the operator"
	}
	return " until " + w.since(s.Wait.At.Std())
}

func (r *Run) answered(reply *message.Reply) {
	text := ""
	if reply.Error != nil {
		text = ": " + joined(reply.Error.Code, reply.Error.Message)
	}
	r.note("%s: %s answers %s%s", reply.Step, reply.Agent, reply.Outcome, text)
}

func joined(parts ...string) string {
	var all []string
	for _, p := range parts {
		if p != "" {
			all = append(all, p)
		}
	}
	return strings.Join(all, ", ")
}

func (r *Run) note(format string, args ...any) {
	r.story = append(r.story, moment{r.w.clock.Now(), fmt.Sprintf(format, args...)})
}

// since returns a time as the duration since Start.
func (w *Workflow) since(at time.Time) string {
	d := at.Sub(Start)
	if d >= time.Hour {
		return "+" + d.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("+%.3fs", d.Seconds())
}

// Timeline returns the history of the order as text with one line for each event.
func (r *Run) Timeline() string {
	var b strings.Builder
	for _, m := range r.story {
		fmt.Fprintf(&b, "  %10s  %s\n", r.w.since(m.at), m.text)
	}
	return b.String()
}

func (w *Workflow) timelines() string {
	var b strings.Builder
	for _, r := range w.order {
		fmt.Fprintf(&b, "order %s:\n%s", r.id, r.Timeline())
	}
	return b.String()
}
