package dynamo

import (
	"fmt"
	"maps"
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

// reserved lists the attributes that are not members of the document.
var reserved = []string{IndexBucket, IndexSort, TTLAttribute, writerAttribute, documentAttribute}

// item returns the item of a record. If possible, each member of the document becomes an attribute of the
// item. Otherwise one attribute contains the whole document.
func (s *Store) item(r *port.Record, writer []byte) (attrs, error) {
	extra := attrs{writerAttribute: blob(writer)}
	s.index(r, extra)
	a, shown := shownItem(r)
	if shown {
		maps.Copy(a, extra)
		shown = Size(a) <= maxItem
	}
	if !shown {
		a = attrs{
			OrderKey: str(r.ID), "Version": num(r.Version), "ProcessState": str(r.State),
			"Workflow": str(r.Workflow),
			"Created":  moment(r.Created), documentAttribute: bytesOrText(r.Document),
		}
		maps.Copy(a, extra)
	}
	if n := Size(a); n > maxItem {
		return nil, fmt.Errorf("task %q: its item has %d bytes, DynamoDB's limit is %d: %w", r.ID, n, maxItem,
			port.ErrTooLarge)
	}
	return a, nil
}

// shownItem returns the document's members as attributes. It returns false if the document cannot be
// converted, if a member has a reserved name, or if a member differs from its field in the record.
func shownItem(r *port.Record) (attrs, bool) {
	a, err := attributesOf(r.Document)
	if err != nil {
		return nil, false
	}
	for _, name := range reserved {
		if a[name] != nil {
			return nil, false
		}
	}
	same := isText(a[OrderKey], r.ID) && isText(a["ProcessState"], r.State) &&
		isText(a["Workflow"], r.Workflow) &&
		isText(a["Created"], r.Created.UTC().Format(timeLayout)) && isNumber(a["Version"], r.Version)
	return a, same
}

func isText(v types.AttributeValue, want string) bool {
	s, ok := v.(*types.AttributeValueMemberS)
	return ok && s.Value == want
}

func isNumber(v types.AttributeValue, want int64) bool {
	n, ok := v.(*types.AttributeValueMemberN)
	return ok && n.Value == strconv.FormatInt(want, 10)
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

// record returns the record in an item. If the item is damaged, the record has no document. The caller fails
// when it decodes this record. It can still use the other records of the batch.
func record(a attrs) *port.Record {
	r := &port.Record{
		ID: textOf(a[OrderKey]), Version: numberOf(a["Version"]), State: textOf(a["ProcessState"]),
		Workflow: textOf(a["Workflow"]), Created: timeOf(a["Created"]), Hash: textOf(a[hashMember]),
	}
	if bucket := textOf(a[IndexBucket]); bucket != "" && !strings.HasPrefix(bucket, finishedPrefix) {
		name, _, _ := strings.Cut(bucket, "#")
		r.Bucket = port.Bucket(name)
		r.IndexAt = indexTime(a)
	}
	if raw := a[documentAttribute]; raw != nil {
		r.Document = bytesOf(raw)
		return r
	}
	for _, name := range reserved {
		delete(a, name)
	}
	document, err := appendObject(make([]byte, 0, 2*Size(a)), a)
	if err == nil {
		r.Document = document
	}
	return r
}

// ItemSize returns the size in bytes of the item that Commit writes for the record. It counts bytes as
// DynamoDB does.
func (s *Store) ItemSize(r *port.Record) (int, error) {
	a, err := s.item(r, token())
	return Size(a), err
}
