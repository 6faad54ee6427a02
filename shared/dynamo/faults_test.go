package dynamo_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func write(id string, version int64) port.Write {
	w := port.Write{Expected: version - 1, Record: port.Record{
		ID: id, Version: version, State: "Processing",
		Workflow: "order", Created: created,
		Bucket: port.DueBucket, IndexAt: created.Add(time.Minute),
		Document: fmt.Appendf(nil, `{"version":%d}`, version),
	}}
	return w
}

// refusing refuses one of the calls that pass through it, by its number from 1; 0: none.
type refusing struct {
	next         http.RoundTripper
	mu           sync.Mutex
	calls, which int
}

func (x *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	x.calls++
	refused := x.calls == x.which
	x.mu.Unlock()
	if !refused {
		return x.next.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: 400,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(coded("AccessDeniedException",
			"not authorized to perform this"))),
	}, nil
}

func (x *refusing) from(which int) (before int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before = x.calls
	x.calls = 0
	x.which = which
	return before
}

// Whichever of its several calls DynamoDB refuses, an operation answers with the error, and never with a part of
// the result. TestWhatAnswersMean tells it of operations with one call.
func TestNoRefusedCallIsPassedOver(t *testing.T) {
	x := &refusing{}
	client := dynamo.NewClient(dynamotest.Config(t,
		awsclient.Options{Wrap: func(next http.RoundTripper) http.RoundTripper { x.next = next; return x }}))
	s := dynamo.New(client, dynamotest.Tables(t, client).Tables,
		dynamo.Options{Shards: 1, FinishedIndex: true, Clock: memory.NewClock(now)})
	for i, bucket := range []port.Bucket{
		port.DueBucket, port.AttentionBucket, port.NoBucket,
		port.DueBucket,
	} {
		w := write(fmt.Sprint("task-", i), 1)
		w.Hash = "h"
		w.Apart = true
		w.Content = []byte("{}")
		w.Record.Bucket = bucket
		require.NoError(t, s.Commit(t.Context(), []port.Write{w})[0])
	}
	due, err := s.Due(t.Context(), port.DueBucket, 0, now, nil, 10)
	require.NoError(t, err)
	require.Len(t, due, 2)
	attempt := 0
	for name, do := range map[string]func() error{
		"commit": func() error {
			attempt++
			w := write(fmt.Sprint("new-", attempt), 1)
			w.Hash = "h"
			w.Apart = true
			w.Content = []byte("{}")
			return s.Commit(t.Context(), []port.Write{w})[0]
		},
		"content": func() error { _, err := s.Content(t.Context(), "task-0", "h"); return err },
		"due, a page on": func() error {
			_, err := s.Due(t.Context(), port.DueBucket, 0, now, &due[0],
				10)
			return err
		},
		"list": func() error { _, err := s.List(t.Context(), port.Query{Limit: 10}); return err },
		"list of a state": func() error {
			_, err := s.List(t.Context(), port.Query{Limit: 1, State: "Processing"})
			return err
		},
	} {
		x.from(0)
		require.NoError(t, do(), name)
		calls := x.from(0)
		for which := 1; which <= calls; which++ {
			x.from(which)
			require.ErrorContains(t, do(), "not authorized", name)
		}
		require.NotZero(t, calls, name)
	}
}
