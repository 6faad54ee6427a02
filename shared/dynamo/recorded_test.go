package dynamo_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// recordedItems serves testdata/schema2/items.json, which holds one item of each kind as DynamoDB sends it.
func recordedItems(t *testing.T) (*dynamo.Store, *dynamo.Ledger) {
	t.Helper()
	text, err := os.ReadFile("testdata/schema2/items.json")
	require.NoError(t, err)
	var tables map[string]map[string]json.RawMessage // items by table and key
	require.NoError(t, json.Unmarshal(text, &tables))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			TableName string
			Key       map[string]struct{ S string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		out := map[string]json.RawMessage{}
		for _, key := range in.Key {
			if item, there := tables[in.TableName][key.S]; there {
				out["Item"] = item
			}
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(srv.Close)
	c, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: srv.URL})
	require.NoError(t, err)
	client := dynamo.NewClient(c)
	return dynamo.New(client, dynamo.Tables{Orders: "orders", Definitions: "definitions"}, dynamo.Options{}),
		dynamo.NewLedger(client, "ledger")
}

// Every later program reads the items of schema 2. None is recorded again.
func TestItemsOfSchema2AreRead(t *testing.T) {
	ctx := t.Context()
	s, ledger := recordedItems(t)
	for id, w := range map[string]struct {
		document string
		bucket   port.Bucket
		at       int64
	}{
		"order-000123":                         {"usual", port.DueBucket, created.UnixMilli() + 40_000},
		"0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234": {"goes-well-end", port.NoBucket, 0},
	} {
		records, errs := s.Load(ctx, []string{id})
		require.NoError(t, errs[0], id)
		require.NotNil(t, records[0], id)
		recorded, err := os.ReadFile("../state/testdata/schema2/" + w.document + ".json")
		require.NoError(t, err)
		want, err := state.DecodeTask(recorded)
		require.NoError(t, err)
		r := records[0]
		got, err := state.DecodeTask(r.Document)
		require.NoError(t, err, id)
		require.Equal(t, want, got, id)
		if r.ID != id || r.Version != want.Version || r.State != string(want.ProcessState) ||
			r.Workflow != "order" || !r.Created.Equal(created) || r.Bucket != w.bucket ||
			w.at != 0 && r.IndexAt.UnixMilli() != w.at {
			t.Errorf("%s: %+v", id, r)
		}
	}
	b, err := s.Content(ctx, "order-000123", "fedcba9876543210fedcba9876543210")
	require.NoError(t, err)
	require.Equal(t, `{"n":1.50}`, string(b))
	_, err = s.Content(ctx, "erased", "hash")
	require.ErrorIs(t, err, port.ErrNotFound, "erased content")
	ended, err := s.Ended(ctx, "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234")
	require.NoError(t, err)
	require.True(t, ended, "tombstone: %v, %v", ended, err)
	b, _ = s.Definition(ctx, "67d6291b301412df4a6ca7808aeafac9")
	require.Equal(t, `{"schema":1}`, string(b), "definition")
	until, err := s.LeaseUntil(ctx, "shard-0")
	require.NoError(t, err)
	require.True(t, until.Equal(created.Add(time.Minute)), "lease: %v, %v", until, err)
	want := port.LedgerEntry{
		Key: "order-000123/0/charge", State: "failed", Attempt: 2, Command: 1,
		Output: []byte(`{"a":1}`), Code: "refused", Message: "no", Version: 1,
	}
	e, err := ledger.Entry(ctx, want.Key)
	require.NoError(t, err)
	require.Equal(t, want, e)
}
