package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
)

// dev calls `stepkeeper dev` over a runtime of the test's.
func dev(ctx context.Context, t *testing.T, run func(context.Context, embedded.Options) error,
	args ...string,
) result {
	t.Helper()
	args = append([]string{
		"dev", "--data", "d", "--workflows", shipped, "--agents",
		write(t, "agents.yaml", "agents: {}"),
	}, args...)
	return call{ctx: ctx, runtime: run}.run(t, args...)
}

func TestDevSaysOneLine(t *testing.T) {
	checked := true
	ready := func(_ context.Context, o embedded.Options) error {
		o.Log.Info("not to be seen")
		o.Log.Error("to be seen", "order", "o-1")
		o.Ready(embedded.Started{Address: "http://127.0.0.1:4711", Workflows: 2, Agents: 4, Checked: checked})
		return nil
	}
	r := dev(t.Context(), t, ready)
	r.want(t, failure.OK)
	want := "stepkeeper dev ready on http://127.0.0.1:4711 (data d, checked, 2 " +
		"workflows, 4 agents)\n"
	require.Equal(t, want, r.out)
	require.Contains(t, r.err, `level=ERROR msg="to be seen" order=o-1`)
	require.NotContains(t, r.err, "not to")
	r = dev(t.Context(), t, ready, "--output", "json")
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, "http://127.0.0.1:4711", d[0]["url"])
	require.Equal(t, true, d[0]["ready"])
	require.Equal(t, true, d[0]["checked"])
	answers := func(_ context.Context, o embedded.Options) error {
		o.Ready(embedded.Started{Address: "http://127.0.0.1:4711", Answers: "http://" + o.AnswersListen})
		return nil
	}
	r = dev(t.Context(), t, answers, "--answers-listen", "127.0.0.1:4712")
	require.True(t, strings.HasSuffix(r.out,
		"pages of answers, and nothing else, on http://127.0.0.1:4712\n"), r.out)
	r = dev(t.Context(), t, answers, "--answers-listen", "127.0.0.1:4712", "--output", "json")
	d = decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, "http://127.0.0.1:4712", d[0]["answers"])
	dev(t.Context(), t, answers, "--answers-listen", ":4712").want(t, failure.Usage,
		"--answers-listen :4712 is refused", "no passwords")
	checked = false
	require.Contains(t, dev(t.Context(), t, ready).out, "(data d, its check goes on, 2 workflows")
	r = dev(t.Context(), t, ready, "--log-format", "json")
	d = decodeLines(t, r.err)
	require.Len(t, d, 1)
	require.Equal(t, "to be seen", d[0]["msg"])
	require.Equal(t, "o-1", d[0]["order"])
}

// Wrong settings of alerts and spans are reported at the start. A collector that is set for other programs
// does not keep dev from starting.
func TestDevReportsAndTraces(t *testing.T) {
	t.Chdir(t.TempDir())
	call{}.run(t, "init").want(t, failure.OK)
	var got embedded.Options
	c := call{runtime: func(_ context.Context, o embedded.Options) error { got = o; return nil }}
	c.run(t, "dev", "--alert-webhook", "https://alerts.example.com/x", "--alert-command", "tee -a alerts",
		"--alert-window", "5m", "--alert-reminder", "-1s").want(t, failure.OK)
	o := got.OnAlert
	require.Equal(t, "https://alerts.example.com/x", o.Webhook)
	require.Equal(t, "tee|-a|alerts", strings.Join(o.Command, "|"))
	require.Equal(t, 5*time.Minute, o.Window)
	require.Negative(t, o.Reminder)
	require.Nil(t, got.Tracer)
	c.run(t, "dev", "--alert-webhook", "alerts.example.com").want(t, failure.Usage, "a URL like",
		"--alert-webhook")
	c.run(t, "dev", "--otlp", "127.0.0.1:4317").want(t, failure.Usage, "the address for spans is wrong",
		"correct --otlp")
	c.run(t, "dev", "--otlp", "http://127.0.0.1:1").want(t, failure.OK)
	require.NotNil(t, got.Tracer, "no spans are recorded")
	c.env = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}
	c.run(t, "dev").want(t, failure.OK, "no spans are sent, for OTEL_EXPORTER_OTLP_ENDPOINT cannot be used")
	require.Nil(t, got.Tracer, "spans are recorded")
}

