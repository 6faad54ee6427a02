package streams

import (
	"github.com/fatih/color"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Style paints text; without colours it leaves it as it is.
type Style struct{ on bool }

// Style returns the style of the output.
func (s *Streams) Style() Style { return Style{on: s.colour} }

func (p Style) paint(text string, attributes ...color.Attribute) string {
	if !p.on || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor() // the library's own guess looks at the process, not at these streams
	return c.Sprint(text)
}

// Good paints what went well.
func (p Style) Good(text string) string { return p.paint(text, color.FgGreen) }

// Bad paints what needs a person.
func (p Style) Bad(text string) string { return p.paint(text, color.FgRed, color.Bold) }

// Warn paints what is not as planned, but is being taken care of.
func (p Style) Warn(text string) string { return p.paint(text, color.FgYellow) }

// Busy paints what is going on.
func (p Style) Busy(text string) string { return p.paint(text, color.FgCyan) }

// Faint paints what matters less.
func (p Style) Faint(text string) string { return p.paint(text, color.Faint) }

// Bold paints what matters most.
func (p Style) Bold(text string) string { return p.paint(text, color.Bold) }

// State paints a text by the state that it names.
func (p Style) State(state core.State, text string) string {
	switch state {
	case core.Processed:
		return p.Good(text)
	case core.Error, core.Failed:
		return p.Bad(text)
	case core.Compensating, core.UndoWait, core.Compensated, core.Cancelled, core.Closed:
		return p.Warn(text)
	case core.Processing:
		return p.Busy(text)
	}
	return p.Faint(text)
}
