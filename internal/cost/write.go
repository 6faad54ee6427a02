package cost

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Write writes the report as text.
func Write(w io.Writer, r Report) error {
	b := &printer{w: w}
	b.line("What an order of four steps costs on AWS, %s, prices checked %s, units measured %s",
		r.Prices.Region, r.Prices.Checked, r.Units.Measured)
	b.line("")
	b.line("Dollars per million orders")
	b.orders([]string{Load, Three, Trickle}, r.PerMillion, r.AgentFunctions)
	b.line("")
	full := r.Units.Shapes[Load]
	b.line(
		"load: batches of %d to the Scheduler and %d to agents; batches of three: 3 to each; trickle: "+
			"every message alone.",
		full.SchedulerBatch, full.AgentBatch)
	b.line(
		"Lambda, agents: computed, and not in All in, for a service that takes %s (--service-time) and "+
			"functions of %.0f MB.",
		seconds(r.ServiceTime), agentGB*1024)
	for _, o := range []struct{ name, what string }{
		{NoReplyTo, "orders that name no reply-to"}, {Finished, "finished orders in the index"},
		{Sequence, "an agent for each step"},
		{Wait, "a step that waits for up to 15 minutes"}, {Answer, "an approval that one person answers"},
		{Children, "two child orders of one step each"}, {Progress, "a step that reports its progress once"},
	} {
		if _, there := r.DollarsPerMillion[o.name]; there {
			b.line("load, with %s: $%s", o.what, dollars(r.DollarsPerMillion[o.name]))
		}
	}
	b.line("load, with TaskTTL: $%s, 1 WRU and 1 RRU for each tombstone", dollars(r.DollarsPerMillion[Load]+
		r.Prices.Prices[DynamoWrite].Of(million)+r.Prices.Prices[DynamoRead].Of(million)))
	b.operations(r)
	b.line("")
	b.line("Dollars per month while nothing happens: $%s", dollars(r.IdlePerMonth))
	b.entries(r.Idle)
	b.line("")
	b.line("Dollars per month while nothing happens, with other properties of the construct")
	t := b.table("", "alarms", "a sweep every", "dollars per month")
	for _, i := range r.IdleProfiles {
		t.AppendRow(table.Row{i.Name, i.Alarms, fmt.Sprintf("%d min", i.Minutes), dollars(i.PerMonth)})
	}
	b.render(t)
	b.line("")
	b.line("Dollars per month for each million orders that are kept, computed from the largest item: $%s",
		dollars(r.KeptPerMonth))
	b.entries(r.Kept)
	if r.Yours != nil {
		b.yours(r.Yours)
	}
	b.peers(r.Prices.Peers)
	b.line("")
	for _, n := range r.Notes {
		b.line("- %s", n)
	}
	return b.err
}

func (b *printer) entries(all []Entry) {
	t := b.table("", "dollars", "arithmetic")
	for _, e := range all {
		t.AppendRow(table.Row{e.What, dollars(e.Dollars), e.How})
	}
	b.render(t)
}

func (b *printer) peers(peers []Peer) {
	b.line("")
	b.line("The same saga elsewhere, dollars per million, as published")
	t := b.table("", "dollars", "arithmetic")
	for _, p := range peers {
		price := dollars(p.Dollars)
		if p.Upper > 0 {
			price += " to " + dollars(p.Upper)
		}
		t.AppendRow(table.Row{p.Name, price, p.Arithmetic})
	}
	b.render(t)
	b.line("")
	for _, p := range peers {
		b.line("- %s: on top come %s. Source, %s: %s", p.Name, p.Beside, p.Date, p.Source)
	}
}

// WriteSweeps writes the cost of each interval between sweeps and the delay until a sweep finds an overdue
// task.
func WriteSweeps(w io.Writer, r Report) error {
	b := &printer{w: w}
	b.line(
		"The Supervisor's interval on AWS, %s: a step without a reply is found after its complete-by "+
			"time, by the next sweep", r.Prices.Region)
	b.line("")
	t := b.table("interval, minutes", "found after, on average", "at the latest", "dollars per month")
	for _, f := range r.Sweeps {
		t.AppendRow(table.Row{f.Minutes, seconds(f.MeanDelay), seconds(f.LongestDelay),
			fmt.Sprintf("%.3f", f.PerMonth)})
	}
	b.render(t)
	b.line(
		"A sweep that is missed adds an interval. Of dollars: schedule, invocations, leases, queries and " +
			"logs, with nothing overdue.")
	return b.err
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }

