package cost

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
)

// MaxRate is the largest rate, in orders per second, that CompareCapacities accepts.
const MaxRate = 1_000_000

const (
	hoursPerMonth = 730
	// target is DynamoDB's default target for the utilisation of provisioned capacity.
	target = 0.7
)

// Capacities compares on-demand with provisioned capacity of the tables. The comparison assumes a constant
// rate of orders for a month. It also assumes that the utilisation of the provisioned capacity equals Target.
type Capacities struct {
	Rate                int     `json:"orders_per_second"`
	Target              float64 `json:"target_utilisation"`
	OnDemand            []Entry `json:"on_demand"`
	Provisioned         []Entry `json:"provisioned"`
	OnDemandPerMonth    float64 `json:"on_demand_per_month"`
	ProvisionedPerMonth float64 `json:"provisioned_per_month"`
	// BreakEven is the utilisation above which provisioned capacity costs less than on-demand capacity.
	BreakEven float64 `json:"break_even_utilisation"`
	// BreakEvenRate is a mean rate of orders. If the mean is above this rate, provisioned capacity for Rate
	// costs less than on-demand capacity.
	BreakEvenRate float64 `json:"break_even_orders_per_second"`
}

// CompareCapacities compares on-demand with provisioned capacity, for a rate of 1 to MaxRate orders per
// second. It uses the report's estimate of the user's own orders. Without such an estimate, it uses the
// measured orders.
func (r Report) CompareCapacities(rate int) (*Capacities, error) {
	if rate < 1 || rate > MaxRate {
		return nil, fmt.Errorf("%d orders a second: give 1 to %d", rate, MaxRate)
	}
	t := r.PerOrder[Load]
	if r.Yours != nil {
		t = r.Yours.PerOrder[Load]
	}
	c := &Capacities{Rate: rate, Target: target}
	for _, of := range []struct {
		what, unit, request, hour string
		units                     float64
	}{
		{"writes", "WRU", DynamoWrite, DynamoWriteHour, t.WRU * float64(rate)},
		{"reads", "RRU", DynamoRead, DynamoReadHour, t.RRU * float64(rate)},
	} {
		month, capacity := of.units*hoursPerMonth*3600, of.units/target
		c.OnDemand = append(c.OnDemand, entry(r.Prices, "On demand, "+of.what, month, of.unit, of.request,
			fmt.Sprintf("%.0f %s/s × 730 h at $%s", of.units, of.unit, each(r.Prices.Prices[of.request]))))
		c.Provisioned = append(c.Provisioned, entry(r.Prices, "Provisioned, "+of.what, capacity*hoursPerMonth,
			"unit-hours", of.hour, fmt.Sprintf("%.0f units (%.0f/s ÷ %.0f %%) × 730 h at $%s", capacity,
				of.units, target*100, each(r.Prices.Prices[of.hour]))))
	}
	c.OnDemandPerMonth, c.ProvisionedPerMonth = sum(c.OnDemand), sum(c.Provisioned)
	c.BreakEven = c.ProvisionedPerMonth * target / c.OnDemandPerMonth
	c.BreakEvenRate = float64(rate) * c.BreakEven / target
	return c, nil
}

// WriteCapacities writes the comparison as text.
func WriteCapacities(w io.Writer, r Report) error {
	b, c := &printer{w: w}, r.Capacities
	b.line("Reads and writes of the tables at %d orders a second, dollars per month, AWS %s", c.Rate,
		r.Prices.Region)
	b.line("")
	t := b.table("", "dollars", "arithmetic")
	for _, e := range append(c.OnDemand, c.Provisioned...) {
		t.AppendRow(table.Row{e.What, dollars(e.Dollars), e.How})
	}
	t.AppendSeparator()
	t.AppendRow(table.Row{"On demand", dollars(c.OnDemandPerMonth), ""})
	t.AppendRow(table.Row{"Provisioned", dollars(c.ProvisionedPerMonth), fmt.Sprintf("%.0f %% of on demand",
		100*c.ProvisionedPerMonth/c.OnDemandPerMonth)})
	b.render(t)
	b.line("Provisioned capacity costs less above a utilisation of %.0f %%. It is assumed to be used up to "+
		"its target, %.0f %%.", 100*c.BreakEven, 100*c.Target)
	b.line("Break-even: capacity that is always ready for %d orders a second costs less if their mean is "+
		"above %.0f.", c.Rate, c.BreakEvenRate)
	return b.err
}
