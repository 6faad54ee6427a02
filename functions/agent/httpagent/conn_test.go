package httpagent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// keeping is a service on a free port that keeps its connections. serve handles one of them.
func keeping(t *testing.T, serve func(conn net.Conn)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			all.Go(func() { defer func() { _ = conn.Close() }(); serve(conn) })
		}
	})
	t.Cleanup(all.Wait) // runs after the next one
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return "http://" + l.Addr().String()
}

const respond = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

const withMethod = "agents: {payment: {url: '%s', operations: {charge: {method: %s}}}}"

// withoutChunks serves a connection like Python's http.server: it reads as many bytes of a body as
// Content-Length says, and takes what follows for the next request.
func withoutChunks(served *atomic.Int32) func(conn net.Conn) {
	return func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if len(strings.Fields(line)) != 3 {
				_, _ = io.WriteString(conn,
					"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
				return
			}
			length := 0
			for line != "\r\n" {
				line, err = r.ReadString('\n')
				if err != nil {
					return
				}
				if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Content-Length") {
					length, _ = strconv.Atoi(strings.TrimSpace(value)) // net/http wrote it
				}
			}
			_, err = r.Discard(length)
			if err != nil {
				return
			}
			served.Add(1)
			if _, err := io.WriteString(conn, respond); err != nil {
				return
			}
		}
	}
}

// many calls the operation 600 times from 8 goroutines, and returns the number of calls and the failures.
func many(s *Service, c worker.Call) (calls int32, failed []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 75 {
				if _, err := run(s, c); err != nil {
					mu.Lock()
					failed = append(failed, err.Error())
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return 600, failed
}

// A service that does not read chunks serves calls without input over kept connections, do, undo and check
// alike.
func TestCallsWithoutInputAreNotSentInChunks(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "GET"} {
		var served atomic.Int32
		url := keeping(t, withoutChunks(&served))
		file := "agents: {payment: {url: '%s', operations: {charge: {method: %s, check: {method: %s, " +
			"path: /c}}}}}"
		s := serviceOf(t, fmt.Sprintf(file, url, method, method), Options{})
		c := call()
		c.Input = nil
		calls, failed := many(s, c)
		require.Empty(t, failed, method)
		require.Equal(t, calls, served.Load(), method)
		for range 50 {
			happened, _, err := s.Operations()["charge"].Check(t.Context(), c)
			require.True(t, happened, method)
			require.NoError(t, err, method)
		}
	}
}

// What a service receives besides what the workflow says: the body of a call with input and without one, and headers.
func TestTheBodyOfACall(t *testing.T) {
	for method, want := range map[string]struct{ with, without string }{
		"POST": {`12 {"amount":1}`, "2 {}"}, "PUT": {`12 {"amount":1}`, "2 {}"}, "PATCH": {`12 {"amount":1}`, "2 {}"},
		"DELETE": {`12 {"amount":1}`, "0 "}, "GET": {"0 ", "0 "},
	} {
		got := make(chan string, 2)
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- fmt.Sprintf("%d %s%s", r.ContentLength, body, strings.Join(r.TransferEncoding, ""))
			got <- fmt.Sprint(r.Header["Content-Type"], r.Header["Traceparent"], r.Header["Accept-Encoding"],
				r.Header["Accept"], r.Header["User-Agent"])
		}))
		s := serviceOf(t, fmt.Sprintf(withMethod, srv.URL, method), Options{})
		for input, body := range map[string]string{`{"amount":1}`: want.with, "": want.without} {
			c := call()
			c.Input = json.RawMessage(input)
			c.Trace = ""
			_, err := run(s, c)
			require.NoError(t, err)
			require.Equal(t, body, <-got, method)
			content := "[application/json]"
			if body == "0 " {
				content = "[]"
			}
			require.Equal(t, content+" [] [] [application/json] [stepkeeper]", <-got, method)
		}
		s.Close()
		srv.Close()
	}
}

