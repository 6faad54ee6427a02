package streams

import (
	"github.com/fatih/color"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Style colours text, and knows the width of the screen. If colours are off, it leaves the text unchanged.
type Style struct {
	on    bool
	width int
}

// Style returns the style for standard output.
func (s *Streams) Style() Style {
	if !s.outTerminal {
		return Style{on: s.colour}
	}
	return Style{on: s.colour, width: s.Width()}
}

// Width returns the number of columns of the screen; 0 means that there is no limit, as in a file.
func (p Style) Width() int { return p.width }

func (p Style) paint(text string, attributes ...color.Attribute) string {
	if !p.on || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor() // The library decides by os.Stdout, which may differ from these streams.
	return c.Sprint(text)
}

// Good colours a success.
func (p Style) Good(text string) string { return p.paint(text, color.FgGreen) }

// Bad colours a problem that needs a person.
func (p Style) Bad(text string) string { return p.paint(text, color.FgRed, color.Bold) }

// Warn colours a problem that is being handled.
func (p Style) Warn(text string) string { return p.paint(text, color.FgYellow) }

// Busy colours an activity.
func (p Style) Busy(text string) string { return p.paint(text, color.FgCyan) }

// Faint fades minor text.
func (p Style) Faint(text string) string { return p.paint(text, color.Faint) }

// Bold emphasises important text.
func (p Style) Bold(text string) string { return p.paint(text, color.Bold) }

// State colours text with the colour of a state.
func (p Style) State(state core.State, text string) string {
	switch state {
	case core.Processed:
		return p.Good(text)
	case core.Error, core.Failed:
		return p.Bad(text)
	case core.Compensating, core.UndoWait, core.Compensated, core.Cancelled, core.Closed:
		return p.Warn(text)
	case core.Processing, core.Settling:
		return p.Busy(text)
	}
	return p.Faint(text)
}
