package infra_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"

	"github.com/stepkeeper/stepkeeper/infra"
)

// provisioned bills Orders and its index by capacity.
func provisioned(_ awscdk.Stack, p *infra.Props) {
	p.Billing = &infra.Provisioned{Orders: infra.Range{
		Min: infra.Throughput{Writes: 10},
		Max: infra.Throughput{Writes: 6_000, Reads: 4_000},
	}}
}

// Provisioned capacity of the table and its index scales between its bounds; other tables stay on demand. A table
// that was on demand until then begins with enough for the orders that it has.
func TestBilling(t *testing.T) {
	x := template(t, provisioned)
	tables := x.of("AWS::DynamoDB::GlobalTable")
	orders := tables["Orders"].Properties
	scaled := func(settings any, kind string) string {
		s := at(settings, kind+"CapacityAutoScalingSettings")
		return fmt.Sprint(at(s, "MinCapacity"), " to ", at(s, "MaxCapacity"), " from ", at(s, "SeedCapacity"),
			" at ", at(s, "TargetTrackingScalingPolicyConfiguration", "TargetValue"))
	}
	index := at(orders, "GlobalSecondaryIndexes", 0)
	replica := at(orders, "Replicas", 0)
	for what, c := range map[string][2]any{
		"mode":   {orders["BillingMode"], "PROVISIONED"},
		"writes": {scaled(orders["WriteProvisionedThroughputSettings"], "Write"), "10 to 6000 from 6000 at 70"},
		"reads": {
			scaled(at(replica, "ReadProvisionedThroughputSettings"), "Read"),
			"1 to 4000 from 4000 at 70",
		},
		"writes of the index": {
			scaled(at(index, "WriteProvisionedThroughputSettings"), "Write"),
			"4 to 2000 from 2000 at 70",
		},
		"reads of the index": {scaled(at(replica, "GlobalSecondaryIndexes", 0,
			"ReadProvisionedThroughputSettings"), "Read"), "1 to 1334 from 1334 at 70"},
		"Definitions": {tables["Definitions"].Properties["BillingMode"], "PAY_PER_REQUEST"},
		"a ledger":    {tables["LedgerShipping"].Properties["BillingMode"], "PAY_PER_REQUEST"},
		"class":       {at(replica, "TableClass"), nil},
	} {
		same(t, what, c[0], c[1])
	}
	x = template(t, func(stack awscdk.Stack, p *infra.Props) {
		provisioned(stack, p)
		p.Billing.Orders.Seed = infra.Throughput{Writes: 900, Reads: 90}
	})
	orders = x.of("AWS::DynamoDB::GlobalTable")["Orders"].Properties
	same(t, "writes with a seed", scaled(orders["WriteProvisionedThroughputSettings"], "Write"),
		"10 to 6000 from 900 at 70")
	same(t, "writes of the index with a seed", scaled(at(orders, "GlobalSecondaryIndexes", 0,
		"WriteProvisionedThroughputSettings"), "Write"), "4 to 2000 from 300 at 70")
	x = template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.TableClass = awsdynamodb.TableClass_STANDARD_INFREQUENT_ACCESS
	})
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		same(t, id+": class", at(r.Properties, "Replicas", 0, "TableClass"), "STANDARD_INFREQUENT_ACCESS")
	}
}

func TestBillingRefused(t *testing.T) {
	refuses(t, map[string]func(awscdk.Stack, *infra.Props){
		"Billing.Orders: Reads is 1 to 0; 1 to 1000000 units per second are possible": func(_ awscdk.Stack,
			p *infra.Props,
		) {
			p.Billing = &infra.Provisioned{Orders: infra.Range{Max: infra.Throughput{Writes: 1}}}
		},
		"Billing.Orders: Writes begins with a Seed of 7000; 10 to 6000 are possible": func(stack awscdk.Stack,
			p *infra.Props,
		) {
			provisioned(stack, p)
			p.Billing.Orders.Seed.Writes = 7_000
		},
		"Billing.Target is 95; 20 to 90 are possible": func(stack awscdk.Stack, p *infra.Props) {
			provisioned(stack, p)
			p.Billing.Target = 95
		},
		"Billing is for a table that the deployment makes": func(stack awscdk.Stack, p *infra.Props) {
			provisioned(stack, p)
			p.Tables.Orders = tableOf + "Orders"
		},
	})
}
