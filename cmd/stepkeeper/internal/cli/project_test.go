package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// project is a running project that `stepkeeper init` has written. The test moves its clock.
type project struct {
	dir, server string
	ahead       atomic.Int64
}

// start runs a project, after edit has changed its files.
func start(t *testing.T, edit func(dir string)) *project {
	t.Helper()
	p := &project{dir: t.TempDir()}
	call{}.run(t, "init", p.dir).want(t, failure.OK)
	if edit != nil {
		edit(p.dir)
	}
	server, _, end := running(t, port.ClockFunc(p.now), "--data", filepath.Join(p.dir, "data"),
		"--workflows", filepath.Join(p.dir, "workflows"), "--agents", filepath.Join(p.dir, "agents.yaml"),
		"--log-level", "error")
	p.server = server
	t.Cleanup(func() { end() })
	return p
}

// running starts `stepkeeper dev` on a free port, and waits until it is ready. The function end interrupts it.
func running(t *testing.T, clock port.Timer, args ...string) (server, data string, end func() result) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan [2]string, 1)
	done := make(chan result, 1)
	c := call{ctx: ctx, runtime: func(ctx context.Context, o embedded.Options) error {
		report := o.Ready
		o.Ready = func(s embedded.Started) { report(s); ready <- [2]string{s.Address, o.Data} }
		o.Clock = clock
		return embedded.Run(ctx, o)
	}}
	go func() { done <- c.run(t, append([]string{"dev", "--listen", "127.0.0.1:0"}, args...)...) }()
	select {
	case s := <-ready:
		return s[0], s[1], func() result { cancel(); return <-done }
	case r := <-done:
		t.Fatalf("it ended: %+v", r)
		return "", "", nil
	}
}

func (p *project) now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

func (p *project) run(t *testing.T, args ...string) result {
	t.Helper()
	return call{server: p.server, now: p.now}.run(t, args...)
}

func overwrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// An agent that does not run is reported by every command that shows agents, until it takes requests.
func TestUnattendedAgent(t *testing.T) {
	p := start(t, func(dir string) {
		overwrite(t, filepath.Join(dir, "agents.yaml"),
			"agents:\n  seats: {external: true}\n  payments: {external: true}\n")
	})
	submit := func(id string) result {
		return p.run(t, "submit", "--workflow", "booking", "--id", id, filepath.Join(p.dir, "order.json"))
	}
	require.Empty(t, submit("o-1").err, "an agent may start a moment after the runtime")
	// After 20 s o-1 is overdue, and has another request.
	p.ahead.Store(int64(12 * time.Second))
	const reported = "queue requests-seats has had no consumer for 1" // 12 s and a little
	submit("o-2").want(t, failure.OK, reported, "o-2: accepted")
	p.run(t, "list").want(t, failure.OK, reported, "2 messages waiting",
		"queue requests-payments has had no consumer")
	r := p.run(t, "show", "o-1")
	r.want(t, failure.OK, reported, "is the agent seats running?")
	require.NotContains(t, r.out, "requests-payments", "no step waits for payments yet")
	d := decodeLines(t, p.run(t, "show", "o-1", "--output", "json").out)
	all, _ := d[0]["unattended"].([]any)
	require.Len(t, all, 1)
	require.Equal(t, "requests-seats", all[0].(map[string]any)["queue"])
	require.NotNil(t, all[0].(map[string]any)["since"])
	require.Len(t, decodeLines(t, get(t, p.server+"/healthz"))[0]["unattended"], 2)
	receive(t, p.server, "requests-seats", true)
	receive(t, p.server, "requests-payments", false) // there is none: the receiver counts
	for _, args := range [][]string{{"show", "o-1"}, {"list"}} {
		r := p.run(t, args...)
		require.NotContains(t, r.out+r.err, "no consumer", "%v", args)
	}
	p.ahead.Store(int64(28 * time.Second)) // the agent is at its work: it holds a request
	r = p.run(t, "show", "o-1")
	require.NotContains(t, r.out+r.err, "requests-seats", "an agent at work need not receive")
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// receive takes one message as an agent in any language does.
func receive(t *testing.T, server, queue string, some bool) {
	t.Helper()
	body := `{"QueueUrl":"` + server + `/000000000000/` + queue +
		`","MaxNumberOfMessages":1,"VisibilityTimeout":600}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/", strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, some, strings.Contains(string(answer), "ReceiptHandle"), "%s", answer)
}

// A workflow file that cannot be read is not reported as an unknown workflow.
func TestBrokenWorkflow(t *testing.T) {
	p := start(t, func(dir string) {
		overwrite(t, filepath.Join(dir, "workflows/tickets.yaml"),
			"workflow: refunds\nsteps:\n  a: {agent: absent}\n")
	})
	order := func(workflow string) result {
		return call{server: p.server, in: `{"schema":1,"orderId":"b-1","workflow":"` + workflow +
			`","order":{}}`}.run(t, "submit", "-")
	}
	order("refunds").want(t, failure.Refused,
		`the workflow "refunds" is there, and its file cannot be used: /`, "tickets.yaml:3",
		"; fix the file, then try again")
	order("tickets").want(t, failure.Refused, `no workflow "tickets" is deployed; check the name, or deploy`)
	order("bookign").want(t, failure.Refused, `no workflow "bookign" is deployed; did you mean booking? check the name`)
	p.run(t, "workflow", "list").want(t, failure.OK, "refunds", "tickets.yaml:3")
}
