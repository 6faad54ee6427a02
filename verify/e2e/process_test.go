package e2e

import (
	"bufio"
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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
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

func (s *site) command() *exec.Cmd {
	args := []string{
		"dev", "--output", "json", "--data", s.path("data"), "--listen", "127.0.0.1:0",
		"--workflows", s.path("workflows"), "--agents", s.path("agents.yaml"),
	}
	return exec.Command(binary, append(args, s.flags...)...)
}

// process is one running `stepkeeper dev`.
type process struct {
	t       *testing.T
	cmd     *exec.Cmd
	url     string
	readyAt time.Time
	took    time.Duration // from the start to the ready line
	log     *buffer
	exited  chan struct{}
	client  *client.Client
}

// start runs the program and waits for its ready line. It is killed at the end of the test, if it
// still runs then; the log of a failed test is shown.
func (s *site) start() *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: s.command(), log: &buffer{}, exited: make(chan struct{})}
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(s.t, err)
	began := time.Now()
	require.NoError(s.t, p.cmd.Start())
	first := make(chan string, 1)
	go func() {
		defer close(p.exited)
		r := bufio.NewReader(stdout)
		line, _ := r.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, r)
		_ = p.cmd.Wait() // its exit code is read by those who want it
	}()
	s.t.Cleanup(func() {
		p.kill()
		if s.t.Failed() {
			s.t.Logf("log of the process:\n%s", p.log)
		}
	})
	var line string
	select {
	case line = <-first:
	case <-time.After(patience):
	}
	p.readyAt = time.Now()
	p.took = p.readyAt.Sub(began)
	var ready struct {
		Ready bool
		URL   string
	}
	require.NoError(s.t, json.Unmarshal([]byte(line), &ready))
	require.True(s.t, ready.Ready)
	p.url = ready.URL
	p.client, err = client.New(p.url)
	require.NoError(s.t, err)
	return p
}

// kill ends it as a power cut would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// stop asks it to end, and answers the exit code and how long it took.
func (p *process) stop() (code int, took time.Duration) {
	p.t.Helper()
	began := time.Now()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatalf("still running %s after SIGTERM", patience)
	}
	return p.cmd.ProcessState.ExitCode(), time.Since(began)
}

// submit sends orders 0 to n-1 of a workflow as one stream; all must be accepted.
func (p *process) submit(workflow, prefix string, n int) []string {
	p.t.Helper()
	ids := make([]string, 0, n)
	orders := func(yield func(client.Order) bool) {
		for i := range n {
			if !yield(client.Order{
				ID: fmt.Sprintf("%s-%d", prefix, i), Workflow: workflow,
				Content: map[string]int{"n": i},
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
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url+"/v1/orders",
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
	cmd := exec.CommandContext(ctx, binary, append(args, "--server", p.url)...)
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

// buffer is a bytes.Buffer that two goroutines may use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
