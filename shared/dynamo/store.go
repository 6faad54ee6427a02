package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Tables holds the names or ARNs of tables. The name of an unused table may be empty.
type Tables struct {
	Orders, Definitions string
}

// Options configures a Store.
type Options struct {
	// Shards is the number of shards of the index. 0 means DefaultShards. All actors must change the number
	// at the same time. The number may grow while tasks are open. It must not shrink before all tasks in the
	// removed shards have ended.
	Shards int
	// FinishedIndex keeps tasks at rest in the index, so that List finds them. It costs one additional index
	// write for each order.
	FinishedIndex bool
	// TTL is the time for which the table keeps an order at rest. 0 means forever. The tombstone of an
	// expired order stays, so that nobody can use the order's ID again (P26, an ID never runs twice).
	// DynamoDB removes items days late, so no code may depend on the exact time (rule 15 of
	// docs/reference/aws-rules.md).
	TTL time.Duration
	// Parallel is the maximum number of concurrent calls of one Commit or Load. 0 means 16.
	Parallel int
	Clock    port.Clock // clock for the TTL and for listings; nil means the system clock
}

// Store implements port.Store, port.Definitions and port.Leases. It is safe for concurrent use.
type Store struct {
	client  calls
	tables  Tables
	options Options
	recent  recent
}

// New returns a Store. The client should come from NewClient or NewHandlerClient, with a configuration from
// package awsclient or wire. Such a configuration limits the time of each call (rule 13 of
// docs/reference/aws-rules.md). It also prevents the SDK from reporting a stored write as failed (rule 23).
func New(client *dynamodb.Client, tables Tables, o Options) *Store {
	o.Shards = cmp.Or(o.Shards, DefaultShards)
	o.Parallel = cmp.Or(o.Parallel, 16)
	o.Clock = cmp.Or[port.Clock](o.Clock, port.ClockFunc(time.Now))
	return &Store{client: callsOf(client), tables: tables, options: o}
}

// Shards returns the number of shards of the index.
func (s *Store) Shards() int { return s.options.Shards }

// Commit executes the writes concurrently. A write may fail while other writes succeed.
func (s *Store) Commit(ctx context.Context, writes []port.Write) []error {
	errs := make([]error, len(writes))
	var calls errgroup.Group
	calls.SetLimit(s.options.Parallel)
	for i := range writes {
		errs[i] = ctx.Err()
		if errs[i] != nil {
			continue
		}
		calls.Go(func() error {
			errs[i] = port.Guard(nil, "a commit", func() error { return s.commit(ctx, &writes[i]) })
			return nil
		})
	}
	_ = calls.Wait() // the errors are in errs
	return errs
}

func (s *Store) commit(ctx context.Context, w *port.Write) error {
	if err := port.CheckWrite(w); err != nil {
		return err
	}
	writer := token()
	item, err := s.item(w, writer)
	if err != nil {
		return err
	}
	if w.Expected > 0 {
		err = s.replace(ctx, w, item, writer)
	} else {
		err = s.create(ctx, w, item, writer)
	}
	if err != nil {
		return fmt.Errorf("task %q: %w", w.Record.ID, err)
	}
	return nil
}

// token returns a random value for one write. If DynamoDB refuses the write and the stored item has this
// value, an earlier try of the write was stored (rule 9).
func token() []byte {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // rand.Read never fails
	return b
}

func mine(item attrs, writer []byte) bool {
	b, ok := item[writerAttribute].(*types.AttributeValueMemberB)
	return ok && slices.Equal(b.Value, writer)
}

// replace puts the item if the stored version is w.Expected (P8, every commit is conditional). If orders
// expire, replace makes additional writes. The file expiry.go describes these writes.
func (s *Store) replace(ctx context.Context, w *port.Write, item attrs, writer []byte) error {
	resting := s.expires(w)
	if resting {
		if err := s.putTombstone(ctx, w); err != nil {
			return err
		}
	}
	there, doubt, err := s.putVersion(ctx, w, item, s.options.TTL > 0 && w.Apart && !resting)
	// The order was at rest, and this write continues the order. The content must therefore not expire.
	if err == nil && there[TTLAttribute] != nil && numberOf(there["Version"]) == w.Expected {
		err = s.keepContent(ctx, w)
		if err == nil {
			there, doubt, err = s.putVersion(ctx, w, item, false)
		}
	}
	switch {
	case err != nil:
		return err
	case there == nil || mine(there, writer): // rules 9 and 23
		if resting && w.Apart {
			s.expireContent(ctx, w)
		}
		return nil
	case len(there) == 0:
		return port.ErrNotFound
	}
	return refusal(there, w.Record.Version, doubt,
		fmt.Errorf("version %d is stored, expected was %d: %w", numberOf(there["Version"]), w.Expected,
			port.ErrConflict))
}

