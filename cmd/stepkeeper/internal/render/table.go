// Package render formats data from the server as text for people.
package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Table writes a header and rows in aligned columns without borders. Tools such as cut and grep can process
// this output. No line ends with white space.
func Table(w io.Writer, style streams.Style, indent string, header []string, rows [][]string) {
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	head := make(table.Row, len(header))
	for i, h := range header {
		head[i] = style.Faint(h)
	}
	t.AppendHeader(head)
	for _, r := range rows {
		row := make(table.Row, len(r))
		for i, cell := range r {
			row[i] = cell
		}
		t.AppendRow(row)
	}
	for line := range strings.Lines(t.Render() + "\n") {
		fmt.Fprintln(w, strings.TrimRight(indent+line, " \n"))
	}
}

func plainStyle() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	s.Format.Header = text.FormatDefault
	s.Options = table.OptionsNoBordersAndSeparators
	return s
}

// States lists the states of an order.
var States = []string{
	string(core.Processing), string(core.Compensating), string(core.Processed),
	string(core.Compensated), string(core.Cancelled), string(core.Closed), string(core.Error),
}

func clock(t core.Time) string { return t.Std().Format("15:04:05.000") }

// Moment returns the date and time in UTC.
func Moment(t core.Time) string {
	if t == 0 {
		return "-"
	}
	return t.Std().Format("2006-01-02 15:04:05") + " UTC"
}

// Span returns a duration as text with at most two units.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Span(-d)
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// Age returns a text for how long ago t was, or how far ahead t is.
func Age(t core.Time, now time.Time) string {
	if t == 0 {
		return "-"
	}
	d := now.Sub(t.Std())
	if d < 0 {
		return "in " + Span(-d)
	}
	return Span(d) + " ago"
}
