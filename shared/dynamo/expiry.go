package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Expired orders lose their data, but nobody can use their IDs again (P26, an ID never runs twice). If orders
// expire, an order has up to three items:
//
//   - the order itself
//   - the content of the order, if the content is stored separately
//   - a tombstone, which never expires
//
// A commit that brings the order to rest makes three writes. First it puts the tombstone, so that each order
// that expires has a tombstone. Then it puts the order's item with a time to live. Finally it sets the time
// to live of the content. After a crash before the last write, the content never expires.
//
// A commit that continues an order at rest removes the content's time to live first, and then puts the
// order's item. Otherwise the content could expire while the order continues. The order keeps its tombstone.
//
// A create makes a strongly consistent read of the tombstone before it puts the order's item. If a tombstone
// exists, the create fails.
//
// An order that is at rest when it is created has no tombstone and never expires. If the create put a
// tombstone first, a repetition of the create would fail because of this tombstone.
//
// Erase overwrites the content with an item that only records the time (P52, erase removes content, not
// identity). Overwriting needs no permission to delete items. A create never replaces an erased item with
// content. If orders expire, the erased item expires at the time of the erasure plus Options.TTL and
// contentGrace. After that, a create fails because of the order's tombstone.
//
// A create would miss the tombstone if an order with the same ID came to rest and expired during the create.
// This does not happen, because a create on Lambda takes at most 15 minutes, and an order is stored for at
// least an hour after it comes to rest.
//
// The item of the content contains the version of the order that last changed its time to live. A late write
// of an older version therefore cannot change the time to live.

const (
	endedSuffix      = "#ended"
	contentAttribute = "Content"
	erasedAttribute  = "Erased"      // time of the erasure
	hashAttribute    = "ContentHash" // hash of separate content
	statedBy         = "Version"     // version of the order that last changed the content's time to live
	// contentGrace is the time from the expiry of an order to the expiry of its content, in seconds. DynamoDB
	// may remove expired items days late. The content must stay until the order's item is removed.
	contentGrace = 7 * 24 * 60 * 60
)

func contentKey(id, hash string) string { return id + "#" + hash }

// expires reports whether the write brings an order to rest, so that the order will expire.
func (s *Store) expires(w *port.Write) bool {
	return s.options.TTL > 0 && w.Record.Bucket == port.NoBucket && w.Expected > 0
}

func (s *Store) expiresAt() int64 { return s.options.Clock.Now().Add(s.options.TTL).Unix() }

func (s *Store) putTombstone(ctx context.Context, w *port.Write) error {
	item := attrs{
		OrderKey: str(w.Record.ID + endedSuffix), "ProcessState": str(w.Record.State),
		"Workflow": str(w.Record.Workflow),
		"Created":  moment(w.Record.Created), "Ended": moment(s.options.Clock.Now()),
	}
	if w.Hash != "" {
		item[hashAttribute] = str(w.Hash)
	}
	return s.putBeside(ctx, "put the tombstone", &dynamodb.PutItemInput{Item: item})
}

// putBeside puts a tombstone or a content item. It returns nil if the condition of the put does not hold. The
// caller can repeat the put after an error, because a repetition has no further effect.
func (s *Store) putBeside(ctx context.Context, what string, in *dynamodb.PutItemInput) error {
	in.TableName = &s.tables.Orders
	_, err := s.client.PutItem(ctx, in)
	if _, failed := standing(err); failed {
		return nil
	}
	return perhaps(ctx, what, err)
}

// perhaps converts the error of a write that the caller can repeat without a further effect. If DynamoDB did
// not refuse the write, the result wraps port.ErrUnavailable.
func perhaps(ctx context.Context, what string, err error) error {
	if err != nil && ctx.Err() == nil && !refused(err) {
		return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
	}
	return meaning(ctx, what, false, err)
}

