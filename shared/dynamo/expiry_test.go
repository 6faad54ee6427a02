package dynamo_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// expiring is a store whose orders expire after 30 days, and a plain client of its table.
type expiring struct {
	*testing.T
	*dynamo.Store
	client *dynamodb.Client
	table  string
}

func newExpiring(t *testing.T) expiring {
	t.Helper()
	client := dynamo.NewClient(dynamotest.Config(t, awsclient.Options{}))
	names := dynamotest.Tables(t, client)
	return expiring{t, dynamo.New(client, names.Tables,
		dynamo.Options{TTL: 30 * 24 * time.Hour, Clock: memory.NewClock(now)}), client, names.Orders}
}

// commit writes a version of order a, whose content is kept apart.
func (x expiring) commit(version int64, bucket port.Bucket, want error) {
	x.Helper()
	w := write("a", version)
	w.Hash = "h"
	w.Apart = true
	w.Record.Bucket = bucket
	if version == 1 {
		w.Content = []byte("{}")
	}
	require.ErrorIs(x, x.Commit(x.Context(), []port.Write{w})[0], want, "%+v", version)
}

// days are after how many days the items of order a expire: its own, its content and its tombstone. 0: never,
// -1: absent.
func (x expiring) days(want [3]int) {
	x.Helper()
	var got [3]int
	for i, key := range []string{"a", "a#h", "a#ended"} {
		out, err := x.client.GetItem(x.Context(), &dynamodb.GetItemInput{
			TableName: &x.table,
			Key:       dynamo.Key(dynamo.OrderKey, key), ConsistentRead: aws.Bool(true),
		})
		require.NoError(x, err)
		var at int64
		switch n, there := out.Item[dynamo.TTLAttribute].(*types.AttributeValueMemberN); {
		case there:
			at, _ = strconv.ParseInt(n.Value, 10, 64)
			got[i] = int((at - now.Unix()) / (24 * 60 * 60))
		case out.Item == nil:
			got[i] = -1
		}
	}
	require.Equal(x, want, got)
}

func (x expiring) remove(keys ...string) {
	x.Helper()
	for _, key := range keys {
		_, err := x.client.DeleteItem(x.Context(), &dynamodb.DeleteItemInput{
			TableName: &x.table,
			Key:       dynamo.Key(dynamo.OrderKey, key),
		})
		require.NoError(x, err)
	}
}

// P26: an order at rest expires with its content, and its ID never runs again. One that is taken up again
// keeps its content.
func TestOrdersExpire(t *testing.T) {
	x := newExpiring(t)
	x.commit(1, port.DueBucket, nil)
	x.days([3]int{0, 0, -1})
	x.commit(2, port.NoBucket, nil)
	x.days([3]int{30, 37, 0})
	x.commit(3, port.NoBucket, nil) // a verdict
	x.days([3]int{30, 37, 0})
	x.commit(4, port.DueBucket, nil) // it goes on
	x.days([3]int{0, 0, 0})
	x.commit(1, port.DueBucket, port.ErrExists) // what is there decides
	records, errs := x.Load(t.Context(), []string{"a"})
	require.NoError(t, errs[0])
	require.NotNil(t, records[0], "%+v, %v", records[0], errs[0])
	require.EqualValues(t, 4, records[0].Version)
	x.commit(4, port.NoBucket, port.ErrConflict) // of a writer that was slower
	x.days([3]int{0, 0, 0})
	x.commit(5, port.NoBucket, nil)
	x.days([3]int{30, 37, 0})
	x.remove("a", "a#h")
	x.commit(1, port.DueBucket, port.ErrExists)
	x.commit(6, port.DueBucket, port.ErrNotFound)
	ended, err := x.Ended(t.Context(), "a")
	require.True(t, ended, "its ID is forgotten: %v", err)
	require.NoError(t, err)
}

// A commit to rest that is refused, or that dies between its writes, leaves a tombstone beside an order that
// goes on: the order decides.
func TestATombstoneBesideItsOrder(t *testing.T) {
	x := newExpiring(t)
	x.commit(1, port.DueBucket, nil)
	x.commit(3, port.NoBucket, port.ErrConflict)
	x.days([3]int{0, 0, 0})
	x.commit(1, port.DueBucket, port.ErrExists)
	x.commit(2, port.DueBucket, nil)
	x.days([3]int{0, 0, 0})
}

// An order that is at rest when it is created has no tombstone, which would refuse its own redelivery; so it
// never expires.
func TestARestAtCreation(t *testing.T) {
	x := newExpiring(t)
	x.commit(1, port.NoBucket, nil)
	x.days([3]int{0, 0, -1})
	x.commit(2, port.NoBucket, nil)
	x.days([3]int{30, 37, 0})
}

// An order whose content has expired is not taken up again.
func TestAnExpiredContent(t *testing.T) {
	x := newExpiring(t)
	x.commit(1, port.DueBucket, nil)
	x.commit(2, port.NoBucket, nil)
	x.remove("a#h")
	x.commit(3, port.DueBucket, port.ErrNotFound)
	x.days([3]int{30, -1, 0})
}

// P52: content that was erased is never stored again, whatever comes late. Its item says so for as long as
// that of its order is there.
func TestErasedContentStaysAway(t *testing.T) {
	x := newExpiring(t)
	x.commit(1, port.DueBucket, nil)
	x.commit(2, port.NoBucket, nil)
	for range 2 {
		require.NoError(t, x.Erase(t.Context(), "a", "h"))
	}
	x.days([3]int{30, 37, 0})
	gone := func() {
		t.Helper()
		_, err := x.Content(t.Context(), "a", "h")
		require.ErrorIs(t, err, port.ErrNotFound)
	}
	gone()
	x.commit(1, port.DueBucket, port.ErrExists)
	gone()
	x.remove("a#ended") // orders that do not expire have none
	x.commit(1, port.DueBucket, port.ErrExists)
	gone()
	require.NoError(t, x.Erase(t.Context(), "a", "other"))
	x.remove("a#h")
	x.days([3]int{30, -1, -1})
}

// A submission that is refused for its content, or because a Cancel came first, leaves no content behind.
func TestRefusedContentGoes(t *testing.T) {
	for name, apart := range map[string]bool{"other content": true, "content in the document, or none": false} {
		x := newExpiring(t)
		w := write("a", 1)
		w.Hash = "h"
		w.Apart = apart
		if apart {
			w.Content = []byte(`{"of":"a person"}`)
		}
		require.NoError(t, x.Commit(t.Context(), []port.Write{w})[0])
		for _, hash := range []string{"h", "of-other"} {
			w := write("a", 1)
			w.Hash = hash
			w.Apart = true
			w.Content = []byte(`{"of":"a person"}`)
			require.ErrorIs(t, x.Commit(t.Context(), []port.Write{w})[0], port.ErrExists, name)
			_, err := x.Content(t.Context(), "a", hash)
			require.Equal(t, apart && hash == "h", err == nil, name)
		}
	}
}
