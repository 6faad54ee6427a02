package workflow

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Graph draws a definition as a Mermaid flowchart.
//
//   - A solid arrow is a dependency. Its label is the condition of the later step.
//   - A dotted arrow leads to the operation that undoes a step.
//   - A thick border marks a point of no return.
//   - A box with steps is a block.
func Graph(d *core.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\n---\nflowchart TD\n", d.Name)
	b.WriteString("  submitted([submitted])\n")
	needed := map[string]bool{}
	for i := range d.Steps {
		for _, before := range append(d.Steps[i].After, d.Steps[i].Servants()...) {
			needed[before] = true
		}
	}
	graphSteps(&b, "s_", d)
	b.WriteString("  completed([completed])\n")
	for i := range d.Steps {
		graphArrows(&b, "s_", []string{"submitted"}, &d.Steps[i])
	}
	for i := range d.Steps {
		if !needed[d.Steps[i].Name] {
			fmt.Fprintf(&b, "  %s --> completed\n", node("s_", d.Steps[i].Name))
		}
	}
	b.WriteString("  classDef undo stroke-dasharray: 4 3\n")
	b.WriteString("  classDef noReturn stroke-width: 4px\n")
	return b.String()
}

// node returns the Mermaid identifier of a step. The prefix is necessary because Mermaid reserves words like
// "end", and because the step of a block can have the name of another step.
func node(prefix, step string) string { return prefix + strings.ReplaceAll(step, "-", "_") }

func graphSteps(b *strings.Builder, prefix string, d *core.Definition) {
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Each == nil || s.Each.Child == nil || !s.Each.Block() {
			graphStep(b, prefix, s)
			continue
		}
		id := node(prefix, s.Name)
		fmt.Fprintf(b, "  subgraph %s[\"%s\"]\n", id, "<b>"+s.Name+"</b><br>"+drawingOf(s).label)
		inner := id + "_B_"
		graphSteps(b, inner, s.Each.Child)
		for k := range s.Each.Child.Steps {
			graphArrows(b, inner, nil, &s.Each.Child.Steps[k])
		}
		b.WriteString("  end\n")
		if s.PointOfNoReturn {
			fmt.Fprintf(b, "  class %s noReturn\n", id)
		}
	}
}

func graphStep(b *strings.Builder, prefix string, s *core.StepDefinition) {
	d := drawingOf(s)
	end := "\n"
	if s.PointOfNoReturn {
		end = ":::noReturn\n"
	}
	fmt.Fprintf(b, "  %s"+d.box+end, node(prefix, s.Name), "<b>"+s.Name+"</b><br>"+d.label+timesOf(s))
	if s.Undo != nil && !s.PointOfNoReturn {
		fmt.Fprintf(b, "  %s_UNDO[/\"%s: %s\"/]:::undo\n", node(prefix, s.Name),
			escape(strings.Join(s.AllAgents(), " or ")), escape(s.Undo.Operation))
	}
}

// drawing describes the node of a step. box is the Mermaid syntax of the node, and label is its text.
type drawing struct{ label, box string }

func drawingOf(s *core.StepDefinition) drawing {
	switch {
	case s.Wait != nil:
		return drawing{escape("waits " + waitText(s)), `{{"%s"}}`}
	case s.Answer != nil:
		return drawing{escape(answerText(s)), `{{"%s"}}`}
	case s.Fail != nil:
		return drawing{escape("fails: "+s.Fail.Code) + stops(s), `>"%s"]`}
	case s.Each != nil:
		return drawing{escape(childText(s)) + stops(s), `[/"%s"\]`}
	case s.Any != nil:
		text := fmt.Sprintf("the first %d of %d", s.Any.Enough, len(s.Any.Members))
		if s.Any.Enough == 1 {
			text = "the first decides"
		}
		return drawing{text + stops(s), `(("%s"))`}
	}
	label := escape(strings.Join(s.AllAgents(), " or ")+": "+s.Operation) + stops(s)
	if !s.PointOfNoReturn {
		return drawing{label, `["%s"]`}
	}
	if s.OnFailure == core.OnFailureUndo {
		label += "<br>undoes the order if it is refused"
	}
	return drawing{label + "<br>point of no return", `[["%s"]]`}
}

func stops(s *core.StepDefinition) string {
	switch s.OnFailure {
	case core.OnFailureStop:
		return "<br>stops for the operator"
	case core.OnFailureContinue:
		return "<br>goes on without it if it fails"
	}
	return ""
}

