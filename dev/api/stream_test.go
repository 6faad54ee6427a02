package api_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (r *rig) stream(body string) []api.LineResult {
	r.Helper()
	a := r.do("POST", "/v1/orders", "application/x-ndjson", body)
	require.Equal(r, http.StatusOK, a.status)
	var results []api.LineResult
	for line := range bytes.Lines(a.body) {
		var l api.LineResult
		require.NoError(r, json.Unmarshal(line, &l))
		results = append(results, l)
	}
	return results
}

// code is "" for an accepted line, "known" for one that was known, else the error's.
func code(l api.LineResult) string {
	switch {
	case l.Error != nil && !l.Accepted:
		return l.Error.Code
	case l.Known:
		return "known"
	case !l.Accepted:
		return "neither"
	}
	return ""
}

func TestStreamBadLinesAffectNoOther(t *testing.T) {
	r := newRig(t)
	lines := []struct{ text, code string }{
		{"\xef\xbb\xbf" + orderJSON("o-1"), ""},
		{`{"schema":1,`, "not-json"},
		{orderJSON("o-2") + "\r", ""},
		{strings.Repeat("x", 2*message.MaxSubmission), "too-large"},
		{orderJSON("o-3"), ""},
		{orderJSON("o-1"), "known"},
		{strings.Replace(orderJSON("o-1"), "12.50", "1", 1), "other-content"},
		{strings.Replace(orderJSON("o-4"), `"workflow":"order"`, `"workflow":"nope"`, 1), "unknown-workflow"},
		{strings.Repeat("[", 10_000), "not-json"},
		{"\xff\xfe", "not-json"},
		{orderJSON("../x"), "invalid-field"},
		{orderJSON("o-5"), ""},
	}
	var body strings.Builder
	for _, l := range lines {
		body.WriteString(l.text + "\n \n") // a blank line behind each
	}
	results := r.stream(strings.TrimSuffix(body.String(), "\n \n")) // the last one without an end
	require.Len(t, results, len(lines))
	for i, got := range results {
		require.Equal(t, 2*i+1, got.Line, "%+v", i)
		require.Equal(t, lines[i].code, code(got), "%+v", i)
	}
	for _, id := range []string{"o-1", "o-2", "o-3", "o-5"} {
		require.NotNil(t, r.backend.Seen(id), "order %s was not stored", id)
	}
}

// TestStreamEarlierLineWins: two contents for one ID, the first line is the order.
func TestStreamEarlierLineWins(t *testing.T) {
	r := newRig(t)
	var body strings.Builder
	for i := range 200 {
		fmt.Fprintln(&body, strings.Replace(orderJSON(fmt.Sprintf("o-%d", i%3)), "12.50", fmt.Sprint(i), 1))
	}
	for i, got := range r.stream(body.String()) {
		require.Equal(t, got.Accepted, i < 3, "%+v", got.Line)
	}
}

// TestStreamAnswersWhileItIsSent: a sender that waits for each answer before the next line.
func TestStreamAnswersWhileItIsSent(t *testing.T) {
	r := newRig(t)
	body, feed := io.Pipe()
	answers := make(chan *http.Response, 1)
	go func() {
		resp, err := http.Post(r.url+"/v1/orders", "application/x-ndjson", body)
		if err != nil {
			t.Error(err)
			close(answers)
			return
		}
		answers <- resp
	}()
	fmt.Fprintln(feed, orderJSON("o-0"))
	resp, ok := <-answers
	if !ok {
		return
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	for i := range 5 {
		require.True(t, in.Scan(), "%+v", i)
		require.Contains(t, in.Text(), fmt.Sprintf(`"o-%d"`, i), "%+v", i)
		fmt.Fprintln(feed, orderJSON(fmt.Sprintf("o-%d", i+1)))
	}
	feed.Close()
	for in.Scan() {
	}
	require.NoError(t, in.Err())
}

func TestStreamWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.backend.Busy(5)
	results := r.stream(orderJSON("o-1") + "\n" + orderJSON("o-2") + "\n")
	for _, got := range results {
		require.True(t, got.Accepted, "%+v %+v", got, got.Error)
	}
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	for _, got := range r.stream(orderJSON("o-3") + "\n") {
		require.False(t, got.Accepted, "%+v", got)
		require.Equal(t, "unavailable", got.Error.Code, "%+v", got)
		require.NotZero(t, got.Error.RetryAfter, "%+v", got)
	}
}

// TestStreamSenderHangsUp: what was read is stored, and the server goes on.
func TestStreamSenderHangsUp(t *testing.T) {
	r := newRig(t)
	body, feed := io.Pipe()
	go func() {
		fmt.Fprintln(feed, orderJSON("o-1"))
		fmt.Fprint(feed, orderJSON("half")[:20])
		feed.CloseWithError(io.ErrUnexpectedEOF)
	}()
	resp, err := http.Post(r.url+"/v1/orders", "application/x-ndjson", body)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	r.submit("o-2")
	require.Nil(t, r.backend.Seen("half"))
}

// stalled holds back what the server writes after the header, until it is let go.
type stalled struct {
	net.Listener
	letGo chan struct{}
}

func (s *stalled) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	return &stalledConn{Conn: conn, letGo: s.letGo}, err
}

type stalledConn struct {
	net.Conn
	letGo  chan struct{}
	writes int
}

func (c *stalledConn) Write(b []byte) (int, error) {
	if c.writes++; c.writes > 1 {
		<-c.letGo
	}
	return c.Conn.Write(b)
}

// TestStreamSenderReadsLast: a sender that reads no answer before it has sent everything.
func TestStreamSenderReadsLast(t *testing.T) {
	const n = 2000
	b := apitest.New()
	s := httptest.NewUnstartedServer(api.New(api.Config{Backend: b}))
	held := &stalled{s.Listener, make(chan struct{})}
	s.Listener = held
	s.Start()
	defer s.Close()
	body, feed := io.Pipe()
	sent := make(chan struct{})
	go func() {
		for i := range n {
			fmt.Fprintln(feed, orderJSON(fmt.Sprintf("o-%d", i)))
		}
		b.Arrived(fmt.Sprintf("o-%d", n-1))
		close(sent)
		feed.Close()
	}()
	resp, err := http.Post(s.URL+"/v1/orders", "application/x-ndjson", body)
	require.NoError(t, err)
	defer resp.Body.Close()
	<-sent
	close(held.letGo)
	data, err := io.ReadAll(resp.Body)
	got := bytes.Count(data, []byte("\n"))
	require.NoError(t, err)
	require.Equal(t, n, got)
}

// TestStreamLeavesItsConnectionInOrder: the next requests on the same connection are not cancelled.
func TestStreamLeavesItsConnectionInOrder(t *testing.T) {
	r := newRig(t)
	for range 100 {
		r.stream(orderJSON("o") + "\n")
		r.get("/v1/orders/o?wait=1ms")
	}
	require.Zero(t, r.backend.HungUp.Load())
}

// A panic while orders of a stream are submitted is an answer to their lines. The stream goes on, and so does
// the server.
func TestStreamGoesOnAfterAPanic(t *testing.T) {
	r := newRig(t)
	r.backend.Panic = "boom"
	before := port.Panics()
	results := r.stream(orderJSON("boom") + "\n" + orderJSON("boom") + "\n" + orderJSON("o-1") + "\n")
	require.Len(t, results, 3)
	require.Equal(t, "internal", code(results[0]))
	require.Equal(t, "internal", code(results[1]))
	require.NotEqual(t, before, port.Panics())
	r.submit("o-2")
}
