package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	mostLines = 6
	chartRows = 12
)

// chart is a line chart over time, which a script draws. A table below the chart shows the values as text.
type chart struct {
	ID, Title, Unknown string
	Data               string // JSON for the script
	Lines              []line
	Rows               []chartRow
	Per                string // length of the period that a row covers
}

type line struct {
	Name   string `json:"name"`
	Color  string `json:"color"` // name of a colour in the style sheet
	Values []*int `json:"values"`
}

type chartRow struct {
	From   core.Time
	Values []string
}

// colors maps the subject of a line to a colour. turns lists the colours for the lines of agents.
var (
	colors = map[string]string{
		view.OrdersInFlight: "work", string(core.Error): "bad",
		string(core.Processed): "done", string(core.Compensated): "undo", string(core.Closed): "wait",
	}
	turns = [mostLines]string{"work", "answer", "children", "operator", "wait", "done"}
)

// chartOf returns the chart of one kind of series. If there are too many series, it draws the series with the
// highest values.
func chartOf(s *client.Statistics, kind, title, unknown string) chart {
	c := chart{ID: "chart-" + kind, Title: title, Unknown: unknown}
	var found []view.Series
	for _, x := range s.Series {
		if x.Kind == kind {
			found = append(found, x)
		}
	}
	slices.SortStableFunc(found,
		func(a, b view.Series) int { return cmp.Compare(highest(b.Values), highest(a.Values)) })
	if len(found) > mostLines {
		found = found[:mostLines]
		c.Title += "; those with the most"
	}
	slices.SortFunc(found, func(a, b view.Series) int { return cmp.Compare(a.Of, b.Of) })
	for i, x := range found {
		color := cmp.Or(colors[x.Of], "off")
		if kind == view.SeriesWaiting {
			color = turns[i]
		}
		c.Lines = append(c.Lines, line{cmp.Or(x.Of, "orders"), color, x.Values})
	}
	if len(found) == 0 || len(found[0].Values) == 0 {
		return chart{ID: c.ID, Title: c.Title, Unknown: cmp.Or(unknown, "The first interval has not ended.")}
	}
	c.Unknown = ""
	data, err := json.Marshal(map[string]any{
		"from": s.From.Std().Unix(), "every": s.Interval.Std().Seconds(),
		"lines": c.Lines,
	})
	if err != nil {
		panic(err) // Numbers and names always encode.
	}
	c.Data = string(data)
	c.table(s, kind != view.SeriesEnded && kind != view.SeriesReceived)
	return c
}

// table adds the rows of the table, newest first. Each row covers several intervals and shows the sum of
// their values. If level is true, the row shows the maximum instead.
func (c *chart) table(s *client.Statistics, level bool) {
	n := len(c.Lines[0].Values)
	each := max((n+chartRows-1)/chartRows, 1)
	c.Per = length(time.Duration(each) * s.Interval.Std())
	for from := (n - 1) / each * each; from >= 0; from -= each {
		row := chartRow{From: s.From.Add(core.Duration(from) * s.Interval)}
		for _, l := range c.Lines {
			values := l.Values[from:min(from+each, n)]
			x, known := sum(values)
			if level {
				x = highest(values)
			}
			text := "–"
			if known {
				text = strconv.Itoa(x)
			}
			row.Values = append(row.Values, text)
		}
		c.Rows = append(c.Rows, row)
	}
}

func sum(values []*int) (n int, known bool) {
	for _, v := range values {
		if v != nil {
			n = n + *v
			known = true
		}
	}
	return n, known
}

func highest(values []*int) (n int) {
	for _, v := range values {
		if v != nil {
			n = max(n, *v)
		}
	}
	return n
}

// length returns a duration as a text that can follow "per": "10 seconds", "minute" or "5 minutes".
func length(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if d < time.Second {
		return d.String()
	}
	n := d.Round(time.Second).Seconds()
	unit := "second"
	if d >= time.Minute {
		n = float64(d.Round(time.Minute) / time.Minute)
		unit = "minute"
	}
	if n == 1 {
		return unit
	}
	return fmt.Sprintf("%.0f %ss", n, unit)
}

type figures struct {
	Charts  []chart
	Agents  []view.AgentStatistics
	Span    string
	Rate    string // orders per minute
	RateOf  string
	Overdue *view.Overdue
	Unknown []string
}

func figuresOf(s *client.Statistics, err error) figures {
	if err != nil {
		return figures{Unknown: []string{"statistics: " + err.Error()}}
	}
	f := figures{Agents: s.Agents, Overdue: s.Overdue, Unknown: s.Unknown, RateOf: "Ended per minute"}
	kind := view.SeriesEnded
	title := "Orders that ended or stopped, per "
	if !slices.ContainsFunc(s.Series, func(x view.Series) bool { return x.Kind == kind }) &&
		slices.ContainsFunc(s.Series, func(x view.Series) bool { return x.Kind == view.SeriesReceived }) {
		kind = view.SeriesReceived
		title = "Orders that were taken in, per "
		f.RateOf = "Taken in per minute"
	}
	unknown := ""
	if len(s.Unknown) > 0 {
		unknown = "Not known; see below."
	}
	f.Charts = []chart{
		chartOf(s, kind, title+length(s.Interval.Std()), unknown),
		chartOf(s, view.SeriesOrders, "Orders in flight, and in Error", unknown),
		chartOf(s, view.SeriesWaiting, "Requests that wait, by agent", unknown),
	}
	intervals := 0
	for _, x := range s.Series {
		intervals = max(intervals, len(x.Values))
	}
	f.Span = length(time.Duration(intervals) * s.Interval.Std())
	f.Rate = rateOf(s, kind)
	return f
}

// rateOf returns the number of orders per minute, calculated from the last minute with values. kind selects
// received or ended orders.
func rateOf(s *client.Statistics, kind string) string {
	of := max(int(time.Minute/max(s.Interval.Std(), 1)), 1)
	all := 0
	known := false
	measured := 0
	for _, x := range s.Series {
		if x.Kind != kind {
			continue
		}
		last := len(x.Values)
		for last > 0 && x.Values[last-1] == nil {
			last--
		}
		values := x.Values[max(last-of, 0):last]
		n, some := sum(values)
		all = all + n
		known = known || some
		measured = max(measured, len(values))
	}
	if !known {
		return "–"
	}
	return humanize.Comma(int64(float64(all)*float64(time.Minute)/float64(
		time.Duration(measured)*s.Interval.Std()) + 0.5))
}