// Each example of the folder examples runs with its services: its order gets as far as it can without a
// person and without waiting for days.
func TestDevExamples(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"carriers": {
			"Processed", "fedex", "Compensated", "the order goes on without it",
			"received reply retry-later from stock, attempt 1, not-yet", "collected  Processed",
		},
		"expense":      {"Processing", "approve", "Waiting"},
		"kyc":          {"Processing", "Waiting"},
		"nightly":      {"Processed", "each: region", "regions"},
		"reminders":    {"Processing", "Waiting"},
		"shipments":    {"Processed", "each: shipment", "parcels"},
		"subscription": {"Processing", "Waiting", "renew"},
		"transfer":     {"Processed", "deposit"},
		"trial":        {"Process", "open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, data, end := running(t, nil, "--example="+name)
			id := name + "-1"
			c := call{server: server}
			c.run(t, "submit", "--workflow", name, "--id", id, filepath.Join(filepath.Dir(data), "order.json")).want(t,
				failure.OK, "accepted")
			for until := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
				shown := c.run(t, "show", id)
				if !slices.ContainsFunc(want,
					func(w string) bool { return !strings.Contains(shown.out, w) }) {
					break
				}
				require.False(t, time.Now().After(until), "want %q in\n%s", want, shown.out)
			}
			require.Contains(t, get(t, server+"/dead-letters"), "stepkeeper --server "+server+" dead-letters list",
				"the console's command lines do not lead to this server")
			r := end()
			r.want(t, failure.OK)
			require.NoDirExists(t, filepath.Dir(data))
			next := regexp.MustCompile(
				`in another terminal: stepkeeper( --server http://127\.0\.0\.1:\d+) submit --workflow ` +
					name + ` --id ` + name + `-1 (\S+)order\.json && stepkeeper( --server \S+) show ` + name +
					"-1\n")
			found := next.FindStringSubmatch(r.out + r.err)
			require.NotNil(t, found, "what to do next is not written")
			require.Equal(t, found[3], found[1])
		})
	}
}

func TestDevKeeps(t *testing.T) {
	for keep, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour,
		"18d": 18 * 24 * time.Hour, "720h": 30 * 24 * time.Hour,
	} {
		got := time.Duration(-1)
		dev(t.Context(), t, func(_ context.Context, o embedded.Options) error {
			got = o.Keep
			return nil
		}, "--keep", keep).want(t, failure.OK)
		require.Equal(t, want, got, keep)
	}
}

func TestDevEnds(t *testing.T) {
	dev(t.Context(), t, func(context.Context, embedded.Options) error {
		return errors.New("the folder is in use")
	}).
		want(t, failure.General, "in use")
	ctx, cancel := context.WithCancel(t.Context())
	dev(ctx, t, func(ctx context.Context, o embedded.Options) error {
		o.Ready(embedded.Started{})
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}).want(t, failure.OK)
}

func TestDevAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	agents := write(t, "agents.yaml", "agents:\n  payment: {external: true}\n")
	call{}.run(t, "dev", "--data", t.TempDir(), "--listen", taken.Addr().String(), "--workflows", shipped,
		"--agents", agents).
		want(t, failure.General, "already in use", "choose another port with --listen or --answers-listen")
}

// A workflow without an agent needs no agents file. A file that is named must exist.
func TestDevWithoutAgents(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("workflows", 0o700))
	got := "none"
	c := call{runtime: func(_ context.Context, o embedded.Options) error {
		got = o.Agents
		return nil
	}}
	c.run(t, "dev").want(t, failure.OK)
	require.Empty(t, got)
	c.run(t, "dev", "--agents", "agents.yaml").want(t, failure.NotFound, "there is no file agents.yaml")
	overwrite(t, "agents.yaml", "agents: {}")
	c.run(t, "dev").want(t, failure.OK)
	require.Equal(t, "agents.yaml", got)
}

// Without an agents file a workflow with an agent is refused, and says why.
func TestDevWithoutTheAgentsOfAWorkflow(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("workflows", 0o700))
	overwrite(t, "workflows/b.yaml", "workflow: b\nsteps: {pay: {agent: bank, operation: pay, timeout: 1s, "+
		"onFailure: stop, undo: none, grade: fenced}}\n")
	ctx, cancel := context.WithCancel(t.Context())
	c := call{ctx: ctx, runtime: func(ctx context.Context, o embedded.Options) error {
		o.Ready = func(embedded.Started) { cancel() }
		return embedded.Run(ctx, o)
	}}
	c.run(t, "dev", "--listen", "127.0.0.1:0").want(t, failure.OK,
		"there is no agent bank; fix: known agents: none; name it in an agents file, and start again")
}

// A file that `agent validate` refuses is refused with the same code.
func TestDevRefusesAnAgentsFile(t *testing.T) {
	agents := write(t, "agents.yaml", "agents:\n  payment: {url: nonsense}\n")
	for _, command := range [][]string{
		{"agent", "validate", agents},
		{"dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--workflows", shipped, "--agents", agents},
	} {
		call{}.run(t, command...).want(t, failure.Usage, `agent "payment": url is not an address`)
	}
}

// The console is served at a loopback address until it is interrupted, over the server or the stack that is
// named.
func TestConsoleIsServed(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL, until: "http://127.0.0.1:"}
	c.run(t, "console", "--listen", "127.0.0.1:0").want(t, failure.OK, "stepkeeper console of "+c.server+
		" ready on http://127.0.0.1:")
	r := c.run(t, "console", "--listen", "127.0.0.1:0", "--output", "json")
	d := decodeLines(t, r.out)
	require.Equal(t, failure.OK, r.code)
	require.Len(t, d, 1)
	require.Equal(t, true, d[0]["ready"])
	require.True(t, strings.HasPrefix(d[0]["url"].(string), "http://127.0.0.1:"), d[0]["url"].(string))
	stack := onStack(stacktest.New(t, stacktest.Memory()), "")
	stack.until = c.until
	stack.run(t, "console", "--listen", "127.0.0.1:0", "--stack", "Shop", "--region", "eu-central-1").want(t,
		failure.OK, "console of stack Shop ready")

	c.until = ""
	c.run(t, "console", "--listen", strings.TrimPrefix(c.server, "http://")).want(t, failure.General,
		"cannot be served", "choose another port with --listen")
}

