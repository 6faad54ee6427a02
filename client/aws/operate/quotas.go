package operate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// mostInFlight is the quota of messages in flight in a standard queue. The source is the page "Amazon SQS
	// standard queue quotas".
	mostInFlight = 120_000
	// defaultTableWrites is the default quota of write units per second for an on-demand table. The source is
	// the page "Quotas in Amazon DynamoDB".
	defaultTableWrites = 40_000
	// quotaShare is the share of a quota at which the check fails. The operator then still has time to
	// request a higher quota.
	quotaShare = 0.8
)

func near(n, limit float64) bool { return n >= quotaShare*limit }

// checkInFlight finds the queue with the most messages in flight. A message is in flight from its receive
// until the consumer deletes or returns the message. If a queue reaches the quota, SQS stops the delivery of
// the queue's messages.
func (t *transport) checkInFlight(ctx context.Context) client.Check {
	const name = "messages in flight"
	most := 0
	of := port.Intake
	queues := t.schedulerQueues()
	// Sorted agents give the same result in each run if several queues have equally many messages.
	for _, agent := range slices.Sorted(maps.Keys(t.Outputs.Requests)) {
		queues = append(queues, port.Requests(agent))
	}
	for _, queue := range t.withHigh(queues...) {
		depth, err := t.depth(ctx, queue)
		if err != nil {
			return client.NotChecked(name, err)
		}
		if depth.InFlight > most {
			most = depth.InFlight
			of = queue
		}
	}
	return client.Checked(name, !near(float64(most), mostInFlight),
		fmt.Sprintf("at most %d, in %s; SQS allows %d in a queue", most, of, mostInFlight),
		"let what takes from "+of+
			" receive less at a time, and delete or return what it has received; the quota (Amazon "+
			"SQS standard queue quotas) is AWS Support's to raise")
}

// checkThroughput compares the busiest minute of the last hour with the quota of writes to a table. AWS
// throttles writes above the quota.
func (t *transport) checkThroughput(ctx context.Context) client.Check {
	const name = "table writes"
	t.statisticsMu.Lock()
	defer t.statisticsMu.Unlock()
	if now := time.Now(); !now.Before(t.statistics.peakTill) {
		peak, err := t.peakWrites(ctx, now)
		if err != nil {
			return client.NotChecked(name, err)
		}
		t.statistics.peak = peak
		t.statistics.peakTill = now.Add(peakHold)
	}
	limit := float64(defaultTableWrites)
	whose := "AWS's default, because dynamodb:DescribeLimits is not allowed"
	if t.aws != nil {
		if out, err := t.aws.tables.DescribeLimits(ctx, &dynamodb.DescribeLimitsInput{}); err == nil &&
			out.TableMaxWriteCapacityUnits != nil {
			limit = float64(*out.TableMaxWriteCapacityUnits)
			whose = "of this account"
		}
	}
	return client.Checked(name, !near(t.statistics.peak, limit), fmt.Sprintf(
		"at most %.0f units a second in the last hour, of a table or its index; the quota is %.0f (%s)",
		t.statistics.peak, limit, whose),
		"ask for a higher quota (Service Quotas: Amazon DynamoDB, Table-level write throughput "+
			"limit), or divide the orders between two deployments")
}

// peakWrites returns the write units per second of the busiest minute. It reads the table of orders and the
// table's index, and returns the higher value.
func (t *transport) peakWrites(ctx context.Context, now time.Time) (peak float64, err error) {
	var metrics []*metric
	for _, of := range [][]string{
		{"TableName", t.Outputs.Orders},
		{"TableName", t.Outputs.Orders, "GlobalSecondaryIndexName", dynamo.IndexName},
	} {
		metrics = append(metrics, &metric{
			namespace: "AWS/DynamoDB", name: "ConsumedWriteCapacityUnits", statistic: "Sum", dimensions: of,
		})
	}
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	err = t.read(ctx, now.Truncate(time.Minute).Add(-covered), metrics)
	for _, m := range metrics {
		for _, v := range m.values {
			peak = max(peak, sdk.ToFloat64(v)/time.Minute.Seconds())
		}
	}
	return peak, err
}
