package cost

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// figure matches a figure of a document: digits with separators of thousands, and decimals.
var figure = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)

// document is a page whose figures are compared with those of the code.
type document struct {
	t          *testing.T
	name, text string
}

func read(t *testing.T, name string) document {
	t.Helper()
	text, err := os.ReadFile("../../docs/explanation/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return document{t: t, name: name, text: string(text)}
}

// row compares the figures of a table's row, from left to right after its first cell, with those wanted. It
// fails unless exactly one row has this first cell.
func (d document) row(label string, want ...float64) {
	d.t.Helper()
	d.figures(label, d.cells(label), want)
}

// cells returns what stands in a row after its first cell.
func (d document) cells(label string) string {
	d.t.Helper()
	var found []string
	for line := range strings.Lines(d.text) {
		if first, rest, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok &&
			strings.HasPrefix(line, "| ") &&
			strings.Trim(first, "*") == label {
			found = append(found, rest)
		}
	}
	if len(found) != 1 {
		d.t.Fatalf("%s has %d rows of %q, want 1", d.name, len(found), label)
	}
	return found[0]
}

// sentence compares the figures that follow these words, which stand once in the page, with those wanted.
func (d document) sentence(words string, want ...float64) {
	d.t.Helper()
	_, after, found := strings.Cut(strings.Join(strings.Fields(d.text), " "), words)
	if !found {
		d.t.Errorf("%s does not say %q", d.name, words)
		return
	}
	d.figures(words, after, want)
}

// figures compares as many figures of a text as are wanted, each with the decimals that the text gives.
func (d document) figures(what, text string, want []float64) {
	d.t.Helper()
	shown := figure.FindAllString(text, len(want))
	if len(shown) < len(want) {
		d.t.Errorf("%s, %q: %d figures, want %v", d.name, what, len(shown), want)
		return
	}
	for i, s := range shown {
		_, decimals, _ := strings.Cut(s, ".")
		got, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			d.t.Fatal(err)
		}
		if half := math.Pow10(-len(decimals)) / 2; math.Abs(got-want[i]) > half+1e-9 {
			d.t.Errorf("%s, %q: figure %d is %s, want %g", d.name, what, i+1, s, want[i])
		}
	}
}

func measured(t *testing.T) Report {
	t.Helper()
	units := Measured()
	return Calculate(units, published(t), ServiceTime)
}

// sumOf returns the sum of these entries, each of which must be there.
func sumOf(t *testing.T, all []Entry, whats ...string) (total float64) {
	t.Helper()
	found := 0
	for _, e := range all {
		for _, what := range whats {
			if e.What == what {
				total, found = total+e.Dollars, found+1
			}
		}
	}
	if found != len(whats) {
		t.Fatalf("%d of the entries %q exist", found, whats)
	}
	return total
}

// TestDocumentShowsAnOrder: docs/explanation/cost.md shows the figures of an order that the measured units
// and the published prices make, which `stepkeeper cost` prints too.
func TestDocumentShowsAnOrder(t *testing.T) {
	r, page := measured(t), read(t, "cost.md")
	load := r.PerOrder[Load]
	for _, c := range []struct {
		row     string
		units   func(Totals) float64
		entries []string
	}{
		{"DynamoDB, writes", func(o Totals) float64 { return o.WRU }, []string{"DynamoDB, writes"}},
		{"DynamoDB, reads", func(o Totals) float64 { return o.RRU }, []string{"DynamoDB, reads"}},
		{"SQS, the deployment's requests", func(o Totals) float64 { return o.SQSRequests },
			[]string{"SQS, the deployment's requests"}},
		{"SQS, the application's requests", func(o Totals) float64 { return o.AppRequests },
			[]string{"SQS, the application's requests"}},
		{"Lambda, the Scheduler", func(o Totals) float64 { return o.Invocations },
			[]string{"Lambda, Scheduler, invocations", "Lambda, Scheduler, time"}},
		{"computed beside it: Lambda, the agents", func(o Totals) float64 { return o.AgentInvoked },
			[]string{"Lambda, agents, invocations", "Lambda, agents, time"}},
	} {
		var want []float64
		for _, shape := range []string{Load, Three, Trickle} {
			all := slices.Concat(r.PerMillion[shape], r.AgentFunctions[shape])
			want = append(want, c.units(r.PerOrder[shape]), sumOf(t, all, c.entries...))
		}
		page.row(c.row, want...)
	}
	page.row("a million orders", r.DollarsPerMillion[Load], r.DollarsPerMillion[Three],
		r.DollarsPerMillion[Trickle])
	page.sentence("for a service that takes", ServiceTime.Seconds()*1000)
	page.sentence("for each million orders that are kept:", r.KeptPerMonth,
		sumOf(t, r.Kept, "DynamoDB, storage"), sumOf(t, r.Kept, "DynamoDB, point-in-time recovery"))
	page.sentence("one write less,", r.DollarsPerMillion[NoReplyTo])
	page.sentence("stays within 1,024 bytes (", float64(load.ItemBytes))
	page.sentence("such an order takes", r.PerOrder["load-eight-steps"].WRU,
		r.DollarsPerMillion["load-eight-steps"])
	for row, shape := range map[string]string{
		"an approval that one person answers (`load-answer`)": Answer,
		"two child orders of one step each (`load-children`)": Children,
		"one report of progress (`load-progress`)":            Progress,
	} {
		page.row(row, r.DollarsPerMillion[shape]-r.DollarsPerMillion[Load])
	}
	more := r.PerOrder[Finished].WRU - load.WRU
	page.sentence("(`list` of ended ones):", more, r.Prices.Prices[DynamoWrite].Of(more*million))
}

