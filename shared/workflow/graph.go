package workflow

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Graph draws a definition as a Mermaid flowchart: solid arrows are dependencies, labelled with the
// condition of the step they lead to; dotted arrows lead to the operation that undoes a step; the
// point of no return stands in a thick box.
func Graph(d *core.Definition) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: %s\n---\nflowchart TD\n", d.Name)
	b.WriteString("  submitted([submitted])\n")
	needed := map[string]bool{}
	for i := range d.Steps {
		for _, before := range d.Steps[i].After {
			needed[before] = true
		}
	}
	for i := range d.Steps {
		graphStep(&b, &d.Steps[i])
	}
	b.WriteString("  completed([completed])\n")
	for i := range d.Steps {
		graphArrows(&b, &d.Steps[i])
	}
	for i := range d.Steps {
		if !needed[d.Steps[i].Name] {
			fmt.Fprintf(&b, "  %s --> completed\n", node(d.Steps[i].Name))
		}
	}
	b.WriteString("  classDef undo stroke-dasharray: 4 3\n")
	b.WriteString("  classDef noReturn stroke-width: 4px\n")
	return b.String()
}

// node gives a step an identifier of its own, because Mermaid reserves words like "end".
func node(step string) string { return "s_" + strings.ReplaceAll(step, "-", "_") }

func graphStep(b *strings.Builder, s *core.StepDefinition) {
	label := fmt.Sprintf("<b>%s</b><br>%s: %s", s.Name, escape(s.Agent), escape(s.Operation))
	if s.OnFailure == core.OnFailureStop {
		label += "<br>stops for the operator"
	}
	if s.PointOfNoReturn && s.OnFailure == core.OnFailureUndo {
		label += "<br>undoes the order if it is refused"
	}
	if s.PointOfNoReturn {
		fmt.Fprintf(b, "  %s[[\"%s<br>point of no return\"]]:::noReturn\n", node(s.Name), label)
		return
	}
	fmt.Fprintf(b, "  %s[\"%s\"]\n", node(s.Name), label)
	if s.Undo != nil {
		fmt.Fprintf(b, "  %s_undo[/\"%s: %s\"/]:::undo\n", node(s.Name), escape(s.Agent), escape(s.Undo.Operation))
	}
}

func graphArrows(b *strings.Builder, s *core.StepDefinition) {
	before := []string{"submitted"}
	if len(s.After) > 0 {
		before = before[:0]
		for _, name := range s.After {
			before = append(before, node(name))
		}
	}
	arrow := "-->"
	if s.When != "" {
		arrow = fmt.Sprintf("-->|\"if %s\"|", escape(s.When))
	}
	for _, from := range before {
		fmt.Fprintf(b, "  %s %s %s\n", from, arrow, node(s.Name))
	}
	if s.Undo != nil && !s.PointOfNoReturn {
		fmt.Fprintf(b, "  %s -.->|undo| %s_undo\n", node(s.Name), node(s.Name))
	}
}

// escape writes text so that Mermaid shows it as it is.
func escape(text string) string {
	return strings.NewReplacer(
		"&", "#amp;", "\"", "#quot;", "<", "#lt;", ">", "#gt;", "#", "#35;", "\n", " ", "|", "#124;", ";", "#59;", "`", "#96;",
	).Replace(text)
}
