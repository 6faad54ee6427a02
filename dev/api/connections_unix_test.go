//go:build unix

package api_test

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
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

// Streams of events take a quarter of the files that the process may open. One more is refused until another ends.
func TestStreamsLeaveOpenFilesToTheRest(t *testing.T) {
	end := fewFiles(t, 256)
	r := newRig(t)
	end()
	r.submit("o")
	open := func(path string) *http.Response {
		resp, err := http.Get(r.url + path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	first := open("/v1/changes")
	for range 63 {
		require.Equal(t, 200, open("/v1/orders/o/events").StatusCode)
	}
	for _, path := range []string{"/v1/changes", "/v1/orders/o/events"} {
		refused := r.get(path)
		require.Equal(t, 429, refused.status)
		require.Equal(t, "5", refused.header.Get("Retry-After"))
		require.Contains(t, string(refused.body), "64 streams of events are open, which is the limit")
	}
	require.Equal(t, 200, r.get("/v1/orders/o").status)
	require.NoError(t, first.Body.Close())
	require.Eventually(t, func() bool { return open("/v1/changes").StatusCode == 200 }, 10*time.Second, time.Millisecond)
}

// While more connections are open, each closes after its response.
func TestFewConnectionsStayOpenBetweenRequests(t *testing.T) {
	end := fewFiles(t, 256)
	defer end()
	addr, stop, served := serving(t, api.New(api.Config{Backend: apitest.New()}))
	kept := 0
	for range 70 {
		client := http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		resp, err := client.Get("http://" + addr + "/healthz")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, resp.Body) // a client closes a connection with an unread rest
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		end() // the server has read its limit
		if !resp.Close {
			kept++
		}
	}
	require.Equal(t, 64, kept)
	stop()
	require.NoError(t, <-served)
}
