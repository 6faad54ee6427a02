package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Load reads the records concurrently. Each read is strongly consistent, and may fail while other reads
// succeed.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	return s.load(ctx, ids, true)
}

func (s *Store) load(ctx context.Context, ids []string, consistent bool) ([]*port.Record, []error) {
	records := make([]*port.Record, len(ids))
	errs := make([]error, len(ids))
	var calls errgroup.Group
	calls.SetLimit(s.options.Parallel)
	for i, id := range ids {
		calls.Go(func() error {
			var item attrs
			err := port.Guard(nil, "a read", func() (err error) {
				item, err = get(ctx, s.client, s.tables.Orders, OrderKey, id, consistent)
				return err
			})
			switch {
			case err != nil:
				errs[i] = fmt.Errorf("load: %w", err)
			case len(item) > 0:
				records[i] = record(item)
			}
			return nil
		})
	}
	_ = calls.Wait() // the errors are in errs
	return records, errs
}

func get(ctx context.Context, client calls, table, key, value string, consistent bool) (attrs, error) {
	out, err := client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: attrs{key: str(value)}, ConsistentRead: &consistent,
	})
	if err != nil {
		return nil, unread(ctx, fmt.Sprintf("read %q", value), err)
	}
	return out.Item, nil
}

// Due returns entries of the index. The result may be stale (rule 11 of docs/reference/aws-rules.md).
//
// The result is sorted by time and then by ID, but the index sorts by time only. Due therefore reads all
// entries of the first and of the last millisecond, and sorts these entries by ID.
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	if limit < 1 {
		return nil, nil
	}
	q := partition{Store: s, name: string(bucket) + "#" + strconv.Itoa(shard)}
	start := int64(earliestKey)
	var found []port.Due
	if after != nil {
		if after.At.After(before) {
			return nil, nil
		}
		same, err := q.moment(ctx, after.At)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(same, func(d port.Due) bool { return d.ID <= after.ID })
		start = sortKey(after.At.Add(time.Millisecond))
	}
	if len(found) < limit {
		further, complete, err := q.entries(ctx, start, sortKey(before), limit-len(found))
		if err != nil {
			return nil, err
		}
		if !complete { // the last millisecond may have more entries
			last := further[len(further)-1].At
			same, err := q.moment(ctx, last)
			if err != nil {
				return nil, err
			}
			further = append(slices.DeleteFunc(further, func(d port.Due) bool { return d.At.Equal(last) }),
				same...)
		}
		found = append(found, further...)
	}
	slices.SortFunc(found, func(a, b port.Due) int {
		return cmp.Or(a.At.Compare(b.At),
			strings.Compare(a.ID, b.ID))
	})
	return found[:min(limit, len(found))], nil
}

const earliestKey, latestKey = math.MinInt64, math.MaxInt64

type partition struct {
	*Store
	name string
}

func (p partition) moment(ctx context.Context, at time.Time) ([]port.Due, error) {
	found, _, err := p.entries(ctx, sortKey(at), sortKey(at), math.MaxInt32)
	return found, err
}

// entries reads at most limit entries with sort keys from start to end. complete is false if the partition
// may contain more of these entries.
func (p partition) entries(ctx context.Context, start, end int64,
	limit int,
) (found []port.Due, complete bool, err error) {
	if start > end {
		return nil, true, nil
	}
	q := p.query(start, end)
	for {
		some, err := p.page(ctx, q, limit-len(found))
		if err != nil {
			return nil, false, err
		}
		found = append(found, some...)
		complete = len(q.ExclusiveStartKey) == 0
		if complete || len(found) >= limit {
			return found, complete, nil
		}
	}
}

// query returns a query for the entries with sort keys from start to end.
func (p partition) query(start, end int64) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &p.tables.Orders, IndexName: aws.String(IndexName),
		KeyConditionExpression:    aws.String("#bucket = :bucket AND #at BETWEEN :start AND :end"),
		ExpressionAttributeNames:  map[string]string{"#bucket": IndexBucket, "#at": IndexSort},
		ExpressionAttributeValues: attrs{":bucket": str(p.name), ":start": num(start), ":end": num(end)},
	}
}

// page reads at most limit further entries, and moves the query behind them. The query then has no
// ExclusiveStartKey if the partition contains no more entries.
func (s *Store) page(ctx context.Context, q *dynamodb.QueryInput, limit int) ([]port.Due, error) {
	q.Limit = aws.Int32(int32(min(limit, 10_000))) //nolint:gosec // the value is at most 10,000
	out, err := s.client.Query(ctx, q)
	if err != nil {
		return nil, unread(ctx, "index "+textOf(q.ExpressionAttributeValues[":bucket"]), err)
	}
	q.ExclusiveStartKey = out.LastEvaluatedKey
	found := make([]port.Due, len(out.Items))
	for i, item := range out.Items {
		found[i] = port.Due{ID: textOf(item[OrderKey]), At: indexTime(item)}
	}
	return found, nil
}