// TestDocumentShowsAnIdleMonth: docs/explanation/cost.md shows what a month costs in which nothing happens.
func TestDocumentShowsAnIdleMonth(t *testing.T) {
	r, page := measured(t), read(t, "cost.md")
	idle := map[string]Entry{}
	for _, e := range r.Idle {
		idle[e.What] = e
	}
	const longPolls = "Long polls of the event source mappings"
	alarms, polls := idle["Alarms"], idle[longPolls]
	page.sentence("## While nothing happens", r.IdlePerMonth)
	page.row("alarms", alarms.Units, alarms.Dollars/alarms.Units, sumOf(t, r.Idle, "Alarms"))
	row := page.cells("long polls of the event source mappings")
	if !strings.Contains(row, polls.How) {
		t.Errorf("docs/explanation/cost.md, long polls: %q does not hold the arithmetic %q", row, polls.How)
	}
	_, sums, _ := strings.Cut(row, "=")
	page.figures(longPolls, sums, []float64{polls.Units / million, sumOf(t, r.Idle, longPolls)})
	for _, i := range r.IdleProfiles {
		page.row(i.Name, i.Alarms, float64(i.Minutes), i.PerMonth)
	}
	metric := sumOf(t, r.Idle, "Metric of the oldest overdue task")
	page.row("metric of the oldest overdue task", 1, metric, metric)
	topicKey := sumOf(t, r.Idle, "Key of the topic of alarms")
	page.row("key of the topic of alarms", 1, topicKey, topicKey)
	outcomes, _, _ := strings.Cut(page.cells("`OutcomeMetrics` of a workflow"), "|")
	page.figures("OutcomeMetrics", outcomes, []float64{outcomeMetrics, r.Prices.Prices[Metric].Of(1),
		r.Prices.Prices[LogsGB].Of(outcomeLine * million / gigabyte)})
	for row, whats := range map[string][]string{
		"leases, queries and open incidents of the sweeps": {"Supervisor, leases on shards",
			"Supervisor, queries of the index"},
		"schedule, the Supervisor's invocations and time, logs": {"Schedule of the Supervisor",
			"Supervisor, invocations", "Supervisor, time", "Logs of the sweeps"},
	} {
		_, sum, _ := strings.Cut(page.cells(row), "|")
		page.figures(row, sum, []float64{sumOf(t, r.Idle, whats...)})
	}
}

// TestDocumentShowsIntervalsOfSweeps: docs/explanation/pattern.md shows what `stepkeeper cost --sweep`
// prints.
func TestDocumentShowsIntervalsOfSweeps(t *testing.T) {
	page := read(t, "pattern.md")
	for _, f := range measured(t).Sweeps {
		label := strconv.Itoa(f.Minutes) + " minutes"
		if f.Minutes == 1 {
			label = "1 minute"
		}
		cells := strings.Split(page.cells(label), "|")
		if len(cells) < 3 {
			t.Fatalf("docs/explanation/pattern.md, %s: %q", label, cells)
		}
		for i, want := range []float64{f.MeanDelay, f.LongestDelay} {
			if got, err := time.ParseDuration(strings.TrimSpace(cells[i])); err != nil ||
				got.Seconds() != want {
				t.Errorf("docs/explanation/pattern.md, %s: %s, %v, want %g s", label, got, err, want)
			}
		}
		page.figures(label, cells[2], []float64{f.PerMonth})
	}
}

// TestDocumentShowsPeers: docs/explanation/alternatives.md shows what the same work costs elsewhere, and the
// day of the source.
func TestDocumentShowsPeers(t *testing.T) {
	r, page := measured(t), read(t, "alternatives.md")
	page.row("Stepkeeper, load / trickle", r.DollarsPerMillion[Load], r.DollarsPerMillion[Trickle],
		r.IdlePerMonth)
	for _, p := range r.Prices.Peers {
		name, part, shared := strings.Cut(p.Name, ", ") // two prices of one service share a row
		row := page.cells(name)
		if !strings.Contains(row, p.Date) {
			t.Errorf("alternatives.md, %s: the row does not give the day of its source, %s", name, p.Date)
		}
		prices, _, _ := strings.Cut(row, "|")
		if shared { // "2 for a saga of 1 s, 64 for 60 s"
			seconds, _, _ := strings.Cut(part, " ")
			for price := range strings.SplitSeq(prices, ", ") {
				if strings.HasSuffix(strings.TrimSpace(price), " "+seconds+" s") {
					prices = price
				}
			}
		}
		page.figures(p.Name, prices, []float64{p.Dollars})
	}
}
