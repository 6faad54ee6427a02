package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Retention removes data, never identity (P26, an ID never runs twice). If orders expire, an order has up to
// three items: its own, its content if that is stored apart, and the tombstone, which never expires. Their
// writes are in this order:
//
//   - A commit that brings the order to rest puts the tombstone, then the item with its time to live, then
//     the time to live of the content. So an item that expires has a tombstone. After a crash before the last
//     write the content stays.
//   - A commit that continues the order after its rest removes the content's time to live before it puts the
//     item. So the order has its content. The condition on the item detects whether this is needed.
//   - A create reads the tombstone with a strongly consistent read before it puts the item. The tombstone of
//     an order that continues does no harm: the create is refused because the order's item exists.
//   - An order that is created at rest never expires, because a tombstone put before its item would refuse
//     the create's redelivery.
//
// Content that was erased (P52, erase removes content, not identity), and content of a create that was
// refused for other content, is overwritten with an item that only records this. A create never overwrites
// that item with content. Overwriting needs no permission to delete items. If orders expire, this item
// expires a week after its order. From then on the tombstone keeps a create from putting the content.
//
// All this relies on a time limit: one handling, which reads the tombstone and then puts content and item,
// takes less time than an order is kept: at most 15 minutes on Lambda, against at least an hour.
//
// Late writes cannot change the content's time to live in the wrong direction, because the content carries
// the order's version that set it.

const (
	endedSuffix      = "#ended"
	contentAttribute = "Content"
	erasedAttribute  = "Erased"  // time at which the content was removed
	hashMember       = "content" // the document's hash of content that is stored apart
	orderMember      = "Order"   // the document's content that is not stored apart
	statedBy         = "Version" // version of the order that set the content's time to live
	// contentGrace is the time by which content outlives its order, because items are removed in any order.
	contentGrace = 7 * 24 * 60 * 60
)

// contentKey returns the key of content that is stored apart.
func contentKey(id, hash string) string { return id + "#" + hash }

// expires reports whether the record is at rest and expires.
func (s *Store) expires(w *port.Write) bool {
	return s.options.TTL > 0 && w.Record.Bucket == port.NoBucket && w.Expected > 0
}

func (s *Store) expiresAt() int64 { return s.options.Clock.Now().Add(s.options.TTL).Unix() }

// putTombstone stores the part of an order that stays for ever.
func (s *Store) putTombstone(ctx context.Context, w *port.Write) error {
	item := attrs{
		OrderKey: str(w.Record.ID + endedSuffix), "ProcessState": str(w.Record.State),
		"Workflow": str(w.Record.Workflow),
		"Created":  moment(w.Record.Created), "Ended": moment(s.options.Clock.Now()),
	}
	if w.Hash != "" {
		item["ContentHash"] = str(w.Hash)
	}
	return s.putBeside(ctx, "put the tombstone", &dynamodb.PutItemInput{Item: item})
}

// putBeside puts a further item of an order. Repeating the put changes nothing, so its error never leaves the
// write in doubt. A condition that does not hold is not an error.
func (s *Store) putBeside(ctx context.Context, what string, in *dynamodb.PutItemInput) error {
	in.TableName = &s.tables.Orders
	_, err := s.client.PutItem(ctx, in)
	if _, failed := standing(err); failed {
		return nil
	}
	return perhaps(ctx, what, err)
}

// perhaps returns the port's error of a failed write that may be repeated: unavailable if there was no
// response.
func perhaps(ctx context.Context, what string, err error) error {
	if err != nil && ctx.Err() == nil && !refused(err) {
		return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
	}
	return meaning(ctx, what, false, err)
}

// putContent puts content that a create stores apart, unless it was erased.
func (s *Store) putContent(ctx context.Context, w *port.Write) error {
	return s.putBeside(ctx, "put the content", &dynamodb.PutItemInput{
		Item: attrs{OrderKey: str(contentKey(w.Record.ID, w.Hash)),
			contentAttribute: bytesOrText(w.Content)},
		ConditionExpression:      aws.String("attribute_not_exists(#erased)"),
		ExpressionAttributeNames: map[string]string{"#erased": erasedAttribute},
	})
}

// Erase overwrites the content.
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

// dropRefused erases the content of a create that was refused because the stored order has other content, or
// has the same content in its document. An error leaves the content, as a crash would.
func (s *Store) dropRefused(ctx context.Context, w *port.Write, there attrs) {
	hash := textOf(there[hashMember])
	// a Cancel that came first has no hash
	unneeded := hash != "" || there[orderMember] != nil || there["cancelAsked"] != nil
	if w.Apart && unneeded && hash != w.Hash {
		_ = s.Erase(ctx, w.Record.ID, w.Hash)
	}
}

// expireContent sets the content's time to live. An error leaves the content for ever, and must not refuse a
// commit that is stored.
func (s *Store) expireContent(ctx context.Context, w *port.Write) {
	_, _ = s.updateContent(ctx, w, "SET #ttl = :ttl, #by = :by",
		"attribute_exists(#id) AND (attribute_not_exists(#by) OR #by < :by)",
		attrs{":ttl": num(s.expiresAt() + contentGrace), ":by": num(w.Record.Version)})
}

// keepContent removes the content's time to live before its order continues. It returns ErrNotFound if the
// content has expired.
func (s *Store) keepContent(ctx context.Context, w *port.Write) error {
	there, err := s.updateContent(ctx, w, "REMOVE #ttl SET #by = :by",
		"attribute_exists(#id) AND (attribute_not_exists(#by) OR #by <= :by)",
		attrs{":by": num(w.Record.Version)})
	if err == nil && there != nil && len(there) == 0 {
		return fmt.Errorf("the content of the order has expired: %w", port.ErrNotFound)
	}
	return err // a newer version has set it: the condition on the order's item fails too
}

// updateContent updates the item. If the condition does not hold, it returns the stored item, without
// attributes if there is none.
func (s *Store) updateContent(ctx context.Context, w *port.Write, update, condition string,
	values attrs) (there attrs, err error) {
	_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &s.tables.Orders, Key: Key(OrderKey, contentKey(w.Record.ID, w.Hash)),
		UpdateExpression: &update, ConditionExpression: &condition, ExpressionAttributeValues: values,
		ExpressionAttributeNames: map[string]string{"#id": OrderKey, "#ttl": TTLAttribute,
			"#by": statedBy},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if there, failed := standing(err); failed {
		return there, nil
	}
	return nil, perhaps(ctx, "update the content", err)
}

// Content returns content that is stored apart. Content never changes, so a cheaper, eventually consistent
// read is correct if it finds the item. If it does not, a strongly consistent read decides.
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

// Ended reports whether an order of this ID has a tombstone.
func (s *Store) Ended(ctx context.Context, id string) (bool, error) {
	item, err := get(ctx, s.client, s.tables.Orders, OrderKey, id+endedSuffix, true)
	return len(item) > 0, err
}