// timesOf describes the deadline and the reminders of a step.
func timesOf(s *core.StepDefinition) (text string) {
	switch {
	case s.Deadline > 0:
		text = "<br>late after " + Short(s.Deadline)
	case s.DeadlineAt != nil:
		text = "<br>late at " + escape(strings.Trim(string(s.DeadlineAt), `"`))
	}
	if s.HasDeadline() {
		text += map[core.Policy]string{
			core.OnFailureUndo: ", then undoes the order", core.OnFailureStop: ", then stops for the operator",
			core.OnFailureContinue: ", then goes on without it",
		}[s.OnDeadline]
	}
	m := s.Remind
	if m == nil {
		return text
	}
	text += "<br>reminds after " + Short(m.After)
	if m.Every > 0 {
		text += ", then every " + Short(m.Every)
	}
	if m.Every > 0 && m.AtMost > 0 {
		text += fmt.Sprintf(", at most %d times", m.AtMost)
	}
	return text
}

func childText(s *core.StepDefinition) string {
	text := "workflow " + s.Each.Workflow
	if s.Each.Block() {
		text = "a block"
	}
	if r := s.Each.Repeat; r != nil {
		return fmt.Sprintf("%s, again until %s, at most %d times", text, r.Until, r.AtMost)
	}
	if s.Input == nil {
		return text
	}
	text += " for each of " + strings.Trim(string(s.Input), `"`)
	if s.Each.Enough != nil {
		text += ", the first " + strings.Trim(string(s.Each.Enough), `"`) + " are enough"
	}
	if s.Each.Tolerate > 0 {
		text += fmt.Sprintf(", %d may fail", s.Each.Tolerate)
	}
	return text
}

func waitText(s *core.StepDefinition) string {
	text := "for " + Short(s.Wait.For)
	if s.Input != nil {
		text = "until " + strings.Trim(string(s.Input), `"`)
	}
	if s.Wait.Spread > 0 {
		text += ", and up to " + Short(s.Wait.Spread) + " more"
	}
	return text
}

func answerText(s *core.StepDefinition) string {
	a := s.Answer
	text := "asks for " + strings.Join(a.Values, " or ")
	if a.Event != "" {
		text = "waits for the event " + a.Event
	}
	if s.Timeout > 0 {
		text += " for " + Short(s.Timeout)
	}
	if a.Attempts > 1 {
		text += fmt.Sprintf(", at most %d times", a.Attempts)
	}
	if a.TimeoutValue != nil {
		return text + ", then takes " + string(a.TimeoutValue)
	}
	return text + ", then " + map[core.Policy]string{
		core.OnFailureUndo: "undoes the order",
		core.OnFailureStop: "stops for the operator",
	}[a.OnTimeout]
}

// graphArrows draws the arrows to a step. If it has no predecessors, they come from the nodes in before.
func graphArrows(b *strings.Builder, prefix string, before []string, s *core.StepDefinition) {
	if len(s.After) > 0 {
		before = nil
		for _, name := range s.After {
			before = append(before, node(prefix, name))
		}
	}
	arrow := "-->"
	if s.When != "" {
		arrow = fmt.Sprintf("-->|\"if %s\"|", escape(s.When))
	}
	// The members come first. They have the predecessors of the step.
	if s.Any != nil {
		before = nil
		for _, name := range s.Servants() {
			before = append(before, node(prefix, name))
		}
	}
	// The step that asks comes first. It has the predecessors and the condition of the waiting step.
	if s.Answer != nil && s.Answer.Ask != "" {
		before = []string{node(prefix, s.Answer.Ask)}
		arrow = "-->"
	}
	for _, from := range before {
		fmt.Fprintf(b, "  %s %s %s\n", from, arrow, node(prefix, s.Name))
	}
	if s.Undo != nil && !s.PointOfNoReturn {
		fmt.Fprintf(b, "  %s -.->|undo| %s_UNDO\n", node(prefix, s.Name), node(prefix, s.Name))
	}
}

func escape(text string) string {
	return strings.NewReplacer(
		"&", "#amp;", "\"", "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "\n", " ", "|", "#124;", ";",
		"#59;", "`", "#96;",
	).Replace(text)
}

// Short formats a duration in the notation of workflow files, such as 1h30m or 2d.
func Short(d core.Duration) string {
	if d >= core.Day && d%core.Day == 0 {
		return fmt.Sprintf("%dd", d/core.Day)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