// A file that is refused at the first start is not counted as a workflow, and the log states that it is not
// served. A folder without a file gets a warning.
func TestDevSaysWhatItServes(t *testing.T) {
	agents := write(t, "agents.yaml", "agents:\n  payment: {external: true}\n")
	good := "workflow: %s\nsteps:\n  a: {agent: payment, operation: charge, timeout: 5s, onFailure: stop, " +
		"undo: none, grade: fenced}\n"
	for name, c := range map[string]struct {
		files map[string]string
		says  []string
	}{
		"a broken one": {
			map[string]string{
				"a.yaml": fmt.Sprintf(good, "a"), "b.yaml": "workflow: b\n",
				"c.yaml": fmt.Sprintf(good, "a"),
			},
			[]string{
				"checked, 1 workflow, 1 agent",
				"workflow file refused; nothing is served for it until it is corrected",
				"b.yaml:1:1: the workflow has no steps", "c.yaml: workflow a is defined in a.yaml already",
			},
		},
		"none": {nil, []string{
			"checked, 0 workflows, 1 agent",
			"the folder holds no workflow file, so that no order can be started",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			flows := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(flows, file), []byte(text), 0o600))
			}
			r := call{until: "ready on"}.run(t, "dev", "--data", t.TempDir(), "--listen", "127.0.0.1:0",
				"--workflows", flows, "--agents", agents)
			r.want(t, failure.OK, c.says...)
			if name == "none" {
				return
			}
			v := call{}.run(t, "workflow", "validate", flows)
			v.want(t, failure.Usage, "a.yaml: valid, workflow a", "b.yaml:1:1: the workflow has no steps",
				"c.yaml: workflow a is defined in a.yaml already; fix: give one of them another name")
		})
	}
}

// TestDevClock: dev uses the clock of the machine, unless the file of a test gives an offset.
func TestDevClock(t *testing.T) {
	var got embedded.Options
	keep := func(_ context.Context, o embedded.Options) error { got = o; return nil }
	dev(t.Context(), t, keep).want(t, failure.OK)
	require.Nil(t, got.Clock)
	shift := func(by string) result {
		env := map[string]string{"STEPKEEPER_CLOCK_OFFSET": write(t, "offset", by)}
		return call{env: env, runtime: keep}.run(t, "dev", "--data", "d", "--workflows", shipped, "--agents",
			write(t, "agents.yaml", "agents: {}"))
	}
	shift("2h\n").want(t, failure.OK)
	off := time.Until(got.Clock.Now())
	require.GreaterOrEqual(t, off, time.Hour)
	require.LessOrEqual(t, off, 3*time.Hour)
	shift("later\n").want(t, failure.Usage, "duration")
}

// However often a trouble repeats, its line is logged a few times in a minute. The libraries log as the server does.
func TestDevLogsATroubleAFewTimes(t *testing.T) {
	r := dev(t.Context(), t, func(_ context.Context, o embedded.Options) error {
		for range 50 {
			o.Log.With("queue", "replies").Warn("message returned")
			slog.Error("cannot accept")
		}
		return nil
	}, "--log-format", "json")
	count := map[any]int{}
	for _, line := range decodeLines(t, r.err) {
		count[line["msg"]]++
	}
	for _, what := range []string{"message returned", "cannot accept"} {
		require.GreaterOrEqual(t, count[what], 10, what)
		require.LessOrEqual(t, count[what], 20, "%s: lines of one minute, or of two", what)
	}
	require.Contains(t, r.err, "no more lines of this kind in this minute")
}

// A server or console that cannot write its ready line reports this on standard error, continues, and ends
// without an error.
func TestDevWithoutAnOutput(t *testing.T) {
	reader, out := io.Pipe()
	_ = reader.Close()
	c := call{out: out, runtime: func(_ context.Context, o embedded.Options) error {
		o.Ready(embedded.Started{Address: "http://127.0.0.1:1"})
		return nil
	}}
	agents := write(t, "agents.yaml", "agents: {shop: {external: true}}")
	folder := t.TempDir()
	for _, output := range []string{"text", "json"} {
		c.run(t, "dev", "--data", folder, "--workflows", folder, "--agents", agents, "--output",
			output).want(t, failure.OK,
			"the ready line could not be written, and the server runs on http://127.0.0.1:1", "closed pipe")
		ctx, end := context.WithCancel(t.Context())
		end()
		call{out: out, ctx: ctx}.run(t, "console", "--listen", "127.0.0.1:0", "--output", output).want(t,
			failure.OK,
			"the ready line could not be written, and the server runs on http://127.0.0.1:", "closed pipe")
	}
}
