package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Load answers the records, several reads at a time, each strongly consistent.
func (s *Store) Load(ctx context.Context, ids []string) ([]*port.Record, error) {
	records, err := s.load(ctx, ids, true)
	if err != nil {
		return nil, fmt.Errorf("load %d tasks: %w", len(ids), err)
	}
	return records, nil
}

func (s *Store) load(ctx context.Context, ids []string, consistent bool) ([]*port.Record, error) {
	records := make([]*port.Record, len(ids))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(s.options.Parallel)
	for i, id := range ids {
		calls.Go(func() error {
			item, err := get(ctx, s.client, s.tables.Tasks, OrderKey, id, consistent)
			if err == nil && len(item) > 0 {
				records[i] = record(item)
			}
			return err
		})
	}
	return records, calls.Wait()
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

// LoadOrder answers the order. It never changes, so that a cheaper, eventually consistent read is
// right if it finds it; only where it finds nothing a strongly consistent one decides.
func (s *Store) LoadOrder(ctx context.Context, id string) (*port.Order, error) {
	var item attrs
	for _, consistent := range []bool{false, true} {
		var err error
		if item, err = get(ctx, s.client, s.tables.Orders, OrderKey, id, consistent); err != nil {
			return nil, fmt.Errorf("order: %w", err)
		}
		if len(item) > 0 {
			return &port.Order{
				ID: id, ContentHash: textOf(item["ContentHash"]), Body: bytesOf(item["Order"]), Created: timeOf(item["Created"]),
			}, nil
		}
	}
	return nil, fmt.Errorf("order %q: %w", id, port.ErrNotFound)
}

// Due asks the index; the answer may be stale (rule 11).
func (s *Store) Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due, limit int) ([]port.Due, error) {
	start := ""
	if after != nil {
		start = sortKey(after.At, after.ID) + "\x00"
	}
	return s.query(ctx, string(bucket)+"#"+strconv.Itoa(shard), start, until(before), limit)
}

// until is after all sort keys of that time, and before those of any later one.
func until(t time.Time) string { return t.UTC().Format(timeLayout) + "$" }

// query reads one partition of the index, from start to end, at most limit entries.
func (s *Store) query(ctx context.Context, partition, start, end string, limit int) ([]port.Due, error) {
	if limit < 1 || start > end {
		return nil, nil
	}
	if start == "" {
		start = " " // before every time; a key must not be empty
	}
	in := &dynamodb.QueryInput{
		TableName: &s.tables.Tasks, IndexName: aws.String(IndexName),
		KeyConditionExpression:   aws.String("#bucket = :bucket AND #at BETWEEN :start AND :end"),
		ExpressionAttributeNames: map[string]string{"#bucket": IndexBucket, "#at": IndexSort},
		ExpressionAttributeValues: attrs{
			":bucket": str(partition), ":start": str(start), ":end": str(end),
		},
	}
	var found []port.Due
	for {
		in.Limit = aws.Int32(int32(min(limit-len(found), 10_000))) //nolint:gosec // at most 10,000
		out, err := s.client.Query(ctx, in)
		if err != nil {
			return nil, unread(ctx, fmt.Sprintf("index %s", partition), err)
		}
		for _, item := range out.Items {
			if at, _, ok := parseSortKey(textOf(item[IndexSort])); ok {
				found = append(found, port.Due{ID: textOf(item[OrderKey]), At: at})
			}
		}
		if len(out.LastEvaluatedKey) == 0 || len(found) >= limit {
			return found, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
