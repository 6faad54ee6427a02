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

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (r *rig) stream(body string) []api.LineResult {
	r.Helper()
	a := r.do("POST", "/v1/orders", "application/x-ndjson", body)
	if a.status != http.StatusOK {
		r.Fatalf("%d %s", a.status, a.body)
	}
	var results []api.LineResult
	for line := range bytes.Lines(a.body) {
		var l api.LineResult
		if err := json.Unmarshal(line, &l); err != nil {
			r.Fatal(err)
		}
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
	if len(results) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(results), len(lines))
	}
	for i, got := range results {
		if got.Line != 2*i+1 || code(got) != lines[i].code {
			t.Errorf("line %d (%.30q): %+v %+v, want %q", i, lines[i].text, got, got.Error, lines[i].code)
		}
	}
	for _, id := range []string{"o-1", "o-2", "o-3", "o-5"} {
		if r.backend.Seen(id) == nil {
			t.Errorf("order %s was not stored", id)
		}
	}
}

func TestStreamKeepsOrderAndGroups(t *testing.T) {
	const n = 1000
	r := newRig(t)
	var body strings.Builder
	for i := range n {
		fmt.Fprintln(&body, orderJSON(fmt.Sprintf("o-%d", i)))
	}
	for i, got := range r.stream(body.String()) {
		if got.Line != i+1 || got.OrderID != fmt.Sprintf("o-%d", i) || !got.Accepted {
			t.Fatalf("answer %d: %+v", i, got)
		}
	}
	total := 0
	for _, size := range r.backend.Batches {
		total += size
		if size > 64 {
			t.Errorf("a group of %d", size)
		}
	}
	if total != n {
		t.Errorf("%d orders submitted, want %d", total, n)
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
		if (i < 3) != got.Accepted {
			t.Errorf("line %d: %+v", got.Line, got)
		}
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
		if !in.Scan() || !strings.Contains(in.Text(), fmt.Sprintf(`"o-%d"`, i)) {
			t.Fatalf("answer %d: %q %v", i, in.Text(), in.Err())
		}
		fmt.Fprintln(feed, orderJSON(fmt.Sprintf("o-%d", i+1)))
	}
	feed.Close()
	for in.Scan() {
	}
	if err := in.Err(); err != nil {
		t.Error(err)
	}
}

func TestStreamWaitsForRoom(t *testing.T) {
	r := newRig(t)
	r.backend.Busy(5)
	results := r.stream(orderJSON("o-1") + "\n" + orderJSON("o-2") + "\n")
	for _, got := range results {
		if !got.Accepted {
			t.Errorf("%+v %+v", got, got.Error)
		}
	}
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	for _, got := range r.stream(orderJSON("o-3") + "\n") {
		if got.Accepted || got.Error.Code != "unavailable" || got.Error.RetryAfter == 0 {
			t.Errorf("with a full disk: %+v %+v", got, got.Error)
		}
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
	if r.backend.Seen("half") != nil {
		t.Error("half a line became an order")
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	<-sent
	close(held.letGo)
	data, err := io.ReadAll(resp.Body)
	if got := bytes.Count(data, []byte("\n")); err != nil || got != n {
		t.Errorf("%d answers, %v", got, err)
	}
}

// TestStreamLeavesItsConnectionInOrder: the next requests on the same connection are not cancelled.
func TestStreamLeavesItsConnectionInOrder(t *testing.T) {
	r := newRig(t)
	for range 100 {
		r.stream(orderJSON("o") + "\n")
		r.get("/v1/orders/o?wait=1ms")
	}
	if n := r.backend.HungUp.Load(); n != 0 {
		t.Errorf("%d of 100 requests after a stream were cancelled", n)
	}
}

// A panic while orders of a stream are submitted is an answer to their lines. The stream goes on, and so does
// the server.
func TestStreamGoesOnAfterAPanic(t *testing.T) {
	r := newRig(t)
	r.backend.Panic = "boom"
	before := port.Panics()
	results := r.stream(orderJSON("boom") + "\n" + orderJSON("boom") + "\n" + orderJSON("o-1") + "\n")
	if len(results) != 3 || code(results[0]) != "internal" || code(results[1]) != "internal" ||
		port.Panics() == before {
		t.Errorf("%+v, %d panics", results, port.Panics()-before)
	}
	r.submit("o-2")
}
