package cli

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/shared/embedded"
)

func devOf(t *testing.T, run func(context.Context, embedded.Options) error) (*devOptions, *streams.Buffers) {
	t.Helper()
	s, b := streams.Test(false)
	a := New(s, func(string) string { return "" })
	return &devOptions{app: a, run: run, listen: "127.0.0.1:0", data: "d", workflows: shipped,
		agents: write(t, "agents.yaml", "agents: {}"), maxOpen: 1, sweep: time.Second, logLevel: "warn", logFormat: "text"}, b
}

func TestDevSaysOneLine(t *testing.T) {
	ready := func(_ context.Context, o embedded.Options) error {
		o.Log.Info("not to be seen")
		o.Ready(embedded.Started{Address: "http://127.0.0.1:4711", Workflows: 2, Agents: 4})
		return nil
	}
	o, b := devOf(t, ready)
	if err := runDev(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if want := "stepkeeper dev ready on http://127.0.0.1:4711 (data d, 2 workflows, 4 agents)\n"; b.Out.String() != want || b.Err.Len() > 0 {
		t.Errorf("%q, %q; want %q", b.Out.String(), b.Err.String(), want)
	}
	o, b = devOf(t, ready)
	o.app.output = outputJSON
	if err := runDev(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if d := decodeLines(t, b.Out.String()); len(d) != 1 || d[0]["url"] != "http://127.0.0.1:4711" || d[0]["ready"] != true {
		t.Errorf("%s", b.Out.String())
	}
}

func TestDevKeeps(t *testing.T) {
	for keep, want := range map[string]time.Duration{"": 0, "30d": 30 * 24 * time.Hour, "18d": 18 * 24 * time.Hour} {
		got := time.Duration(-1)
		o, _ := devOf(t, func(_ context.Context, o embedded.Options) error { got = o.Keep; return nil })
		o.keep = keep
		if err := runDev(t.Context(), o); err != nil || got != want {
			t.Errorf("--keep %q: %v, %v; want %v", keep, got, err, want)
		}
	}
	for _, keep := range []string{"17d", "0d", "-30d", "30", "720h", "d", "1000000d"} {
		o, _ := devOf(t, func(context.Context, embedded.Options) error { t.Error("it runs"); return nil })
		o.keep = keep
		if err := runDev(t.Context(), o); failure.Of(err) != failure.Usage || !strings.Contains(err.Error(), keep) {
			t.Errorf("--keep %s: %v, want it refused", keep, err)
		}
	}
}

func TestDevEnds(t *testing.T) {
	o, _ := devOf(t, func(context.Context, embedded.Options) error { return errors.New("the folder is in use") })
	if err := runDev(t.Context(), o); failure.Of(err) != failure.General || !strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o, _ = devOf(t, func(ctx context.Context, o embedded.Options) error {
		o.Ready(embedded.Started{})
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if err := runDev(ctx, o); err != nil {
		t.Errorf("ended by a signal: %v", err)
	}
}

func TestDevAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	agents := write(t, "agents.yaml", "agents:\n  payment: {external: true}\n")
	call{}.run(t, "dev", "--data", t.TempDir(), "--listen", taken.Addr().String(), "--workflows", shipped, "--agents", agents).
		want(t, failure.General, "already in use", "choose a port with --listen")
}

func TestDevRunsForReal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	agents := write(t, "agents.yaml", "agents:\n  inventory: {external: true}\n  payment: {external: true}\n  shipping: {external: true}\n  notification: {external: true}\n  cloud: {external: true}\n  network: {external: true}\n  dns: {external: true}\n")
	out := &lineWriter{lines: make(chan string, 10)}
	s, _ := streams.Test(false)
	s.Out = out
	done := make(chan failure.Code, 1)
	go func() {
		a := New(s, func(string) string { return "" })
		done <- a.Execute(ctx, []string{"dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--workflows", shipped, "--agents", agents, "--log-level", "error"})
	}()
	select {
	case line := <-out.lines:
		_, rest, _ := strings.Cut(line, " on ")
		url, _, _ := strings.Cut(rest, " ")
		c := call{server: url, in: `{"schema":1,"orderId":"real-1","workflow":"order","order":{"items":[],"currency":"EUR","payment":{"card":"x"},"customer":{"email":"a@b"}}}`}
		c.run(t, "submit", "-").want(t, failure.OK, "real-1: accepted")
		c.run(t, "show", "real-1").want(t, failure.OK, "real-1  Processing", "charge-payment")
		c.run(t, "cancel", "real-1").want(t, failure.OK, "accepted")
		c.run(t, "workflow", "list").want(t, failure.OK, "order", "in force")
	case code := <-done:
		t.Fatalf("it ended with %d", code)
	}
	cancel()
	if code := <-done; code != failure.OK {
		t.Errorf("exit code %d after a signal", code)
	}
}

// lineWriter hands on what is written, line by line.
type lineWriter struct{ lines chan string }

func (w *lineWriter) Write(b []byte) (int, error) {
	w.lines <- string(b)
	return len(b), nil
}

func TestDemo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want failure.Code
	}{{nil, failure.OK}, {runner.ErrNotProven, failure.General}, {runner.ErrStack, failure.General}} {
		s, b := streams.Test(false)
		a := New(s, func(string) string { return "" })
		var got runner.Options
		o := &demoOptions{app: a, seed: 7, run: func(_ context.Context, o runner.Options) (runner.Report, error) {
			got = o
			if files, err := workflowFiles([]string{o.Workflows}); err != nil || len(files) != 1 {
				t.Errorf("the built-in workflow is not there: %v %v", files, err)
			}
			return runner.Report{Submitted: 3}, c.err
		}}
		if err := runDemo(t.Context(), o); failure.Of(err) != c.want {
			t.Errorf("%v: %v", c.err, err)
		}
		if got.Seed != 7 || got.Binary == "" || got.Out == nil || got.Dir != "" {
			t.Errorf("%+v", got)
		}
		a.output = outputJSON
		_ = runDemo(t.Context(), o)
		if d := decodeLines(t, b.Out.String()); !errors.Is(c.err, runner.ErrStack) && (len(d) != 1 || d[0]["submitted"] != 3.0) {
			t.Errorf("the output is not the report alone: %s", b.Out.String())
		}
	}
}

// TestDevClock: the clock is the machine's, unless a test's file says by how much it is off.
func TestDevClock(t *testing.T) {
	var got embedded.Options
	keep := func(_ context.Context, o embedded.Options) error { got = o; return nil }
	o, _ := devOf(t, keep)
	if err := runDev(t.Context(), o); err != nil || got.Clock != nil {
		t.Fatalf("clock %v, %v; want the machine's", got.Clock, err)
	}
	o, _ = devOf(t, keep)
	o.clockFile = write(t, "offset", "2h\n")
	if err := runDev(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if off := time.Until(got.Clock.Now()); off < time.Hour || off > 3*time.Hour {
		t.Errorf("the clock is off by %s, want 2h", off)
	}
	o, _ = devOf(t, keep)
	o.clockFile = write(t, "offset", "later\n")
	if err := runDev(t.Context(), o); failure.Of(err) != failure.Usage || !strings.Contains(err.Error(), "duration") {
		t.Errorf("%v", err)
	}
}
