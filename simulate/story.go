package simulate

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Line is one thing that happened, for people.
type Line struct {
	At   int64  `json:"at"` // milliseconds since the start
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	Text string `json:"text"`
}

func (l Line) String() string {
	to := ""
	if l.To != "" {
		to = " -> " + l.To
	}
	return fmt.Sprintf("%10s  %s%s: %s", seconds(l.At), l.From, to, l.Text)
}

// trace adds a line to the story.
func (w *simulation) trace(from, to, text string) {
	if w.tracing {
		w.story = append(w.story, Line{w.now, from, to, text})
	}
}

// aboutOrder is the order that a message is about, "" where that is not known.
func aboutOrder(m port.Message) string {
	switch v := m.Value.(type) {
	case *message.SubmitOrder:
		return v.OrderID
	case *message.Request:
		return v.OrderID
	case *message.Reply:
		return v.OrderID
	case *message.Control:
		return v.OrderID
	case *message.Child:
		if v.Ended != nil {
			return v.Ended.Parent.OrderID
		}
		return v.Ask.OrderID
	}
	return ""
}

// describe says in a few words what a message is.
func describe(m port.Message) string {
	switch v := m.Value.(type) {
	case *message.SubmitOrder:
		return "order " + v.OrderID
	case *message.Request:
		return fmt.Sprintf("%s %s of %s, attempt %d", v.Operation, v.Step, v.OrderID, v.Attempt)
	case *message.Reply:
		return fmt.Sprintf("%s %s of %s, attempt %d: %s", v.Operation, v.Step, v.OrderID, v.Attempt,
			v.Outcome)
	case *message.Control:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Kind, v.OrderID, v.Step))
	case *message.Child:
		if v.Ended != nil {
			return fmt.Sprintf("%s is %s", v.Ended.Parent.ChildID(), v.Ended.State)
		}
		return fmt.Sprintf("%s %s", v.Ask.Ask, v.Ask.OrderID)
	case *message.Status:
		return fmt.Sprintf("status %d of %s: %s", v.Seq, v.OrderID, v.Kind)
	}
	return "something unreadable"
}

// summary is a task in one line.
func summary(t *core.Task) string {
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

// possible reports that an act can happen at that call in this world.
func (w *simulation) possible(r role, c call, a act) bool { return w.impossible(r, c, a) == "" }

// impossible says why an act cannot happen at that call in this world, "" where it can.
func (w *simulation) impossible(r role, c call, a act) string {
	switch _, isCompute := find(compute, a); {
	case a.fault == KeyForgotten && !w.forgets():
		return "no service of this scenario may forget a key: none declares a keyRetention"
	case a.fault == ItemTooLarge && c == callSend && r != aScheduler:
		return "what the " + roleNames[r] + " sends is small, or was cut before"
	case r == aClient && c == callMessage:
		return ""
	case isCompute && r == aClient:
		return "the application is its owner's, and no part of the protocol"
	case w.embedded && (a.fault == Redriven || a.fault == Retention) && c == callMessage:
		return "the queues of one process die with it: nothing is redriven, and nothing expires, days later"
	}
	return ""
}

// forgets: is there a service that may forget keys?
func (w *simulation) forgets() bool {
	for name, a := range w.def.Agents {
		if a.KeyRetention > 0 || w.sc.Services[name].Forgets > 0 {
			return true
		}
	}
	return false
}
