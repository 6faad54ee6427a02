package simulate

import (
	"fmt"
	"regexp"
	"slices"
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

// aboutOrder returns the ID of the order that a message to an actor concerns, or "" for any other message.
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
	}
	return ""
}

// stepOf returns the step that an event names, or "" if the event names no step.
func stepOf(ev core.Event) string {
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
		return fmt.Sprintf("%s %s of %s, attempt %d: %s", v.Operation, v.Step, v.OrderID, v.Attempt, v.Outcome)
	case *message.Control:
		switch e := v.Event.(type) {
		case core.AskChild:
			return fmt.Sprintf("%s %s", e.Ask, e.OrderID)
		case core.ChildEnded:
			return fmt.Sprintf("%s is %s", e.Parent.ChildID(), e.State)
		}
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", v.Kind(), v.OrderID, stepOf(v.Event)))
	case *message.Status:
		return fmt.Sprintf("status %d of %s: %s", v.Seq, v.OrderID, v.Kind)
	}
	return "something unreadable"
}

// summary returns a description of a task in one line.
func summary(t *protocol.Task) string {
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

// maxLines is the largest number of lines of a story in a diagram. A longer story is cut at its beginning.
const maxLines = 120

// Diagram draws a story as a Mermaid sequence diagram.
func Diagram(story []Line) string {
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	from := max(0, len(story)-maxLines)
	var who []string
	meet := func(name string) {
		if name != "" && !slices.Contains(who, name) {
			who = append(who, name)
			fmt.Fprintf(&b, "    participant %s\n", name)
		}
	}
	for _, l := range story[from:] {
		meet(l.From)
		meet(l.To)
	}
	if from > 0 {
		fmt.Fprintf(&b, "    Note over %s: %d earlier events are left out\n", who[0], from)
	}
	for _, l := range story[from:] {
		text := strings.NewReplacer(";", ",", "#", "no. ", "\n", " ").Replace(l.Text)
		if l.To == "" {
			fmt.Fprintf(&b, "    Note over %s: %s %s\n", l.From, Seconds(l.At), text)
			continue
		}
		fmt.Fprintf(&b, "    %s->>%s: %s\n", l.From, l.To, text)
	}
	return b.String()
}

// About returns the lines of a story that concern the order of the violation. It also returns the lines that
// name no order. If the violation names no order, About returns all lines.
func About(story []Line, v *Violation) []Line {
	id := orderName.FindString(v.Text)
	if id == "" {
		return story
	}
	var kept []Line
	for _, l := range story {
		if other := orderName.FindString(l.Text); other == "" || other == id {
			kept = append(kept, l)
		}
	}
	return kept
}

var orderName = regexp.MustCompile(`\bo[0-9]+\b`)
