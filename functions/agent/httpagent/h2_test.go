package httpagent

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// onlyHTTP2 is a service that speaks nothing but HTTP/2. It counts its connections.
func onlyHTTP2(t *testing.T, handler http.HandlerFunc) (srv *httptest.Server, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	srv = httptest.NewUnstartedServer(handler)
	srv.EnableHTTP2 = true
	srv.TLS = &tls.Config{NextProtos: []string{"h2"}, ClientAuth: tls.RequestClientCert}
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv, connections
}

func serviceOver(t *testing.T, srv *httptest.Server, entry string, pairs ...string) *Service {
	t.Helper()
	s := serviceOf(t, "agents: {payment: {url: '"+srv.URL+"'"+entry+"}}", Options{}, pairs...)
	trust(s, srv)
	return s
}

// A service of HTTP/2 gets a whole call, over kept connections, fresh ones and those of a proxy.
func TestHTTP2(t *testing.T) {
	chain, key := certificate(t)
	var proxied atomic.Int32
	for name, c := range map[string]struct {
		entry string
		grade core.Grade
		shown string
	}{
		"kept":  {"", core.Idempotent, `"certificates":0`},
		"fresh": {"", core.Plain, `"certificates":0`},
		"certificate": {
			", auth: {certificate: {chain: '${env:CHAIN}', key: '${env:KEY}'}}", core.Idempotent,
			`"certificates":1`,
		},
		"proxy": {", proxy: 'http://shop:${env:PASSWORD}@%s'", core.Idempotent, `"certificates":0`},
	} {
		t.Run(name, func(t *testing.T) {
			srv, _ := onlyHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = fmt.Fprintf(w, `{"version":%d,"body":%s,"length":%d,"key":%q,"certificates":%d}`, r.ProtoMajor, body,
					r.ContentLength, r.Header.Get("Idempotency-Key"), len(r.TLS.PeerCertificates))
			})
			entry := c.entry
			if strings.Contains(entry, "%s") {
				through := proxy(t, srv.Listener.Addr().String(), &proxied)
				entry = fmt.Sprintf(entry, strings.TrimPrefix(through.URL, "http://"))
			}
			s := serviceOver(t, srv, entry, "CHAIN", chain, "KEY", key, "PASSWORD", "s3cr3t-value")
			in := call()
			in.Grade = c.grade
			for range 3 {
				out, err := run(s, in)
				require.NoError(t, err)
				require.JSONEq(t, `{"version":2,"body":{"amount":1},"length":12,"key":"o-1/2/pay",`+c.shown+`}`,
					fmt.Sprintf("%s", out))
			}
		})
	}
	require.Equal(t, int32(1), proxied.Load())
}

// A token endpoint may speak nothing but HTTP/2.
func TestTokensOverHTTP2(t *testing.T) {
	srv, _ := onlyHTTP2(t, (&tokens{lasts: 3600}).ServeHTTP)
	charge := trusting(t, srv, fmt.Sprintf(oauth, srv.URL), map[string]string{"SECRET": "s3cr3t-value"}, Options{})
	out, err := charge()
	require.NoError(t, err)
	require.Equal(t, `{"echo":"Bearer [hidden]"}`, fmt.Sprintf("%s", out))
}

// Calls at the same time share a connection. A call that fails after it was written is in doubt and is sent
// once. It does not disturb the others.
func TestFailuresOverHTTP2(t *testing.T) {
	var aborted atomic.Int32
	release := make(chan struct{})
	srv, connections := onlyHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/abort":
			aborted.Add(1)
			panic(http.ErrAbortHandler)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{")
			panic(http.ErrAbortHandler)
		case "/slow":
			<-release
		}
		_, _ = io.WriteString(w, `{}`)
	})
	defer close(release)
	s := serviceOver(t, srv, "")
	in := call()
	_, err := run(s, in)
	require.NoError(t, err)
	var all sync.WaitGroup
	for _, name := range []string{"abort", "broken", "slow"} {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if name == "slow" {
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
			}
			defer cancel()
			in := call()
			in.Name = name
			_, err := s.Operations()[worker.AnyOperation].Run(ctx, in)
			f := failureOf(t, err)
			if f.NoEffect || f.Permanent || f.Code != map[bool]string{false: "network", true: "timeout"}[name == "slow"] {
				t.Errorf("%s: %+v", name, f)
			}
		})
	}
	for range 20 {
		all.Go(func() {
			if _, err := run(s, in); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int32(1), aborted.Load())
	require.LessOrEqual(t, connections.Load(), int32(2))
}
