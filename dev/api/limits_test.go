package api_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// sized is a submission of exactly so many bytes.
func sized(id string, size int) string {
	text := `{"schema":1,"orderId":"` + id + `","workflow":"order","order":""}`
	return strings.Replace(text, `"order":""`, `"order":"`+strings.Repeat("x", size-len(text))+`"`, 1)
}

// The last byte that fits is taken, the next one is not, as a body and as a line.
func TestLimitsToTheByte(t *testing.T) {
	r := newRig(t)
	for extra, want := range map[int]int{0: 202, 1: 413} {
		require.Equal(t, want, r.post("/v1/orders", sized(fmt.Sprintf("body-%d", extra), port.MaxOrder+extra)).status,
			"%+v", extra)
	}
	results := r.stream(sized("fits", port.MaxOrder) + "\r\n" + sized("over", port.MaxOrder+1) + "\n" +
		orderJSON("next") + "\n" + sized("last", port.MaxOrder))
	if len(results) != 4 || code(results[0]) != "" || code(results[1]) != "too-large" ||
		code(results[2]) != "" || code(results[3]) != "" || results[3].OrderID != "last" {
		t.Errorf("%+v", results)
	}
	long := `{"command":0,"id":"` + strings.Repeat("x", 8<<10) + `"}`
	require.Equal(t, 413, r.post("/v1/orders/fits/undo", long).status)
}

// A body takes memory when it comes, not when it is announced: thousands of connections could announce one.
func TestAnAnnouncedBodyTakesNoMemory(t *testing.T) {
	h := api.New(api.Config{Backend: apitest.New()})
	const size = message.MaxSubmission
	result := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/v1/orders", strings.NewReader("{"))
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = size
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	})
	require.Less(t, result.AllocedBytesPerOp(), int64(size/4))
}

// The same for a batch to the intake queue.
func TestIntakeBatchAnswersStandAtTheirMessages(t *testing.T) {
	r := newRig(t)
	r.backend.Failing = map[string]error{"full": fmt.Errorf("disk full: %w", port.ErrUnavailable)}
	newer := strings.Replace(orderJSON("newer"), `"schema":1`, `"schema":2`, 1)
	var entries []string
	for _, e := range [][2]string{
		{"a", newer},
		{"b", orderJSON("first")},
		{"c", "nonsense"},
		{"d", orderJSON("full")},
		{"e", orderJSON("second")},
	} {
		entries = append(entries, fmt.Sprintf(`{"Id":%q,"MessageBody":%q}`, e[0], e[1]))
	}
	a := r.do("POST", "/", "application/x-amz-json-1.0",
		fmt.Sprintf(`{"QueueUrl":"%s/000000000000/intake","Entries":[%s]}`, r.url,
			strings.Join(entries, ",")),
		"X-Amz-Target", "AmazonSQS.SendMessageBatch")
	v := a.json(t)
	got := map[string]string{}
	for _, x := range v["Successful"].([]any) {
		got[x.(map[string]any)["Id"].(string)] = "ok"
	}
	for _, x := range v["Failed"].([]any) {
		f := x.(map[string]any)
		got[f["Id"].(string)] = fmt.Sprint(f["Code"], " ", f["SenderFault"])
	}
	want := map[string]string{
		"a": "InvalidParameterValue true", "b": "ok", "c": "ok",
		"d": "ServiceUnavailable false", "e": "ok",
	}
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
	require.Len(t, r.backend.Rejected, 1)
	require.Equal(t, "nonsense", string(r.backend.Rejected[0].Body))
	require.NotNil(t, r.backend.Seen("first"), "%+v", r.backend.Rejected)
	require.NotNil(t, r.backend.Seen("second"), "%+v", r.backend.Rejected)
}

// limited lets a test see how long the server waits for what a connection sends, and lets that time pass
// at once.
type limited struct {
	net.Listener
	conns chan *limitedConn
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &limitedConn{conn, make(chan time.Time, 100)}
	l.conns <- c
	return c, nil
}

type limitedConn struct {
	net.Conn
	ends chan time.Time // what was set since the test looked last
}

func (c *limitedConn) SetReadDeadline(end time.Time) error {
	err := c.Conn.SetReadDeadline(end)
	c.ends <- end
	return err
}

// waits until the server waits that long, from then or later on; any other limit is passed over.
func (c *limitedConn) waits(t *testing.T, limit time.Duration, from time.Time) {
	t.Helper()
	var seen []time.Duration
	for late := time.After(20 * time.Second); ; {
		select {
		case end := <-c.ends:
			if begun := end.Add(-limit); !begun.Before(from) && !begun.After(time.Now()) {
				return
			}
			seen = append(seen, end.Sub(from))
		case <-late:
			t.Fatalf("the server does not wait for %s; it waited for %v", limit, seen)
		}
	}
}

