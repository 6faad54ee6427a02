package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	demo "github.com/stepkeeper/stepkeeper/demo/process"
)

// patience is how long a test waits for what has to come, on a machine with much else to do.
const patience = 30 * time.Second

// site is what a `stepkeeper dev` runs on: its folders stay when the process ends.
type site struct {
	t     *testing.T
	dir   string
	flags []string // further flags of dev
}

// newSite writes an agents' file and workflow files, by name.
func newSite(t *testing.T, agents string, workflows map[string]string, flags ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), flags: flags}
	require.NoError(t, os.Mkdir(s.path("workflows"), 0o700))
	s.write("agents.yaml", agents)
	for name, text := range workflows {
		s.write(filepath.Join("workflows", name), text)
	}
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// write puts a file in place as a whole, as a deploy does.
func (s *site) write(name, text string) {
	s.t.Helper()
	beside := s.path(name) + ".new"
	require.NoError(s.t, os.WriteFile(beside, []byte(text), 0o600))
	require.NoError(s.t, os.Rename(beside, s.path(name)))
}

// args are the arguments of the program.
func (s *site) args() []string {
	return append([]string{
		"dev", "--data", s.path("data"), "--listen", "127.0.0.1:0",
		"--workflows", s.path("workflows"), "--agents", s.path("agents.yaml"),
	}, s.flags...)
}

// process is one running `stepkeeper dev`.
type process struct {
	*demo.Process
	t       *testing.T
	readyAt time.Time
	took    time.Duration // from the start to the ready line
	client  *client.Client
}

// start runs the program and waits for its ready line.
func (s *site) start() *process {
	s.t.Helper()
	p := &process{t: s.t, Process: &demo.Process{
		Name: "stepkeeper dev", Binary: binary, Args: s.args(), Log: s.path("log"),
	}}
	p.took = start(s.t, p.Process)
	p.readyAt = time.Now()
	var err error
	p.client, err = client.New(p.URL())
	require.NoError(s.t, err)
	return p
}

// start starts a program and waits until it is ready. It is killed at the end of the test, and the log of a failed
// test is shown.
func start(t *testing.T, p *demo.Process) time.Duration {
	t.Helper()
	p.Patience = patience
	took, err := p.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", p.Name, p.LogTail())
		}
	})
	return took
}

// kill ends it as a power cut would.
func (p *process) kill() {
	p.t.Helper()
	require.NoError(p.t, p.Kill())
}

// stop asks it to end, which it does in good order within 5 s.
func (p *process) stop() {
	p.t.Helper()
	began := time.Now()
	require.NoError(p.t, p.Stop())
	took := time.Since(began)
	p.t.Logf("ended %s after SIGTERM", took.Round(time.Millisecond))
	require.LessOrEqual(p.t, took, 5*time.Second)
}

// submit sends n orders as one stream; all must be accepted.
func (p *process) submit(prefix string, n int) []string {
	p.t.Helper()
	ids := make([]string, 0, n)
	orders := func(yield func(client.Order) bool) {
		for i := range n {
			if !yield(client.Order{
				ID: fmt.Sprintf("%s-%d", prefix, i), Workflow: "sale", Content: json.RawMessage(good),
			}) {
				return
			}
		}
	}
	err := p.client.SubmitAll(p.t.Context(), orders, func(r client.Result) {
		if !r.Accepted {
			p.t.Errorf("order %s: %v", r.OrderID, r.Err)
			return
		}
		ids = append(ids, r.OrderID)
	})
	require.NoError(p.t, err, "%+v", n)
	require.Len(p.t, ids, n)
	return ids
}

// get returns an order, which must be there.
func (p *process) get(id string) *client.Task {
	p.t.Helper()
	task, err := p.client.Get(p.t.Context(), id)
	require.NoError(p.t, err)
	return task
}

// end waits for an order's end, and holds it to the state.
func (p *process) end(id string, want client.State) *client.Task {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	task, err := p.client.Wait(ctx, id)
	switch {
	case err != nil:
		p.t.Fatalf("order %s has no end: %v", id, err)
	case task.State != want:
		p.t.Fatalf("order %s ended %s, want %s: %+v", id, task.State, want, task.Error)
	}
	return task
}

// post sends a submission as it is, without the client's repetitions.
func (p *process) post(body []byte) (*http.Response, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.URL()+"/v1/orders",
		bytes.NewReader(body))
	require.NoError(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	return res, string(text)
}

// said is what a command of the program answered.
type said struct {
	code     int
	out, err string
}

// run runs a command of the program to its end, against this process.
func (p *process) run(stdin string, args ...string) said {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, "--server", p.URL())...)
	var out, errs bytes.Buffer
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout = &out
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		p.t.Fatalf("stepkeeper %v: %v\n%s%s", args, errors.Join(err, ctx.Err()), &out, &errs)
	}
	return said{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// wants holds an answer to its exit code.
func (s said) wants(t *testing.T, what string, code int) {
	t.Helper()
	if s.code != code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", what, s.code, code, s.out, s.err)
	}
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
