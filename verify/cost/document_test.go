package cost

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocumentShowsTheFigures: docs/cost.md shows what the measured units and the published prices make,
// which `stepkeeper cost` prints too, and docs/pattern.md what `stepkeeper cost --sweep` prints.
func TestDocumentShowsTheFigures(t *testing.T) {
	text, err := os.ReadFile("../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	units, err := Measured()
	if err != nil {
		t.Fatal(err)
	}
	r := Calculate(units, published(t))
	of := func(shape string, whats ...string) (total float64) {
		found := 0
		for _, e := range r.PerMillion[shape] {
			for _, what := range whats {
				if e.What == what {
					total, found = total+e.Dollars, found+1
				}
			}
		}
		if found != len(whats) {
			t.Fatalf("%s has no %q", shape, whats)
		}
		return total
	}
	load, trickle := r.PerOrder[Load], r.PerOrder[Trickle]
	const writes, reads, own, app = "DynamoDB, writes", "DynamoDB, reads", "SQS, the deployment's requests", "SQS, the application's requests"
	scheduler := []string{"Lambda, Scheduler, invocations", "Lambda, Scheduler, time"}
	wanted := []string{
		fmt.Sprintf("| %s | %g WRU, $%.2f | %g WRU, $%.2f |", writes, load.WRU, of(Load, writes), trickle.WRU, of(Trickle, writes)),
		fmt.Sprintf("| %s | %g RRU, $%.2f | %g RRU, $%.2f |", reads, load.RRU, of(Load, reads), trickle.RRU, of(Trickle, reads)),
		fmt.Sprintf("| %s | %.1f, $%.2f | %g, $%.2f |", own, load.SQSRequests, of(Load, own), trickle.SQSRequests, of(Trickle, own)),
		fmt.Sprintf("| %s | %.1f, $%.2f | %g, $%.2f |", app, load.AppRequests, of(Load, app), trickle.AppRequests, of(Trickle, app)),
		fmt.Sprintf("| Lambda, the Scheduler | %g invocations, $%.2f | %g invocations, $%.2f |", load.Invocations, of(Load, scheduler...), trickle.Invocations, of(Trickle, scheduler...)),
		fmt.Sprintf("| **a million orders** | **$%.2f** | **$%.2f** |", r.DollarsPerMillion[Load], r.DollarsPerMillion[Trickle]),
		fmt.Sprintf("| Stepkeeper, load / trickle | %.0f / %.0f | above | $%.2f a month idle |", r.DollarsPerMillion[Load], r.DollarsPerMillion[Trickle], r.IdlePerMonth),
		fmt.Sprintf("one write less, $%.2f.", r.DollarsPerMillion[NoReplyTo]),
		fmt.Sprintf("(%d here, at its largest)", load.ItemBytes),
		fmt.Sprintf("takes %g WRU and costs $%.0f under load", r.PerOrder["load-eight-steps"].WRU, r.DollarsPerMillion["load-eight-steps"]),
		fmt.Sprintf("(`list` of ended ones): %g WRU more, $%.3f a million", r.PerOrder[Finished].WRU-load.WRU, r.Prices.Prices[DynamoWrite].Of((r.PerOrder[Finished].WRU-load.WRU)*million)),
		fmt.Sprintf("(four Lambda invocations an order at trickle, %g under load", load.AgentInvoked),
	}
	wanted = append(wanted, idleRows(t, r)...)
	for _, want := range wanted {
		if !strings.Contains(string(text), want) {
			t.Errorf("docs/cost.md does not say %q", want)
		}
	}
	pattern, err := os.ReadFile("../../docs/pattern.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Sweeps {
		row := fmt.Sprintf("%d minutes | %s | %s | %.3f |", f.Minutes, seconds(f.MeanDelay), seconds(f.LongestDelay), f.PerMonth)
		if !strings.Contains(string(pattern), strings.Replace(row, "1 minutes", "1 minute", 1)) {
			t.Errorf("docs/pattern.md does not say %q", row)
		}
	}
	for _, p := range r.Prices.Peers {
		if name, of, both := strings.Cut(p.Name, ", "); both { // two prices of one service share a row
			part := fmt.Sprintf("%.0f for a saga of %s", p.Dollars, of)
			if _, row, _ := strings.Cut(string(text), "| "+name+" |"); !strings.Contains(strings.ReplaceAll(row[:strings.Index(row, "\n")], "64 for 60", "64 for a saga of 60"), part) {
				t.Errorf("docs/cost.md: the row of %s does not say %q", name, part)
			}
			continue
		}
		price := fmt.Sprintf("| %s | %g", p.Name, p.Dollars)
		if _, row, found := strings.Cut(string(text), price); !found {
			t.Errorf("docs/cost.md has no row that begins with %q", price)
		} else if row, _, _ = strings.Cut(row, "\n"); !strings.Contains(row, p.Date) {
			t.Errorf("docs/cost.md: the row of %s does not give the day of its source, %s", p.Name, p.Date)
		}
	}
}

// idleRows are those of a month in which nothing happens.
func idleRows(t *testing.T, r Report) []string {
	idle := map[string]Entry{}
	for _, e := range r.Idle {
		idle[e.What] = e
	}
	sum := func(whats ...string) string {
		total := 0.0
		for _, what := range whats {
			if _, there := idle[what]; !there {
				t.Fatalf("there is no %q", what)
			}
			total += idle[what].Dollars
		}
		return fmt.Sprintf("| $%.2f |", total)
	}
	alarms, polls := idle["Alarms"], idle["Long polls of the event source mappings"]
	return []string{
		fmt.Sprintf("$%.2f a month for the example", r.IdlePerMonth),
		fmt.Sprintf("| alarms | %g × $%.2f %s", alarms.Units, alarms.Dollars/alarms.Units, sum("Alarms")),
		fmt.Sprintf("%s = %.1f million requests %s", polls.How, polls.Units/million, sum(polls.What)),
		"| metric of the oldest overdue task | 1 × $0.30 " + sum("Metric of the oldest overdue task"),
		sum("Supervisor, leases on shards", "Supervisor, queries of the index"),
		sum("Schedule of the Supervisor", "Supervisor, invocations", "Supervisor, time", "Logs of the sweeps"),
	}
}
