package world

import (
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Seconds converts milliseconds to a time.Duration.
func Seconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// Line is one event of a run as text.
type Line struct {
	At   int64  `json:"at"` // milliseconds since the start of the run
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	Text string `json:"text"`
}

// String returns the line together with its time.
func (l Line) String() string {
	to := ""
	if l.To != "" {
		to = " -> " + l.To
	}
	return fmt.Sprintf("%10s  %s%s: %s", Seconds(l.At), l.From, to, l.Text)
}

// Trace adds a line to the story if Tracing is set.
func (w *Simulation) Trace(from, to, text string) {
	if w.Tracing {
		w.Story = append(w.Story, Line{w.Now, from, to, text})
	}
}

// AboutOrder returns the ID of the order that a message to an actor concerns, or "" for any other message.
func AboutOrder(m port.Message) string {
	switch v := m.Value.(type) {
	case *message.SubmitOrder:
		return v.OrderID
	case *message.Request:
		return v.OrderID
	case *message.Reply:
		return v.OrderID
	case *message.Control:
		return v.OrderID
	}
	return ""
}

// StepOf returns the step that an event names, or "" if the event names no step.
func StepOf(ev core.Event) string {
	switch e := ev.(type) {
	case core.Wake:
		return e.Step
	case core.Command:
		return e.Step
	case core.Answered:
		return e.Step
	}
	return ""
}

// Describe returns a short description of a message.
func Describe(m port.Message) string {
	switch v := m.Value.(type) {
	case *message.SubmitOrder:
		return "order " + v.OrderID
	case *message.Request:
		return fmt.Sprintf("%s %s of %s, attempt %d", v.Operation, v.Step, v.OrderID, v.Attempt)
	case *message.Reply:
		return fmt.Sprintf("%s %s of %s, attempt %d: %s", v.Operation, v.Step, v.OrderID, v.Attempt,
			v.Outcome)
	case *message.Control:
		switch e := v.Event.(type) {
		case core.AskChild:
			return fmt.Sprintf("%s %s", e.Ask, e.OrderID)
		case core.ChildEnded:
			return fmt.Sprintf("%s is %s", e.Parent.ChildID(), e.State)
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Kind(), v.OrderID, StepOf(v.Event)))
	case *message.Status:
		return fmt.Sprintf("status %d of %s: %s", v.Seq, v.OrderID, v.Kind)
	}
	return "something unreadable"
}

// Summary returns a description of a task in one line.
func Summary(t *protocol.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s v%d: %s", t.OrderID, t.Version, t.ProcessState)
	if t.Phase != "" {
		fmt.Fprintf(&b, " (%s)", t.Phase)
	}
	for i := range t.Steps {
		fmt.Fprintf(&b, ", %s %s/%d", t.Steps[i].Name, t.Steps[i].State, t.Steps[i].Attempt)
	}
	return b.String()
}
