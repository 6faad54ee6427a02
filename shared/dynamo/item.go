package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type attrs = map[string]types.AttributeValue

const (
	timeLayout     = "2006-01-02T15:04:05.000Z"
	finishedPrefix = "finished#"
)

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
func blob(b []byte) types.AttributeValue      { return &types.AttributeValueMemberB{Value: b} }
func moment(t time.Time) types.AttributeValue { return str(t.UTC().Format(timeLayout)) }

// bytesOrText returns a string attribute if b is valid UTF-8, so that people can read the value. Otherwise it
// returns a binary attribute.
func bytesOrText(b []byte) types.AttributeValue {
	if utf8.Valid(b) {
		return str(string(b))
	}
	return blob(b)
}

func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	}
	return ""
}

func bytesOf(v types.AttributeValue) []byte {
	if s := textOf(v); s != "" {
		return []byte(s)
	}
	return nil
}

func numberOf(v types.AttributeValue) int64 {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		i, _ := strconv.ParseInt(n.Value, 10, 64)
		return i
	}
	return 0
}

func timeOf(v types.AttributeValue) time.Time {
	t, _ := time.Parse(timeLayout, textOf(v))
	return t
}

func indexTime(a attrs) time.Time { return time.UnixMilli(numberOf(a[IndexSort])).UTC() }

// item returns the item of a write: what the conditions, the index and the listings need, and the document.
func (s *Store) item(w *port.Write, writer []byte) (attrs, error) {
	r := &w.Record
	if n := len(r.Document); n > port.MaxDocument {
		return nil, fmt.Errorf("task %q: its document has %d bytes, the limit is %d: %w", r.ID, n,
			port.MaxDocument, port.ErrTooLarge)
	}
	a := attrs{
		OrderKey: str(r.ID), "Version": num(r.Version), "ProcessState": str(r.State),
		"Workflow": str(r.Workflow), "Created": moment(r.Created), documentAttribute: blob(compress(r.Document)),
		writerAttribute: blob(writer),
	}
	if w.Apart {
		a[hashAttribute] = str(w.Hash)
	}
	s.index(r, a)
	if n := Size(a); n > maxItem {
		return nil, fmt.Errorf("task %q: its item has %d bytes, DynamoDB's limit is %d: %w", r.ID, n, maxItem,
			port.ErrTooLarge)
	}
	return a, nil
}

// index adds the attributes of the index to the item a. If the order is at rest and expires, index also adds
// the time to live.
func (s *Store) index(r *port.Record, a attrs) {
	shard := strconv.Itoa(port.ShardOf(r.ID, s.options.Shards))
	switch {
	case r.Bucket != port.NoBucket:
		a[IndexBucket] = str(string(r.Bucket) + "#" + shard)
		a[IndexSort] = num(sortKey(r.IndexAt))
	case s.options.FinishedIndex:
		a[IndexBucket] = str(finishedPrefix + r.Created.UTC().Format(time.DateOnly) + "#" + shard)
		a[IndexSort] = num(sortKey(r.Created))
	}
	// Version 1 has no time to live: an order that is at rest when it is created never expires.
	if r.Bucket == port.NoBucket && s.options.TTL > 0 && r.Version > 1 {
		a[TTLAttribute] = num(s.expiresAt())
	}
}

func sortKey(t time.Time) int64 { return t.UnixMilli() }

// record returns the record in an item. If the item is damaged, the record says so, and the caller can still
// use the other records of the batch.
func record(a attrs) *port.Record {
	r := &port.Record{
		ID: textOf(a[OrderKey]), Version: numberOf(a["Version"]), State: textOf(a["ProcessState"]),
		Workflow: textOf(a["Workflow"]), Created: timeOf(a["Created"]), Hash: textOf(a[hashAttribute]),
	}
	if bucket := textOf(a[IndexBucket]); bucket != "" && !strings.HasPrefix(bucket, finishedPrefix) {
		name, _, _ := strings.Cut(bucket, "#")
		r.Bucket = port.Bucket(name)
		r.IndexAt = indexTime(a)
	}
	if schema := numberOf(a["Schema"]); schema != 0 {
		// Older versions stored each member of the document as an attribute. The reader of documents names them.
		r.Document = fmt.Appendf(nil, `{"Schema":%d}`, schema)
		return r
	}
	r.Document, r.Damage = documentOf(a)
	return r
}

// ItemSize returns the size in bytes of the item that Commit writes. It counts bytes as DynamoDB does.
func (s *Store) ItemSize(w *port.Write) (int, error) {
	a, err := s.item(w, token())
	return Size(a), err
}
