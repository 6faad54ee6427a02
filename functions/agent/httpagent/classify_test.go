package httpagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// answering is a service that answers every call of /sNNN with that status and the body.
func answering(t *testing.T, body string) (url string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/s%d", &status)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// P45. A status means what the file says: of the operation first, then of the agent, then the table. The
// proof that a call had no effect stays that of the table (P31).
func TestClassify(t *testing.T) {
	s := serviceOf(t, `
agents:
  payment:
    url: `+answering(t, `{"id":7}`)+`
    classify: {401: permanent, 404: done, 409: done, 425: not-yet, 500: permanent, 503: permanent}
    operations:
      "*": {}
      s402: {classify: {402: transient}}
      s404: {classify: {404: transient}}
      s409: {classify: {404: transient}}
      s410: {classify: {410: not-yet}}
`, Options{})
	for status, want := range map[int]struct {
		done, permanent, noEffect bool
		code                      string
	}{
		401: {permanent: true, noEffect: true, code: "http-401"},
		402: {noEffect: true, code: "http-402"},
		403: {permanent: true, noEffect: true, code: "http-403"}, // by the table
		404: {noEffect: true, code: "http-404"},
		409: {done: true},
		410: {noEffect: true, code: core.CodeNotYet},
		425: {noEffect: true, code: core.CodeNotYet},
		500: {permanent: true, code: "http-500"},
		502: {code: "http-502"},
	} {
		c := call()
		c.Name = fmt.Sprintf("s%d", status)
		op, ok := s.Operations()[c.Name]
		if !ok {
			op = s.Operations()[worker.AnyOperation]
		}
		out, err := op.Run(context.Background(), c)
		if want.done {
			raw, _ := out.(json.RawMessage)
			require.NoError(t, err, "%+v", status)
			require.Equal(t, `{"id":7}`, string(raw), "%+v", status)
			continue
		}
		fails(t, err, worker.Failure{Code: want.code, Permanent: want.permanent, NoEffect: want.noEffect})
	}
}

// P45. An answer that is done by its class is read as one of 2xx: one that breaks off leaves the effect in
// doubt, and one that is no JSON was done, unless its output is ignored.
func TestBodiesOfClassifiedStatuses(t *testing.T) {
	text := answering(t, "it is there already")
	broken := serving(t, func(conn *net.TCPConn, _ *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/1.1 409 Conflict\r\nContent-Length: 100\r\n\r\n{\"id\":")
	})
	for name, tt := range map[string]struct {
		url, output string
		want        func(f *worker.Failure) bool
	}{
		"a text": {text, "json", func(f *worker.Failure) bool {
			return f != nil && f.Happened &&
				f.Code == "response-not-json"
		}},
		"a text of no use": {text, "ignore", func(f *worker.Failure) bool { return f == nil }},
		"one that ends off": {
			broken, "ignore",
			func(f *worker.Failure) bool { return f != nil && !f.NoEffect && !f.Permanent && !f.Happened },
		},
	} {
		s := serviceOf(t, "agents: {payment: {url: '"+tt.url+"', operations: {s409: {output: "+tt.output+
			", classify: {409: done}}}}}", Options{})
		c := call()
		c.Name = "s409"
		_, err := s.Operations()["s409"].Run(context.Background(), c)
		var f *worker.Failure
		if err != nil {
			f = failureOf(t, err)
		}
		require.True(t, tt.want(f), name)
	}
}

// P45. A check has its own meaning of a status.
func TestChecksDoNotGoByClassify(t *testing.T) {
	s := serviceOf(t, "agents: {payment: {url: '"+answering(t, "")+
		"', classify: {404: done, 409: done}, operations: {s404: {check: {path: /s404}}, s409: {check: "+
		"{path: /s409}}}}}", Options{})
	happened, _, err := s.Operations()["s404"].Check(context.Background(), call())
	require.False(t, happened)
	require.NoError(t, err)
	happened, _, err = s.Operations()["s409"].Check(context.Background(), call())
	require.False(t, happened)
	require.Error(t, err)
}