// Place puts the stored item again, with another entry of the index. It reads the whole item and writes it
// unchanged, because a document that cannot be read must stay as it is.
func (s *Store) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	item, err := get(ctx, s.client, s.tables.Orders, OrderKey, id, true)
	switch {
	case err != nil:
		return fmt.Errorf("place: %w", err)
	case len(item) == 0:
		return fmt.Errorf("task %q: %w", id, port.ErrNotFound)
	case numberOf(item["Version"]) != version:
		return fmt.Errorf("task %q has version %d, expected was %d: %w", id, numberOf(item["Version"]), version,
			port.ErrConflict)
	}
	before := maps.Clone(item)
	delete(item, IndexBucket)
	delete(item, IndexSort)
	s.index(&port.Record{ID: id, Version: version, Bucket: bucket, IndexAt: at, Created: timeOf(item["Created"])},
		item)
	// The version may be an attribute of a kind that is never written here.
	condition := "attribute_not_exists(#version)"
	values := attrs(nil)
	if v := before["Version"]; v != nil {
		condition = "#version = :expected"
		values = attrs{":expected": v}
	}
	there, _, err := s.put(ctx, s.tables.Orders, item, condition, map[string]string{"#version": "Version"}, values)
	switch {
	case err != nil:
		return fmt.Errorf("place task %q: %w", id, err)
	case there != nil:
		return fmt.Errorf("place task %q: it was changed meanwhile: %w", id, port.ErrConflict)
	}
	return nil
}

// putVersion puts the item if the stored version is w.Expected. If open is true, putVersion also requires
// that the stored item has no time to live.
func (s *Store) putVersion(ctx context.Context, w *port.Write, item attrs,
	open bool,
) (there attrs, doubt bool, err error) {
	condition := "#version = :expected"
	names := map[string]string{"#version": "Version"}
	if open {
		condition += " AND attribute_not_exists(#ttl)"
		names["#ttl"] = TTLAttribute
	}
	return s.put(ctx, s.tables.Orders, item, condition, names, attrs{":expected": num(w.Expected)})
}

// create puts the item if the order does not exist (P14, submit creates once). If the content is stored
// separately, create puts the content first. The key of the content contains the content's hash, so this put
// never replaces different content.
func (s *Store) create(ctx context.Context, w *port.Write, item attrs, writer []byte) error {
	if s.options.TTL > 0 {
		if ended, err := s.Ended(ctx, w.Record.ID); err != nil || ended {
			return cmp.Or(err, port.ErrExists)
		}
	}
	if w.Apart {
		if err := s.putContent(ctx, w); err != nil {
			return err
		}
	}
	there, doubt, err := s.put(ctx, s.tables.Orders, item, "attribute_not_exists(#id)",
		map[string]string{"#id": OrderKey}, nil)
	if err != nil || there == nil || mine(there, writer) { // rules 9 and 23
		return err
	}
	s.dropRefused(ctx, w, there)
	return refusal(there, w.Record.Version, doubt, port.ErrExists)
}

// put puts the item if the condition holds, and returns nil. If the condition does not hold, put returns the
// stored item (rule 8). The result is empty if no item is stored. doubt reports whether a try failed without
// a refusal by DynamoDB.
func (s *Store) put(ctx context.Context, table string, item attrs, condition string, names map[string]string,
	values attrs,
) (there attrs, doubt bool, err error) {
	return put(ctx, s.client, &dynamodb.PutItemInput{
		TableName: &table, Item: item, ConditionExpression: &condition, ExpressionAttributeNames: names,
		ExpressionAttributeValues: values,
	})
}

func put(ctx context.Context, client calls, in *dynamodb.PutItemInput) (there attrs, doubt bool, err error) {
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	var seen tries
	_, err = client.PutItem(ctx, in, seen.watch)
	if there, failed := standing(err); failed {
		return there, seen.doubt, nil
	}
	return nil, seen.doubt, meaning(ctx, "write", seen.doubt, err)
}

// standing reports whether err means that a condition did not hold, and returns the stored item. The item is
// empty if no item is stored.
func standing(err error) (there attrs, failed bool) {
	var check *types.ConditionalCheckFailedException
	failed = errors.As(err, &check)
	if failed && check.Item == nil {
		return attrs{}, true
	} else if failed {
		there = check.Item
	}
	return there, failed
}
