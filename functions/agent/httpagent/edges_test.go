package httpagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// What no request can be made of is refused before anything is sent.
func TestRequestsThatCannotBeMade(t *testing.T) {
	calls := 0
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls++ }))
	defer srv.Close()
	s := serviceOf(t, "agents: {payment: {url: '"+srv.URL+"', operations: {'*': {}}}}", Options{})
	for name, code := range map[string]string{
		"a/../b":                "operation-name",
		"":                      "operation-name",
		"-a":                    "operation-name",
		strings.Repeat("a", 81): "operation-name",
		"key":                   "request",
	} {
		c := call()
		c.Name = name
		if name == "key" {
			c.Key = "a\r\nb"
		}
		_, err := run(s, c)
		fails(t, err, worker.Failure{Code: code, Permanent: true, NoEffect: true})
		require.Zero(t, calls, name)
	}
}

// Headers without an end are not read either.
func TestHeadersThatAreTooLong(t *testing.T) {
	url := serving(t, func(conn *net.TCPConn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: "+strings.Repeat("a",
			80<<10)+"\r\n\r\n{}")
	})
	_, err := run(serviceOf(t, simple(url), Options{}), call())
	fails(t, err, worker.Failure{Code: "network"})
}

// The words of a refusal are waited for no longer than one call may take.
func TestARefusalEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serviceOf(t, "agents: {payment: {url: 'http://127.0.0.1', timeout: 2s}}", Options{})
		ended := make(chan struct{})
		defer close(ended)
		piped(s, func(conn net.Conn, _ string) {
			_, _ = io.WriteString(conn,
				"HTTP/1.1 503 Unavailable\r\nContent-Length: 10\r\nRetry-After: 3\r\n\r\n")
			<-ended
		})
		start := time.Now()
		_, err := run(s, call())
		f := failureOf(t, err)
		require.Equal(t, "http-503", f.Code)
		require.Equal(t, 3*time.Second, f.RetryAfter)
		require.Equal(t, 2*time.Second, time.Since(start))
		s.Close()
	})
}

// Whatever is waited for ends with the caller's context, however long the agent's own times are.
func TestEverythingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serviceOf(t,
			"agents: {payment: {url: 'http://127.0.0.1', timeout: 1h, operations: {charge: {check: {path: "+
				"/x}}}}}", Options{})
		ended := make(chan struct{})
		defer close(ended)
		piped(s, func(net.Conn, string) { <-ended })
		op := s.Operations()["charge"]
		resolve := resolver(func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil,
				ctx.Err()
		}
		for name, wait := range map[string]func(ctx context.Context) error{
			"a call":  func(ctx context.Context) error { _, err := op.Run(ctx, call()); return err },
			"a check": func(ctx context.Context) error { _, _, err := op.Check(ctx, call()); return err },
			"a dial": func(ctx context.Context) error {
				_, err := guardedDial(Allow{}, nil, dial)(ctx, "tcp", "93.184.216.34:1")
				return err
			},
			"a resolver": func(ctx context.Context) error {
				_, err := guardedDial(Allow{}, resolve, dial)(ctx, "tcp", "a.example:1")
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			start := time.Now()
			require.Error(t, wait(ctx), name)
			require.Equal(t, 3*time.Second, time.Since(start), name)
			cancel()
		}
		s.Close()
	})
}

// A network that drops the packets to an address leaves time for the next address.
func TestAnAddressThatDoesNotRespond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(ctx context.Context, _, address string) (net.Conn, error) {
			if strings.HasPrefix(address, "[") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &net.TCPConn{}, nil
		}
		start := time.Now()
		_, err := guardedDial(Allow{}, resolves("2606:2800::1", "93.184.216.34"), dial)(t.Context(), "tcp", "a.example:1")
		require.NoError(t, err)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// A handshake that does not go on was no call.
func TestAHandshakeWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serviceOf(t, simple("https://a.example"), Options{})
		ended := make(chan struct{})
		defer close(ended)
		for _, client := range []*http.Client{s.kept, s.fresh} {
			transport := client.Transport.(redirect.Transport).Next.(*http.Transport)
			transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					_, _ = io.CopyN(io.Discard, far, 1)
					<-ended
					_ = far.Close()
				}()
				return near, nil
			}
			watched(transport)
		}
		start := time.Now()
		_, err := run(s, call())
		require.Equal(t, dialTimeout, time.Since(start))
		fails(t, err, worker.Failure{Code: "timeout", NoEffect: true},
			"was not sent, the service could not be reached in time")
		s.Close()
	})
}

// A resolver is asked for the host, and for its addresses of both families.
func TestWhatTheResolverIsAsked(t *testing.T) {
	asked := ""
	resolve := resolver(func(_ context.Context, network, host string) ([]netip.Addr, error) {
		asked = network + " " + host
		return nil, nil
	})
	_, err := run(serviceOf(t, simple("https://a.example"), Options{Resolver: resolve}), call())
	fails(t, err, worker.Failure{Code: "dns", NoEffect: true})
	require.Equal(t, "ip a.example", asked)
	down := resolver(func(context.Context, string, string) ([]netip.Addr, error) {
		return nil, errors.New("the resolver is down")
	})
	_, err = run(serviceOf(t, simple("https://a.example"), Options{Resolver: down}), call())
	fails(t, err, worker.Failure{Code: "unreachable", NoEffect: true},
		"was not sent, the service could not be reached: ", "resolver is down")
	srv := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"by":"name"}`) }))
	t.Cleanup(srv.Close)
	local := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	out, err := run(serviceOf(t, simple(local), Options{}), call())
	require.NoError(t, err)
	require.Contains(t, fmt.Sprintf("%s", out), "name")
	var tried []time.Duration
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		end, _ := ctx.Deadline()
		tried = append(tried, time.Until(end).Round(time.Second))
		return nil, errors.New("closed")
	}
	_, err = guardedDial(Allow{}, nil, dial)(t.Context(), "tcp", "93.184.216.34:443")
	require.Error(t, err)
	require.Equal(t, []time.Duration{5 * time.Second}, tried)
	_, err = guardedDial(Allow{}, nil, dial)(t.Context(), "tcp", "93.184.216.34")
	require.Error(t, err)
	require.Len(t, tried, 1)
}

// Which agents have a client, and with which clock: dates in Retry-After are held against it.
func TestNew(t *testing.T) {
	_, err := New("payment", Agent{URL: Secret{text: "https://a.example"}}, nil, Options{})
	require.ErrorContains(t, err, "was not completed")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	c, err := parse([]byte(simple(srv.URL)), env())
	require.NoError(t, err)
	s, err := New("payment", c["payment"].Agent, c["payment"].Operations, Options{})
	require.NoError(t, err)
	defer s.Close()
	_, err = run(s, call())
	f := failureOf(t, err)
	require.GreaterOrEqual(t, f.RetryAfter, 50*time.Second)
	require.LessOrEqual(t, f.RetryAfter, time.Minute)
}

// The failure of a redirect names where it points, without what may hold a secret.
func TestARedirectNamesWhereItPoints(t *testing.T) {
	for location, want := range map[string]string{
		"https://user:password@login.example:8443/in?token=1": ` (it points to "https://login.example:8443")`,
		"https://s3cret-host.example/":                        ` (it points to "https://[hidden].example")`,
		"/elsewhere?token=1": " (it points to another path of the same " +
			"server)",
		"https://%zz/?token=1": " (it points to an address that is missing " +
			"or cannot be read)",
		"": " (it points to an address that is missing " +
			"or cannot be read)",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}))
		file := "agents: {payment: {url: '" + srv.URL + "', headers: {X-Key: '${env:KEY}'}}}"
		_, err := run(serviceOf(t, file, Options{}, "KEY", "s3cret-host"), call())
		f := failureOf(t, err)
		text := "configure the address where the service really is" + want
		require.Equal(t, "http-302", f.Code, location)
		require.True(t, strings.HasSuffix(f.Error(), text), location)
		srv.Close()
	}
}