// Bytes beyond a response are not the response to the next request: a call that got the connection is sent
// over another one.
func TestBytesBeyondAResponseAreNeverAResponse(t *testing.T) {
	var served atomic.Int32
	url := keeping(t, func(conn net.Conn) {
		r := bufio.NewReader(conn)
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			served.Add(1)
			_, _ = io.WriteString(conn, respond+"HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n")
		}
	})
	calls, failed := many(serviceOf(t, simple(url), Options{}), call())
	require.Empty(t, failed)
	require.Equal(t, calls, served.Load())
}

// Bytes before a request close the connection. The failure says that nothing was sent, and nothing was.
func TestBytesBeforeARequestAreNeverAResponse(t *testing.T) {
	received := make(chan int64, 1)
	url := keeping(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, respond)
		n, _ := io.Copy(io.Discard, conn)
		received <- n
	})
	s := serviceOf(t, simple(url), Options{})
	for range 1000 { // a request can be faster, and then the bytes are its response
		c := call()
		c.Grade = core.Plain // a connection for each call
		_, err := run(s, c)
		n := <-received
		if err == nil && n > 0 {
			continue
		}
		if f := failureOf(t, err); n > 0 && f.NoEffect || f.Permanent {
			t.Fatalf("%d bytes were received: %+v", n, f)
		} else if n == 0 && f.NoEffect {
			return
		}
	}
	t.Error("no call failed because of bytes before its request")
}

// A connection decides what came first: bytes that it reads before the request is written are an error, those
// that it reads after it are a response.
func TestAConnectionThatIsSpokenToTooEarly(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	c := newConn(near)
	read := make(chan error, 1)
	receive := func() { _, err := c.Read(make([]byte, 10)); read <- err }
	go receive()
	c.begin()
	go func() { _, _ = io.Copy(io.Discard, io.LimitReader(far, 1)); _, _ = far.Write([]byte("a")) }()
	if _, err := c.Write([]byte("r")); err != nil || <-read != nil {
		t.Fatalf("a request and its response: %v", err)
	}
	go receive()
	c.begin()
	_, err := far.Write([]byte("b"))
	require.NoError(t, err)
	require.ErrorIs(t, <-read, errUnasked)
	_, err = c.Write([]byte("r"))
	require.ErrorIs(t, err, net.ErrClosed)
	require.False(t, c.end(), "a request after them: %v", err)
}

// After a failed request it is certain whether bytes of it were written, because none can follow.
func TestTheEndOfARequestThatFailed(t *testing.T) {
	for _, written := range []bool{false, true} {
		near, far := net.Pipe()
		c := newConn(near)
		go func() { _, _ = c.Read(make([]byte, 1)) }()
		c.begin()
		go func() { _, _ = io.Copy(io.Discard, far) }()
		if written {
			_, err := c.Write([]byte("r"))
			require.NoError(t, err)
		}
		first := c.end()
		_, err := c.Write([]byte("r"))
		last := c.end()
		require.Equal(t, written, first)
		require.Equal(t, written, last)
		require.ErrorIs(t, err, net.ErrClosed, "%+v", written)
		_ = far.Close()
	}
}

// A request begins once net/http waits for new bytes, or has closed the connection because of old ones.
func TestARequestWaitsForTheEndOfOldBytes(t *testing.T) {
	for name, end := range map[string]func(c *conn){
		"read":   func(c *conn) { go func() { _, _ = c.Read(make([]byte, 1)) }() },
		"closed": func(c *conn) { _ = c.Close() },
	} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			c := newConn(near)
			var begun atomic.Bool
			go func() { c.begin(); begun.Store(true) }()
			synctest.Wait()
			early := begun.Load()
			end(c)
			synctest.Wait()
			require.False(t, early, name)
			require.True(t, begun.Load(), name)
			_ = c.Close()
			_ = far.Close()
		})
	}
}