// pass lets the present wait end.
func (c *limitedConn) pass() { _ = c.Conn.SetReadDeadline(time.Unix(1, 0)) }

// serveLimited serves until the test ends.
func serveLimited(t *testing.T) (*limited, *apitest.Backend) {
	t.Helper()
	ln, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	l := &limited{ln, make(chan *limitedConn, 10)}
	b := apitest.New()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- api.Serve(ctx, l, api.New(api.Config{Backend: b})) }()
	t.Cleanup(func() { stop(); <-served })
	return l, b
}

// dial connects and sends.
func (l *limited) dial(t *testing.T, text string) (net.Conn, *limitedConn) {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, text) // a refusal may come while it is being sent
	return conn, <-l.conns
}

// A connection that sends half a header is let go after 5 s, half an order after 30 s; a header has a limit.
func TestSlowRequestsAndLargeHeaders(t *testing.T) {
	l, b := serveLimited(t)
	for name, c := range map[string]struct {
		text   string
		limit  time.Duration // 0: it is answered at once
		answer string        // how it begins
	}{
		"half a header": {"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ", 5 * time.Second, ""},
		"a large header": {"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + strings.Repeat("x",
			64<<10) + "\r\n\r\n", 0, "HTTP/1.1 431 "},
		"half an order": {
			"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " +
				"application/json\r\nContent-Length: 4096\r\n\r\n" + orderJSON("slow"),
			30 * time.Second, "HTTP/1.1 400 ",
		},
	} {
		began := time.Now()
		conn, served := l.dial(t, c.text)
		if c.limit > 0 {
			served.waits(t, c.limit, began)
			served.pass()
		}
		answer, err := io.ReadAll(conn)
		require.True(t, strings.HasPrefix(string(answer), c.answer), name)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, name)
	}
	require.Nil(t, b.Seen("slow"))
}

// A stream may last for hours; it waits a minute for each line, and ends then.
func TestSlowLines(t *testing.T) {
	l, b := serveLimited(t)
	began := time.Now()
	conn, served := l.dial(t,
		"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "+
			"application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
	for i := range 3 {
		served.waits(t, time.Minute, began)
		began = time.Now()
		text := orderJSON(fmt.Sprint("o-", i)) + "\n"
		fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text)
		b.Arrived(fmt.Sprint("o-", i))
	}
	served.waits(t, time.Minute, began)
	served.pass()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	// The answers so far are all: their sender sees which of its lines have none, and sends those again.
	answers, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(string(answers), `"accepted":true`))
	require.Equal(t, 3, strings.Count(string(answers), "\n"))
}

// A client that writes its whole request before it reads gets the refusal of a body that is too large,
// whatever refuses it.
func TestBodiesThatAreTooLargeAreAnswered(t *testing.T) {
	l, _ := serveLimited(t)
	const size = 20 << 20
	chunk := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"order":   {"POST /v1/orders HTTP/1.1\r\nContent-Type: application/json\r\n", 413},
		"command": {"POST /v1/orders/o/undo HTTP/1.1\r\nContent-Type: application/json\r\n", 413},
		"queue": {
			"POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nContent-Type: " +
				"application/x-amz-json-1.0\r\n", 413,
		},
		"answer":  {"POST /answer/o/t HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n", 413},
		"nothing": {"POST /nothing HTTP/1.1\r\n", 404},
		"other":   {"POST /v1/orders HTTP/1.1\r\nOrigin: http://example.com\r\n", 403},
		"media":   {"POST /v1/orders HTTP/1.1\r\nContent-Type: text/plain\r\n", 415},
		"coding":  {"POST /v1/orders HTTP/1.1\r\nContent-Type: application/x-ndjson\r\nContent-Encoding: gzip\r\n", 415},
	} {
		for _, chunked := range []bool{false, true} {
			length := fmt.Sprintf("Content-Length: %d\r\n\r\n", size)
			if chunked {
				length = "Transfer-Encoding: chunked\r\n\r\n"
			}
			conn, _ := l.dial(t, c.head+"Host: 127.0.0.1\r\n"+length)
			for sent := 0; sent < size; sent += len(chunk) {
				text := chunk
				if chunked {
					text = fmt.Sprintf("%x\r\n%s\r\n", len(chunk), chunk)
				}
				_, err := io.WriteString(conn, text)
				require.NoError(t, err, name)
			}
			if chunked {
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err, name)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err, name)
			require.NotEmpty(t, text, name)
			require.Equal(t, c.status, resp.StatusCode, name)
			require.True(t, resp.Close, name)
		}
	}
}

// Who asks first whether to send gets the refusal at once, and sends nothing.
func TestARefusedBodyThatIsNotSentIsNotAwaited(t *testing.T) {
	l, _ := serveLimited(t)
	conn, _ := l.dial(t,
		"POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nExpect: "+
			"100-continue\r\nContent-Length: 9999999\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 413, resp.StatusCode)
}
