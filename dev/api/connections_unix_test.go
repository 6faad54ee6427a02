//go:build unix

package api_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// fewFiles lets the process open only so many files, until the returned function is called.
func fewFiles(t *testing.T, files uint64) (end func()) {
	t.Helper()
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = files
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	return func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }
}

// withQueue has a queue from which no message comes.
type withQueue struct{ *apitest.Backend }

func (withQueue) Queue(string) (port.Queue, error) { return idle{}, nil }

type idle struct{ port.Queue }

func (idle) Name() string { return "replies" }

func (idle) Receive(ctx context.Context, _ int, wait, _ time.Duration) ([]port.Delivery, error) {
	return nil, port.Sleep(ctx, wait)
}

// raw is a connection without a client that closes it or repeats a request.
type raw struct {
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) raw {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return raw{c, bufio.NewReader(c)}
}

// send sends a request, and returns the response if it begins within the time.
func (r raw) send(t *testing.T, request, headers, body string, within time.Duration) (*http.Response, string) {
	t.Helper()
	if headers != "" {
		headers += "\r\n"
	}
	_, err := io.WriteString(r, request+" HTTP/1.1\r\nHost: "+r.RemoteAddr().String()+"\r\n"+headers+"\r\n"+body)
	require.NoError(t, err)
	require.NoError(t, r.SetReadDeadline(time.Now().Add(within)))
	resp, err := http.ReadResponse(r.in, nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, ""
	}
	require.NoError(t, err)
	text, _ := io.ReadAll(resp.Body) // a stream does not end
	return resp, string(text)
}

// Requests of a kind that last take a quarter of the files that the process may open. One more is refused until
// another ends. Requests of other kinds are not affected.
func TestRequestsThatLastLeaveOpenFilesToTheRest(t *testing.T) {
	end := fewFiles(t, 256)
	h := api.New(api.Config{Backend: withQueue{apitest.New()}})
	end()
	server := httptest.NewServer(h)
	defer server.Close()
	addr := server.Listener.Addr().String()
	submit := "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(orderJSON("o")))
	resp, _ := dial(t, addr).send(t, "POST /v1/orders", submit, orderJSON("o"), time.Minute)
	require.Equal(t, 202, resp.StatusCode)
	const receive = `{"QueueUrl":"http://x/000000000000/replies","WaitTimeSeconds":20}`
	for _, c := range []struct {
		kind, request, headers, body string
		short                        string // headers of a request that does not last, if a response waits for its body
		refusal                      string
	}{
		{"streams of events", "GET /v1/changes", "", "", "", "429 Too Many Requests 5"},
		{"streams of events", "GET /v1/orders/o/events", "", "", "", "429 Too Many Requests 5"},
		{"requests with wait=", "GET /v1/orders/o?wait=1m", "", "", "", "429 Too Many Requests 5"},
		{
			"streams of orders", "POST /v1/orders", "Content-Type: application/x-ndjson\r\nContent-Length: 9", "",
			"Content-Type: application/x-ndjson\r\nContent-Length: 0", "429 Too Many Requests 5",
		},
		{
			"receives from queues", "POST /", "Content-Type: application/x-amz-json-1.0\r\n" +
				"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: " + strconv.Itoa(len(receive)), receive,
			"", "400 Bad Request ",
		},
	} {
		t.Run(c.request, func(t *testing.T) {
			var held []raw
			var text string
			for refused := ""; refused == ""; {
				r := dial(t, addr)
				held = append(held, r)
				var resp *http.Response
				resp, text = r.send(t, c.request, c.headers, c.body, 5*time.Millisecond)
				if c.short != "" {
					resp, text = dial(t, addr).send(t, c.request, c.short, "", time.Minute)
				}
				if resp == nil || resp.StatusCode == 200 {
					continue
				}
				refused = resp.Status + " " + resp.Header.Get("Retry-After")
				require.Equal(t, c.refusal, refused)
			}
			require.GreaterOrEqual(t, len(held), 64)
			require.Contains(t, text, "64 "+c.kind+" are open, which is the limit")
			resp, text := dial(t, addr).send(t, "POST /v1/orders?wait=1ms", submit, orderJSON("o"), time.Minute)
			require.Equal(t, 202, resp.StatusCode, text)
			for _, r := range held {
				require.NoError(t, r.Close())
			}
			require.Eventually(t, func() bool {
				headers := cmp.Or(c.short, c.headers)
				resp, _ := dial(t, addr).send(t, c.request, headers, c.body, 5*time.Millisecond)
				return resp == nil || resp.StatusCode == 200
			}, 30*time.Second, time.Millisecond)
		})
	}
}

// The server closes connections beyond three quarters of the files that the process may open.
func TestConnectionsLeaveOpenFilesToTheRest(t *testing.T) {
	end := fewFiles(t, 256)
	defer end()
	addr, stop, served := serving(t, api.New(api.Config{Backend: apitest.New()}))
	first := dial(t, addr)
	resp, _ := first.send(t, "GET /healthz", "", "", time.Minute)
	require.Equal(t, 200, resp.StatusCode)
	end() // the server has read its limit
	for range 191 {
		dial(t, addr)
	}
	for range 10 {
		_, err := dial(t, addr).Read(make([]byte, 1))
		require.Error(t, err, "a closed connection")
	}
	resp, _ = first.send(t, "GET /healthz", "", "", time.Minute)
	require.Equal(t, 200, resp.StatusCode)
	stop()
	require.NoError(t, <-served)
}

// While more connections are open, each closes after its response.
func TestFewConnectionsStayOpenBetweenRequests(t *testing.T) {
	end := fewFiles(t, 256)
	defer end()
	addr, stop, served := serving(t, api.New(api.Config{Backend: apitest.New()}))
	kept := 0
	for range 70 {
		resp, _ := dial(t, addr).send(t, "GET /healthz", "", "", time.Minute)
		require.Equal(t, 200, resp.StatusCode)
		end() // the server has read its limit
		if !resp.Close {
			kept++
		}
	}
	require.Equal(t, 64, kept)
	stop()
	require.NoError(t, <-served)
}