// putContent puts the content of a create, unless the content was erased.
func (s *Store) putContent(ctx context.Context, w *port.Write) error {
	return s.putBeside(ctx, "put the content", &dynamodb.PutItemInput{
		Item: attrs{
			OrderKey:         str(contentKey(w.Record.ID, w.Hash)),
			contentAttribute: bytesOrText(w.Content),
		},
		ConditionExpression:      aws.String("attribute_not_exists(#erased)"),
		ExpressionAttributeNames: map[string]string{"#erased": erasedAttribute},
	})
}

// Erase overwrites content that is stored separately. It returns nil if the content does not exist.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	item := attrs{OrderKey: str(contentKey(id, hash)), erasedAttribute: moment(s.options.Clock.Now())}
	if s.options.TTL > 0 {
		item[TTLAttribute] = num(s.expiresAt() + contentGrace)
	}
	return s.putBeside(ctx, fmt.Sprintf("erase the content of order %q", id), &dynamodb.PutItemInput{
		Item: item, ConditionExpression: aws.String("attribute_exists(#id)"),
		ExpressionAttributeNames: map[string]string{"#id": OrderKey},
	})
}

// dropRefused erases the separate content of a refused create if the stored task does not use this content. If
// the erasure fails, the content stays.
func (s *Store) dropRefused(ctx context.Context, w *port.Write, there attrs) {
	if w.Apart && textOf(there[hashAttribute]) != w.Hash {
		_ = s.Erase(ctx, w.Record.ID, w.Hash)
	}
}

// expireContent sets the content's time to live. It ignores an error, because the commit is already stored.
// After an error the content never expires.
func (s *Store) expireContent(ctx context.Context, w *port.Write) {
	_, _ = s.updateContent(ctx, w, "SET #ttl = :ttl, #by = :by",
		"attribute_exists(#id) AND (attribute_not_exists(#by) OR #by < :by)",
		attrs{":ttl": num(s.expiresAt() + contentGrace), ":by": num(w.Record.Version)})
}

// keepContent removes the content's time to live before the order continues. It returns port.ErrNotFound if
// the content has expired.
func (s *Store) keepContent(ctx context.Context, w *port.Write) error {
	there, err := s.updateContent(ctx, w, "REMOVE #ttl SET #by = :by",
		"attribute_exists(#id) AND (attribute_not_exists(#by) OR #by <= :by)",
		attrs{":by": num(w.Record.Version)})
	if err == nil && there != nil && len(there) == 0 {
		return fmt.Errorf("the content of the order has expired: %w", port.ErrNotFound)
	}
	// The condition may fail because a newer version of the order has set the time to live. The later put of
	// the order's item then fails with a conflict.
	return err
}

// updateContent updates the item of the content. It returns nil after a successful update. If the condition
// does not hold, it returns the stored item, which is empty if no item is stored.
func (s *Store) updateContent(ctx context.Context, w *port.Write, update, condition string,
	values attrs,
) (there attrs, err error) {
	_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.tables.Orders, Key: Key(OrderKey, contentKey(w.Record.ID, w.Hash)),
		UpdateExpression: &update, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ExpressionAttributeNames: map[string]string{
			"#id": OrderKey, "#ttl": TTLAttribute,
			"#by": statedBy,
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := standing(err); failed {
		return there, nil
	}
	return nil, perhaps(ctx, "update the content", err)
}

// Content returns content that is stored separately. It first makes an eventually consistent read, because
// this read is cheaper. If this read returns content, the result is correct, because content never changes.
// Otherwise Content makes a strongly consistent read.
func (s *Store) Content(ctx context.Context, id, hash string) ([]byte, error) {
	for _, consistent := range []bool{false, true} {
		item, err := get(ctx, s.client, s.tables.Orders, OrderKey, contentKey(id, hash), consistent)
		if err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
		if content := bytesOf(item[contentAttribute]); len(content) > 0 {
			return content, nil
		}
	}
	return nil, fmt.Errorf("content of order %q: %w", id, port.ErrNotFound)
}

// Ended reports whether the order with this ID has a tombstone.
func (s *Store) Ended(ctx context.Context, id string) (bool, error) {
	item, err := get(ctx, s.client, s.tables.Orders, OrderKey, id+endedSuffix, true)
	return len(item) > 0, err
}
