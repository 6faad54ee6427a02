package cost

import (
	"strings"
	"testing"
)

// At a steady rate, provisioned capacity costs less than half of requests on demand. The sums are those of a
// person: 8 WRU and 4 RRU an order.
func TestCapacities(t *testing.T) {
	r := measured(t)
	c, err := r.CompareCapacities(1000)
	if err != nil {
		t.Fatal(err)
	}
	seconds, hours := 1000*3600*730.0, 1000*730/0.7
	if want := seconds * (8*0.625 + 4*0.125) / 1e6; !near(c.OnDemandPerMonth, want) {
		t.Errorf("on demand costs %v, want %v", c.OnDemandPerMonth, want)
	}
	if want := hours * (8*0.00065 + 4*0.00013); !near(c.ProvisionedPerMonth, want) {
		t.Errorf("provisioned costs %v, want %v", c.ProvisionedPerMonth, want)
	}
	if c.ProvisionedPerMonth >= c.OnDemandPerMonth/2 {
		t.Errorf("provisioned costs %v of %v, want less than half", c.ProvisionedPerMonth, c.OnDemandPerMonth)
	}
	// Capacity for 1,000 orders a second costs as much as requests of the break-even rate.
	even := c.OnDemandPerMonth * c.BreakEvenRate / 1000
	if !near(even, c.ProvisionedPerMonth) || !near(c.BreakEven, c.BreakEvenRate/1000*0.7) {
		t.Errorf("even at %v orders a second, at a utilisation of %v", c.BreakEvenRate, c.BreakEven)
	}
	for _, rate := range []int{0, -1, MaxRate + 1} {
		if _, err := r.CompareCapacities(rate); err == nil || !strings.Contains(err.Error(), "give 1 to") {
			t.Errorf("%d orders a second: %v", rate, err)
		}
	}
	if r.Yours, err = r.Estimate(Workload{Steps: 8, Agents: 1}); err != nil {
		t.Fatal(err)
	}
	if own, err := r.CompareCapacities(1000); err != nil || own.OnDemandPerMonth <= c.OnDemandPerMonth {
		t.Errorf("eight steps: %+v, %v", own, err)
	}
}

// TestDocumentShowsCapacities: docs/explanation/cost.md shows what `stepkeeper cost --rate 1000` prints.
func TestDocumentShowsCapacities(t *testing.T) {
	page := read(t, "cost.md")
	c, err := measured(t).CompareCapacities(1000)
	if err != nil {
		t.Fatal(err)
	}
	page.sentence("`stepkeeper cost --rate` compares the two: at", float64(c.Rate), c.OnDemandPerMonth,
		c.ProvisionedPerMonth, 100*c.Target)
	page.sentence("costs less above a utilisation of", 100*c.BreakEven)
}
