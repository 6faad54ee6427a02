package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// call is one call of the program in process.
type call struct {
	server   string            // "" is no server there
	via      http.RoundTripper // nil is the network
	terminal bool
	in       string
	out      io.Writer // nil: it is in the result
	env      map[string]string
	ctx      context.Context
	until    string           // "" or what interrupts it, once it stands in the output
	now      func() time.Time // nil: a minute past noon

	openStack func(context.Context, string, aws.Options, ...client.Option) (*client.Client, error)
	room      func() (operate.Room, error) // nil means plenty
	runtime   func(context.Context, embedded.Options) error
	demo      func(context.Context, runner.Options) (runner.Report, error)
}

type result struct {
	code     failure.Code
	out, err string
}

// ending sends requests whose contexts can end: an interrupt ends every call of a command.
type ending struct {
	*testing.T
	via http.RoundTripper
}

func (e ending) RoundTrip(r *http.Request) (*http.Response, error) {
	require.NotNil(e, r.Context().Done(), "%s %s has another context than the command's", r.Method, r.URL)
	return cmp.Or(e.via, http.DefaultTransport).RoundTrip(r)
}

func (c call) run(t *testing.T, args ...string) result {
	t.Helper()
	s, b := streams.Test(c.terminal)
	b.In.WriteString(c.in)
	if c.out != nil {
		s.Out = c.out
	}
	env := map[string]string{app.ServerVariable: c.server}
	if c.server == "" {
		env[app.ServerVariable] = "http://127.0.0.1:1" // a port without a server
	}
	maps.Copy(env, c.env)
	a := app.New(s, func(k string) string { return env[k] })
	a.OpenStack = c.openStack
	if c.openStack == nil {
		a.OpenStack = func(context.Context, string, aws.Options, ...client.Option) (*client.Client, error) {
			return nil, errors.New("no test goes to AWS")
		}
	}
	a.Dial = func(server string, opts ...client.Option) (*client.Client, error) {
		return client.New(server, append(opts, client.WithHTTPClient(&http.Client{Transport: ending{t, c.via}}))...)
	}
	a.StackRoom = func(context.Context, string, aws.Options) (operate.Room, error) {
		if c.room == nil {
			return operate.Room{Needs: 10, Limit: 10}, nil
		}
		return c.room()
	}
	if c.runtime != nil {
		a.Runtime = c.runtime
	}
	if c.demo != nil {
		a.Demo = c.demo
	}
	a.Now = c.now
	if a.Now == nil {
		a.Now = func() time.Time { return noon.Add(time.Minute) }
	}
	ctx := c.ctx
	if ctx == nil {
		ctx = t.Context()
	}
	if c.until != "" {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Minute)
		defer stop()
		s.Out = &interrupter{&b.Out, c.until, stop}
	}
	code := a.Execute(ctx, Root(a), args)
	return result{code, b.Out.String(), b.Err.String()}
}

// interrupter interrupts a command that has written a text.
type interrupter struct {
	out  *bytes.Buffer
	text string
	stop func()
}

func (i *interrupter) Write(p []byte) (int, error) {
	n, err := i.out.Write(p)
	if strings.Contains(i.out.String(), i.text) {
		i.stop()
	}
	return n, err
}

// want checks the exit code and that each text is in the output or the messages.
func (r result) want(t *testing.T, code failure.Code, texts ...string) {
	t.Helper()
	require.Equal(t, code, r.code, "out: %s\nerr: %s", r.out, r.err)
	for _, text := range texts {
		require.Contains(t, r.out+r.err, text)
	}
	require.NotContains(t, r.err, "goroutine ", "a stack was dumped")
	require.NotContains(t, r.err, "Usage:", "a usage text was dumped")
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// decodeLines reads JSON Lines, or one document.
func decodeLines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for dec := json.NewDecoder(bytes.NewReader([]byte(text))); dec.More(); {
		var v map[string]any
		require.NoError(t, dec.Decode(&v))
		all = append(all, v)
	}
	return all
}
