// Package render formats data from the server as text for people.
package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Table writes a header and rows in aligned columns without borders. Tools such as cut and grep can process
// this output. No line ends with white space. On a screen the last column is wrapped where the screen ends.
func Table(w io.Writer, style streams.Style, indent string, header []string, rows [][]string) {
	t := table.NewWriter()
	t.SetStyle(plainStyle())
	head := make(table.Row, len(header))
	for i, h := range header {
		head[i] = style.Faint(h)
	}
	t.AppendHeader(head)
	before, _ := measure(header, rows)
	if room := style.Width() - len(indent) - before; style.Width() > 0 && room >= leastColumn {
		t.SetColumnConfigs([]table.ColumnConfig{{
			Number: len(header), WidthMax: room, WidthMaxEnforcer: text.WrapSoft,
		}})
	}
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

// leastColumn is the smallest width to which the last column of a table is wrapped. A smaller screen wraps the line.
const leastColumn = 24

// OneLine makes each row one line on a screen, and returns the header. It takes out spare columns until the last column
// has room, and shortens that column.
func OneLine(style streams.Style, header []string, rows [][]string, spare ...string) []string {
	if style.Width() == 0 {
		return header
	}
	before, last := measure(header, rows)
	for len(spare) > 0 && style.Width()-before < min(last, leastColumn) {
		header = without(header, rows, spare[0])
		spare = spare[1:]
		before, last = measure(header, rows)
	}
	for _, r := range rows {
		r[len(r)-1] = Cut(r[len(r)-1], max(style.Width()-before, leastColumn))
	}
	return header
}

// without takes a column out of the rows, and returns the header without it.
func without(header []string, rows [][]string, column string) []string {
	at := slices.Index(header, column)
	for i := range rows {
		rows[i] = slices.Delete(rows[i], at, at+1)
	}
	return slices.Delete(slices.Clone(header), at, at+1)
}

// measure returns the number of columns of the screen before the last column of a table, and those of the last one.
func measure(header []string, rows [][]string) (before, last int) {
	for i := range header {
		before += last
		last = text.StringWidthWithoutEscSequences(header[i])
		for _, r := range rows {
			last = max(last, text.StringWidthWithoutEscSequences(r[i]))
		}
		last += 2
	}
	return before, last - 2
}

func plainStyle() table.Style {
	s := table.StyleDefault
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	s.Format.Header = text.FormatDefault
	s.Options = table.OptionsNoBordersAndSeparators
	return s
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
