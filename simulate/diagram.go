package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

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
			fmt.Fprintf(&b, "    Note over %s: %s %s\n", l.From, world.Seconds(l.At), text)
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