func (b *printer) yours(e *Estimate) {
	name := ""
	if e.Name != "" {
		name = ", workflow " + e.Name
	}
	b.line("")
	waits := ""
	if e.Waits > 0 {
		waits = fmt.Sprintf(", %d waits of up to 15 minutes", e.Waits)
	}
	b.line(
		"Yours%s: %d steps in a row%s, %d agents, an item of about %d bytes (an estimate, from what 4 and "+
			"8 steps consumed; larger outputs cost more)", name, e.Steps, waits, e.Agents, e.ItemBytes)
	b.line("Dollars per million orders")
	b.orders([]string{Load, Trickle}, e.PerMillion, e.AgentFunctions)
	b.line("")
	b.line("Your month of %d orders, in dollars, what idles ($%s) included", e.Orders,
		dollars(e.IdlePerMonth))
	t := b.table("", "a million orders", "a month")
	t.AppendRow(table.Row{"Stepkeeper, load to trickle", span(e.DollarsPerMillion[Load],
		e.DollarsPerMillion[Trickle]), span(e.DollarsPerMonth[Load], e.DollarsPerMonth[Trickle])})
	for _, p := range e.Peers {
		t.AppendRow(table.Row{p.Name, span(p.PerMillion, p.PerMillionUpper),
			span(p.PerMonth, p.PerMonthUpper)})
	}
	b.render(t)
	b.line(
		"Without what comes on top of each, named below. Steps that run in parallel or are skipped cost " +
			"less, waits of more than 15 minutes more; retries and undo cost more.")
}

func (b *printer) orders(shapes []string, totals, agents map[string][]Entry) {
	header := table.Row{""}
	for _, shape := range shapes {
		header = append(header, strings.ReplaceAll(shape, "-", " "))
	}
	t := b.table(append(header, "one order under load", "one order at trickle")...)
	rows := func(entries map[string][]Entry) {
		for i, load := range entries[Load] {
			row := table.Row{load.What}
			for _, shape := range shapes {
				row = append(row, dollars(entries[shape][i].Dollars))
			}
			t.AppendRow(append(row, load.How, entries[Trickle][i].How))
		}
	}
	rows(totals)
	t.AppendSeparator()
	all := table.Row{"All in"}
	for _, shape := range shapes {
		all = append(all, dollars(sum(totals[shape])))
	}
	t.AppendRow(all)
	t.AppendSeparator()
	rows(agents)
	b.render(t)
}

func span(low, upper float64) string {
	if upper > low {
		return dollars(low) + " to " + dollars(upper)
	}
	return dollars(low)
}

func (b *printer) operations(r Report) {
	b.line("")
	b.line("Request units of DynamoDB of one order under load, by operation")
	t := b.table("", "calls", "WRU", "WRU of the index", "RRU")
	for _, l := range r.Units.Shapes[Load].Lines {
		if l.Service == "dynamodb" {
			t.AppendRow(table.Row{l.Operation + " " + l.Resource, number(l.Calls), number(l.WRU),
				number(l.IndexWRU), number(l.RRU)})
		}
	}
	b.render(t)
	o := r.PerOrder[Load]
	b.line("The largest item of a task has %d bytes of the 1,024 that one WRU writes.", o.ItemBytes)
}

func dollars(x float64) string { return fmt.Sprintf("%.2f", x) }

func number(x float64) string { return fmt.Sprintf("%.4g", x) }

type printer struct {
	w   io.Writer
	err error
}

func (b *printer) line(format string, args ...any) {
	if b.err == nil {
		_, b.err = fmt.Fprintf(b.w, format+"\n", args...)
	}
}

func (b *printer) table(header ...any) table.Writer {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header, style.Options.DrawBorder, style.Options.SeparateColumns = text.FormatDefault, false,
		false
	t.SetStyle(style)
	t.AppendHeader(table.Row(header))
	return t
}

func (b *printer) render(t table.Writer) { b.line("%s", t.Render()) }
