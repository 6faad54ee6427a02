package console_test

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// event is one event of a stream.
type event struct{ id, name, retry, data string }

// openStream opens a stream of the console.
func openStream(t testing.TB, via http.RoundTripper, address string) (next func() event, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := via.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	stop = func() {
		cancel()
		_ = answer.Body.Close() // after the context has ended
	}
	return func() event {
		t.Helper()
		defer time.AfterFunc(30*time.Second, cancel).Stop() // a heartbeat comes each 2 s
		var e event
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "retry":
				e.retry = value
			case "data":
				e.data += value + "\n"
			case "":
				return e
			}
		}
		require.Fail(t, "the stream has ended", "%v", lines.Err())
		return e
	}, stop
}

// livePages opens streams of a console whose server is in this process.
func livePages(t *testing.T, server http.Handler) func(path string) (next func() event, stop func()) {
	t.Helper()
	via := stacktest.Transport(t, pagesOf(clientOf(t, server)))
	return func(path string) (next func() event, stop func()) {
		t.Helper()
		next, stop = openStream(t, via, "http://127.0.0.1/live"+path)
		t.Cleanup(stop)
		return next, stop
	}
}

// An open page gets changes by itself, and a heartbeat each two seconds while nothing changes.
func TestStreamSendsChangesAndHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Bool
		changes := make(chan struct{})
		open := livePages(t, changing(changes, answers(t, func(*http.Request) any {
			o := view.Task{OrderID: "o-1", Workflow: "order", State: core.Processing}
			if ended.Load() {
				o.State = core.Processed
			}
			return o
		})))
		next, _ := open("/orders/o-1")
		began := time.Now()
		first := next()
		require.Contains(t, first.data, `<span class="state processing">Processing</span>`)
		beat := next()
		require.Equal(t, "beat", beat.name)
		require.Equal(t, 2*time.Second, time.Since(began))
		process, _, _ := strings.Cut(first.id, "-")
		require.NotEqual(t, first.id, beat.id)
		require.True(t, strings.HasPrefix(beat.id, process+"-"), beat.id)
		ended.Store(true)
		changes <- struct{}{}
		changed := next()
		require.Empty(t, changed.name)
		require.Contains(t, changed.data, `<span class="state processed">Processed</span>`)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// A browser has six connections to a server. If one host has too many streams, the oldest ends with the time
// of its next connection. The others continue. Streams that were left do not count.
func TestTooManyStreamsEndTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := livePages(t, recording(t, new(string)))
		first, _ := open("/workflows")
		first()
		for range 2 {
			var stops []func()
			for range 3 {
				next, stop := open("/workflows")
				next()
				stops = append(stops, stop)
			}
			for _, stop := range stops {
				stop()
			}
			synctest.Wait()
			require.Equal(t, "beat", first().name)
		}
		var last func() event
		for range 4 {
			last, _ = open("/workflows")
			last()
		}
		end := first()
		require.Equal(t, "beat", end.name)
		require.Equal(t, "3000", end.retry)
		beat := last()
		require.Equal(t, "beat", beat.name)
		require.Empty(t, beat.retry)
	})
}

// While orders change, an open page of a bulk command shows the plan that its form would send.
func TestAnOpenPlanStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped atomic.Int64
		stopped.Store(12)
		server := answers(t, func(r *http.Request) any {
			if id, one := strings.CutPrefix(r.URL.Path, "/v1/orders/"); one {
				return view.Task{
					OrderID: id, Workflow: "order", State: core.Error, Ended: true,
					Error: &view.TaskError{Step: "charge"}, Accepts: []view.Command{{Command: "resubmit"}},
				}
			}
			page := view.Page{Orders: []view.Summary{}}
			if r.URL.Path == "/v1/orders" && r.URL.Query().Get("state") == string(core.Error) {
				page.Orders = slices.Repeat([]view.Summary{{
					OrderID: "o", Workflow: "order", State: core.Error,
					Error: &view.TaskError{Step: "charge"},
				}}, int(stopped.Load()))
			}
			return page
		})
		next, _ := livePages(t, server)("/bulk?command=resubmit&step=charge")
		require.Contains(t, next().data, "<strong>12</strong> it would go on with charge")
		stopped.Store(13)
		for range 2 {
			require.Equal(t, "beat", next().name)
		}
	})
}
