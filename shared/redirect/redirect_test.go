package redirect_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// The answer of each redirect arrives, whatever its address is, and nothing else is asked.
func TestRefused(t *testing.T) {
	const same, none = "another path of the same server", "an address that is missing or cannot be read"
	for location, want := range map[string]string{
		"https://user:password@login.example:8443/in?token=1": `"https://login.example:8443"`,
		"//login.example/in":   `"http://login.example"`,
		"/in?token=1":          same,
		"in":                   same,
		"":                     none,
		"https:///in":          none,
		"https://%zz":          none,
		"https://%zz?secret":   none,
		"http://[::1":          none,
		"https://a.example:x/": none,
		"https://" + strings.Repeat("a", 300) + ".example/": `"https://` + strings.Repeat("a", 192) + `"`,
	} {
		for _, status := range []int{300, 301, 302, 303, 304, 307, 308} {
			calls := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls++
				w.Header()["Location"] = []string{location}
				w.WriteHeader(status)
			}))
			c := redirect.Refused(*srv.Client())
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader("{}"))
				require.NoError(t, err)
				resp, err := c.Do(req)
				if err != nil {
					t.Errorf("%s, %d to %q: %v", method, status, location, err)
					continue
				}
				_ = resp.Body.Close()
				to := redirect.Target(resp)
				require.Equal(t, status, resp.StatusCode, method)
				require.Equal(t, want, to, method)
			}
			srv.Close()
			require.Equal(t, 2, calls, "%+v", status)
		}
	}
}

// Idle connections of the transport below are closed with the client's.
func TestIdleConnectionsAreClosed(t *testing.T) {
	closed := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(closed)
		}
	}
	srv.Start()
	defer srv.Close()
	c := redirect.Refused(http.Client{Transport: &http.Transport{}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := c.Do(req)
	require.NoError(t, err)
	_ = resp.Body.Close()
	c.CloseIdleConnections()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the connection is still open")
	}
}
