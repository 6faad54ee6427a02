package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// follow reads so many events, and hangs up.
func (r *rig) follow(id string, after int64, count int) []view.Task {
	r.Helper()
	resp, err := http.Get(r.url + "/v1/orders/" + id + "/events?after=" + strconv.FormatInt(after, 10))
	require.NoError(r, err)
	defer resp.Body.Close()
	var all bytes.Buffer
	var tasks []view.Task
	for in := bufio.NewScanner(resp.Body); len(tasks) < count && in.Scan(); {
		all.WriteString(in.Text() + "\n")
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok {
			continue
		}
		var v view.Task
		require.NoError(r, json.Unmarshal([]byte(data), &v))
		tasks = append(tasks, v)
	}
	a := answer{resp.StatusCode, resp.Header, all.Bytes()}
	r.doc.check(r.T, "GET", "/v1/orders/"+id+"/events", a)
	r.report("GET", "/v1/orders/"+id+"/events", "", a)
	return tasks
}

// changes reads the first event of the stream of changes, and hangs up.
func (r *rig) changes(id string) {
	r.Helper()
	resp, err := http.Get(r.url + "/v1/changes?order=" + id)
	require.NoError(r, err)
	defer resp.Body.Close()
	first := make([]byte, len("event: changed\ndata:\n\n"))
	_, err = io.ReadFull(resp.Body, first)
	require.NoError(r, err)
	a := answer{resp.StatusCode, resp.Header, first}
	r.doc.check(r.T, "GET", "/v1/changes", a)
	r.report("GET", "/v1/changes", "", a)
}

// The stream of changes has an event at once, one for all changes of a second, and one each 15 s without any.
func TestChangesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := apitest.New()
		h := api.New(api.Config{Backend: backend})
		submit := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1/v1/orders",
			strings.NewReader(orderJSON("o")))
		submit.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), submit)
		began := time.Now()
		var at []time.Duration
		ctx, end := context.WithTimeout(t.Context(), 35*time.Second)
		defer end()
		go func() {
			time.Sleep(5 * time.Second)
			for range 30 { // in three seconds
				backend.Change("o", func(*protocol.Task) {})
				time.Sleep(100 * time.Millisecond)
			}
		}()
		w := &eventWriter{ResponseRecorder: httptest.NewRecorder(), each: func() {
			at = append(at, time.Since(began))
		}}
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/v1/changes", nil))
		require.Equal(t, []time.Duration{
			0, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second, 23 * time.Second,
		}, at)
	})
}

// eventWriter calls each with each event.
type eventWriter struct {
	*httptest.ResponseRecorder
	each func()
}

func (w *eventWriter) Write(b []byte) (int, error) {
	w.each()
	return w.ResponseRecorder.Write(b)
}

func TestEventsReportEachVersion(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	go r.backend.End("o")
	tasks := r.follow("o", 1, 1) // version 1 is known: it waits for the next
	require.Len(t, tasks, 1)
	require.EqualValues(t, 2, tasks[0].Version)
	require.Equal(t, core.Processed, tasks[0].State)
	first := r.follow("o", 0, 1)
	require.Len(t, first, 1)
	require.EqualValues(t, 2, first[0].Version)
}

// While an order does not change, a comment every 15 s shows that its stream still works.
func TestEventsHaveHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := api.New(api.Config{Backend: apitest.New()})
		call := func(ctx context.Context, method, path, body string) string {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			return w.Body.String()
		}
		call(t.Context(), "POST", "/v1/orders", orderJSON("o"))
		ctx, end := context.WithTimeout(t.Context(), 50*time.Second)
		defer end()
		require.Equal(t, 3, strings.Count(call(ctx, "GET", "/v1/orders/o/events?after=1", ""), ": alive\n\n"))
	})
}

// serving serves the handler on a port of its own, until stop is called; ended is how that ended.
func serving(t *testing.T, h http.Handler) (addr string, stop func(), ended <-chan error) {
	t.Helper()
	ln, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- api.Serve(ctx, ln, h) }()
	return ln.Addr().String(), stop, served
}

// TestServeDrains: long requests end with the process, short ones are finished, the port is free.
func TestServeDrains(t *testing.T) {
	addr, stop, served := serving(t, api.New(api.Config{Backend: apitest.New()}))
	url := "http://" + addr
	unused, err := net.Dial("tcp", addr) // as browsers do in advance
	require.NoError(t, err)
	defer unused.Close()
	post, err := http.Post(url+"/v1/orders", "application/json", strings.NewReader(orderJSON("o")))
	require.NoError(t, err)
	post.Body.Close()

	events, err := http.Get(url + "/v1/orders/o/events")
	require.NoError(t, err)
	defer events.Body.Close()
	in := bufio.NewReader(events.Body)
	_, err = in.ReadString('\n')
	require.NoError(t, err)
	waited := make(chan int, 1)
	go func() {
		resp, err := http.Get(url + "/v1/orders/o?wait=60s")
		if err != nil {
			waited <- 0
			return
		}
		defer resp.Body.Close()
		waited <- resp.StatusCode
	}()
	begin := time.Now()
	stop()
	select {
	case err := <-served:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	require.LessOrEqual(t, time.Since(begin), 4*time.Second)
	if status := <-waited; status != http.StatusOK && status != 0 { // 0: it came after the end
		t.Errorf("the waiting request got %d", status)
	}
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
	_, err = in.ReadString(0)
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

// bounded records the deadlines of its writes, and ends the request after the first one.
type bounded struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
	written   func()
}

func (b *bounded) SetWriteDeadline(at time.Time) error {
	b.deadlines = append(b.deadlines, at)
	return nil
}

func (b *bounded) Write(p []byte) (int, error) {
	b.written()
	return b.ResponseRecorder.Write(p)
}

// A reader that takes nothing holds its stream for a minute.
func TestWritesOfEventsAreBounded(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	ctx, cancel := context.WithCancel(t.Context())
	w := &bounded{ResponseRecorder: httptest.NewRecorder(), written: cancel}
	began := time.Now()
	api.New(api.Config{Backend: r.backend}).ServeHTTP(w,
		httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/v1/orders/o/events", nil))
	require.NotEmpty(t, w.deadlines)
	require.Equal(t, time.Minute, w.deadlines[0].Sub(began).Round(10*time.Second))
}

// A stream whose sender pauses ends with the process: it does not wait for the next line.
func TestServeEndsStreams(t *testing.T) {
	t.Parallel()
	addr, stop, served := serving(t, api.New(api.Config{Backend: apitest.New()}))
	defer stop()
	lines, feed := io.Pipe()
	defer feed.Close()
	go fmt.Fprintln(feed, orderJSON("o"))
	resp, err := http.Post("http://"+addr+"/v1/orders", "application/x-ndjson", lines)
	require.NoError(t, err)
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	require.True(t, in.Scan(), "answered %q, %v", in.Text(), in.Err())
	require.Contains(t, in.Text(), `"accepted":true`)
	stop()
	require.NoError(t, <-served)
	require.False(t, in.Scan(), "after the end: %q", in.Text())
}

// A request that does not end with the process is cut off, which is said.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	ended := make(chan struct{})
	addr, stop, served := serving(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
		panic(http.ErrAbortHandler)
	}))
	go func() {
		<-began
		stop()
	}()
	if resp, err := http.Get("http://" + addr); err == nil {
		resp.Body.Close()
		t.Error("it was answered")
	}
	<-ended
	require.ErrorContains(t, <-served, "some requests to "+addr+" had to be cut off after 3s")
}
