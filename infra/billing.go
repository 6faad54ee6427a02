package infra

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
)

// Provisioned configures provisioned capacity for the table Orders and its index. DynamoDB scales this
// capacity with the load. All other tables stay on demand. docs/explanation/cost.md compares the costs.
type Provisioned struct {
	Orders Range // capacity of the table; Max is required
	// Index is the capacity of the index. The default is a third of Orders, because an order of four steps
	// writes to the index twice, and to the table six times.
	Index Range
	// Target is the utilisation in percent to which DynamoDB scales, 20 to 90; default 70. The unused
	// capacity is for bursts, because scaling takes minutes, and DynamoDB throttles requests above the
	// capacity.
	Target int
}

// Range is the range of a scaled capacity, in units per second. In Min, 0 means 1.
//
// Seed is the capacity that a table on demand gets at the moment of the change to provisioned capacity. The table
// has orders then, and DynamoDB scales only minutes later, so Seed must be enough for them. The default is Max.
// Set it if Max exceeds the account's quota.
type Range struct{ Min, Max, Seed Throughput }

func (c *checker) billing(p *Props) {
	b := p.Billing
	if b == nil {
		return
	}
	complete := *b
	complete.Target = cmp.Or(b.Target, 70)
	complete.Orders = b.Orders.complete()
	if b.Index == (Range{}) {
		complete.Index = Range{
			Min: complete.Orders.Min.third(), Max: complete.Orders.Max.third(),
			Seed: complete.Orders.Seed.third(),
		}
	} else {
		complete.Index = b.Index.complete()
	}
	if p.Tables.Orders != "" {
		c.wrong("Billing is for a table that the deployment makes; set that of Tables.Orders by hand")
	}
	p.Billing = &complete
}

func (t Throughput) third() Throughput {
	return Throughput{Writes: (t.Writes + 2) / 3, Reads: (t.Reads + 2) / 3}
}

func (r Range) complete() Range {
	r.Min = Throughput{Writes: cmp.Or(r.Min.Writes, 1), Reads: cmp.Or(r.Min.Reads, 1)}
	r.Seed = Throughput{Writes: cmp.Or(r.Seed.Writes, r.Max.Writes), Reads: cmp.Or(r.Seed.Reads, r.Max.Reads)}
	return r
}

func (b *Provisioned) mode(r Range) awsdynamodb.Billing {
	if b == nil || r == (Range{}) {
		return awsdynamodb.Billing_OnDemand(nil)
	}
	return awsdynamodb.Billing_Provisioned(&awsdynamodb.ThroughputProps{
		ReadCapacity:  b.capacity(r.Min.Reads, r.Seed.Reads, r.Max.Reads),
		WriteCapacity: b.capacity(r.Min.Writes, r.Seed.Writes, r.Max.Writes),
	})
}

func (b *Provisioned) capacity(least, seed, most int) awsdynamodb.Capacity {
	return awsdynamodb.Capacity_Autoscaled(&awsdynamodb.AutoscaledCapacityOptions{
		MinCapacity: num(least), MaxCapacity: num(most), SeedCapacity: num(seed),
		TargetUtilizationPercent: num(b.Target),
	})
}
