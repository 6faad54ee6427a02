// Package local implements the commands that run a server or keep files on this machine: dev, demo, console and
// backup.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/demo/shifted"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/loopback"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// clockVariable names a file with the offset of the clock.
const clockVariable = "STEPKEEPER_CLOCK_OFFSET"

// drainTime is how long `dev` may continue after a signal.
const drainTime = 5 * time.Second

type devOptions struct {
	app *app.App
	embedded.Options
	example   string                     // name of the example; "" means no example
	next      func(server string) string // function that returns the first command to run; may be nil
	orders    string                     // file with the orders of the example
	logLevel  string
	logFormat string
	redact    string
	command   string // command that runs for each alert
	otlp      string // address of the trace collector; "" means no spans
}

// devReady is the JSON line that reports that the server is ready.
type devReady struct {
	Ready     bool   `json:"ready"`
	URL       string `json:"url"`
	Answers   string `json:"answers,omitempty"` // address that serves only the answer pages
	Data      string `json:"data"`
	Workflows int    `json:"workflows"`
	Agents    int    `json:"agents"`
	// Checked is true if the server has checked the whole database file. Otherwise the check continues.
	Checked bool   `json:"checked"`
	Orders  string `json:"orders,omitempty"` // file with the orders of the example
}

var devText = app.Text{
	Use:   "dev",
	Group: "run",
	Short: "Run Stepkeeper on this machine",
	Examples: `  stepkeeper dev
  stepkeeper dev --example
  stepkeeper dev --example=carriers
  stepkeeper dev --data /var/tmp/orders --listen 127.0.0.1:9000 --workflows ./workflows --agents agents.yaml`,
	Long: `One process runs the intake, the Scheduler, the agents, the Supervisor and the store. It keeps its state in
one folder and survives kill -9. It prints one line when it is ready. SIGINT, SIGTERM or a closed terminal ends it
within 5 seconds.

It serves the HTTP API (described by /openapi.json), queues in SQS's JSON protocol, and the console at /.
It listens on the loopback interface only. New orders use a changed workflow file at once.

Without flags it reads ./workflows and ./agents.yaml and writes ./data. With --example it runs a workflow that
it ships with, and the services of that workflow, in a folder that it deletes at the end.`,
	Args: app.Args{What: "no arguments, only flags; name an example with =, as in --example=order"},
	Environment: map[string]string{
		clockVariable:                 "file with the error of the clock, read again and again; for tests",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "collector of spans; --otlp wins",
		"OTEL_EXPORTER_OTLP_HEADERS":  "headers for the collector, as NAME=VALUE,NAME=VALUE",
	},
}

// NewDev returns the command `dev`.
func NewDev(a *app.App) *cobra.Command {
	o := &devOptions{
		app: a, logLevel: "warn", logFormat: "text",
		Options: embedded.Options{
			Data: "data", Listen: strings.TrimPrefix(app.DefaultServer, "http://"), Workflows: "workflows",
			MaxOpen: 20000, SweepEvery: 500 * time.Millisecond,
			OnAlert:   embedded.OnAlert{Window: incident.DefaultWindow, Reminder: incident.DefaultReminder},
			PagePaths: console.Paths(), Version: app.ReadVersion().Version,
		},
	}
	o.Ready = o.ready
	return serving(a.Command(devText, o.flags(),
		func(cmd *cobra.Command, _ []string) error {
			if o.example != "" {
				own := []app.Flag{{Name: "data"}, {Name: "workflows"}, {Name: "agents"}}
				if err := app.Foreign(cmd, own, "a run without --example, which brings its own"); err != nil {
					return err
				}
			}
			return runDev(cmd.Context(), o)
		}))
}

func (o *devOptions) flags() []app.Flag {
	return append(o.reportFlags(), []app.Flag{
		app.FileFlags.Flag("agents", &o.Agents,
			"`file` that names the agents: services by HTTP or on AWS, and agents that attach to their queues "+
				"(default: agents.yaml, if it exists)").Offers(app.Files("yaml", "yml")),
		app.FileFlags.Flag("data", &o.Data,
			"`folder` of the state; dev makes a missing one").Offers(app.Folders),
		{
			In: app.FileFlags, Name: "example", To: &o.example, Bare: "order", Of: exampleNames(),
			Text: "run the example with this `name`; keeps nothing: " + strings.Join(exampleNames(), ", "),
		},
		app.FileFlags.Flag("keep", &o.Keep,
			"how `long` an ended order stays readable, such as 30d (default: for ever)"),
		app.FileFlags.Flag("workflows", &o.Workflows, "`folder` with the workflow files").Offers(app.Folders),
		app.ServerFlags.Flag("answers-listen", &o.AnswersListen,
			"loopback `address` for the answer pages alone; put a proxy before it (docs/how-to/answer-links.md)"),
		app.ServerFlags.Flag("listen", &o.Listen, "loopback `address` to serve on; port 0 takes a free port"),
		app.ServerFlags.Flag("longest-wait", &o.LongestWait,
			"shorten waits of steps to this time, to try a workflow that waits for days").Within("1ms", ""),
		app.ServerFlags.Flag("max-open", &o.MaxOpen,
			"most orders that are active at once; a further order gets the refusal \"busy\"").Within("1", ""),
		app.ServerFlags.Flag("new-token-key", &o.NewTokenKey,
			"first make a new key for answer tokens; tokens of the old key stay valid for 400 days"),
		app.ServerFlags.Flag("redact", &o.redact,
			"`file` with paths of members that the console hides, such as payment.card"),
		app.ServerFlags.Flag("reply-to", &o.ReplyTo,
			"`names` that orders may have as replyTo; each gets a queue status-NAME"),
		app.ServerFlags.Flag("sweep-every", &o.SweepEvery,
			"how often the Supervisor looks for overdue steps").Within("1ms", "1h"),
	}...)
}

// reportFlags returns the flags of alerts, logs and spans.
func (o *devOptions) reportFlags() []app.Flag {
	return []app.Flag{
		app.AlertFlags.Flag("alert-command", &o.command,
			"`program` with arguments that gets each alert as JSON on standard input; no shell"),
		app.AlertFlags.Flag("alert-reminder", &o.OnAlert.Reminder,
			"time until the next alert while orders still wait; a negative time means no reminder"),
		app.AlertFlags.Flag("alert-webhook", &o.OnAlert.Webhook, "`URL` that gets each alert as JSON"),
		app.AlertFlags.Flag("alert-window", &o.OnAlert.Window,
			"shortest time before an alert reports that no order stands for this reason any more"),
		{In: app.LogFlags, Name: "log-format", To: &o.logFormat, Of: []string{"text", "json"}, Text: "text or json"},
		{
			In: app.LogFlags, Name: "log-level", To: &o.logLevel, Of: []string{"debug", "info", "warn", "error"},
			Text: "debug, info, warn or error",
		},
		app.LogFlags.Flag("otlp", &o.otlp,
			"`URL` of an OpenTelemetry collector that gets spans by OTLP over HTTP"),
	}
}

func (o *devOptions) check() error {
	if err := checkLoopback("--listen", o.Listen); err != nil {
		return err
	}
	if o.AnswersListen != "" {
		if err := checkLoopback("--answers-listen", o.AnswersListen); err != nil {
			return err
		}
	}
	o.OnAlert.Command = strings.Fields(o.command)
	if err := o.OnAlert.Check(); err != nil {
		return failure.Wrap(err, failure.Usage,
			"see --alert-webhook, --alert-command and --alert-window of `stepkeeper dev --help`",
			"the settings of alerts are wrong")
	}
	if err := o.checkKeep(); err != nil {
		return err
	}
	i := slices.IndexFunc(o.ReplyTo, func(name string) bool { return !message.ReplyToName(name) })
	if i >= 0 {
		return failure.New(failure.Usage, "give names of letters, digits and ._-, separated by commas: --reply-to shop,web",
			"--reply-to %.80q is refused: no order can name it", o.ReplyTo[i])
	}
	info, err := os.Stat(o.Workflows)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failure.New(failure.NotFound, "name the folder with your workflow files: --workflows DIR\nor "+
			"begin with a small project: `stepkeeper init shop && cd shop && stepkeeper dev`\nor with the one that is "+
			"built in: `stepkeeper dev --example`", "there is no folder %s", o.Workflows)
	case err != nil || !info.IsDir():
		return failure.New(failure.Usage, "give --workflows the folder that the workflow files are in",
			"%s is no folder that can be read", o.Workflows)
	}
	agents := cmp.Or(o.Agents, "agents.yaml")
	info, err = os.Stat(agents)
	switch {
	case o.Operations != nil || o.Agents == "" && errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return app.Unread(err, "name the file that lists your agents: --agents FILE", "agents file")
	case info.IsDir():
		return failure.New(failure.Usage, "give --agents the file that is in it", "%s is a folder", agents)
	}
	o.Agents = agents
	return nil
}

func (o *devOptions) checkKeep() error {
	if o.Keep == 0 || o.Keep >= sqlite.MinKeep && o.Keep <= (36500*core.Day).Std() {
		return nil
	}
	return failure.New(failure.Usage, fmt.Sprintf("give days, like --keep 30d, at least %s: a "+
		"request or a repeated order can arrive that late", workflow.Short(core.DurationOf(sqlite.MinKeep))),
		"--keep %s is refused", o.Keep)
}

// checkLoopback returns an error if the address is not on the loopback interface. Other machines must not
// reach the server, because it has no passwords.
func checkLoopback(flag, listen string) error {
	host, service, err := net.SplitHostPort(listen)
	_, wrong := strconv.ParseUint(service, 10, 16)
	if err != nil || wrong != nil {
		return failure.New(failure.Usage, "give host and port, like "+flag+" 127.0.0.1:8377",
			"%s %q is not an address", flag, listen)
	}
	if !loopback.Is(host) {
		return failure.New(failure.Usage,
			"listen on the loopback interface, like "+flag+
				" 127.0.0.1:8377: there are no users, no passwords and no TLS here",
			"%s %s is refused: other machines could reach it", flag, listen)
	}
	return nil
}

// outliveReaders keeps the process alive after the reader of its output has ended. A write then returns an
// error. Without outliveReaders, SIGPIPE would end the process, and systemd would regard this end as clean.
// Unlike signal.Ignore, outliveReaders does not affect child processes.
func outliveReaders() (stop func()) {
	unread := make(chan os.Signal, 1) // No goroutine receives from this channel.
	signal.Notify(unread, syscall.SIGPIPE)
	return func() { signal.Stop(unread) }
}

// logger returns the logger of the server.
func (o *devOptions) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.logLevel)) // The flag accepts only valid levels.
	options := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(o.app.Streams.Err, options)
	if o.logFormat == "json" {
		h = slog.NewJSONHandler(render.CleanJSON(o.app.Streams.Err), options)
	}
	return slog.New(embedded.Bounded(h))
}

func runDev(ctx context.Context, o *devOptions) error {
	defer outliveReaders()()
	embedded.SetCollector(o.app.Getenv)
	o.Log = o.logger()
	slog.SetDefault(o.Log) // for net/http, and for all that is logged outside the runtime
	if o.example != "" {
		end, err := o.startExample(ctx)
		if err != nil {
			return failure.Wrap(err, failure.General, "check the space and the permissions of "+os.TempDir(),
				"the example cannot be started")
		}
		defer end()
	}
	if err := o.check(); err != nil {
		return err
	}
	var err error
	o.Clock, err = o.clock()
	if err != nil {
		return err
	}
	redaction, err := loadRedaction(o.redact)
	if err != nil {
		return err
	}
	o.Pages = o.pages(redaction)
	closeTracer, err := o.trace(ctx)
	if err != nil {
		return err
	}
	defer closeTracer()
	return o.serve(ctx)
}

// serve runs the server. If ctx ends, serve waits for the server for at most drainTime.
func (o *devOptions) serve(ctx context.Context) (err error) {
	ended := make(chan error, 1)
	go func() {
		ended <- port.Guard(o.Log, "the server", func() error { return o.app.Runtime(ctx, o.Options) })
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(drainTime):
			return failure.New(failure.General, "start it again: no acknowledged order is lost",
				"stepkeeper dev did not stop within %v and was cut off", drainTime)
		}
	}
	switch {
	case err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil
	case errors.Is(err, agentsfile.ErrFile): // as from `agent validate`
		return failure.Wrap(err, failure.Usage, "", "stepkeeper dev ended")
	}
	return failure.Wrap(err, failure.General, addressAdvice(err), "stepkeeper dev ended")
}

// addressAdvice returns the advice for an address that is in use. It returns "" for any other error.
func addressAdvice(err error) string {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ""
	}
	return "another program listens there, perhaps another `stepkeeper dev` or console; choose another " +
		"port with --listen or --answers-listen, 0 takes a free one"
}

// trace sets the tracer, and returns a function that closes it. The tracer stays nil if no collector is set, or
// if the environment variable has no valid address.
func (o *devOptions) trace(ctx context.Context) (closed func(), err error) {
	endpoint := cmp.Or(o.otlp, o.app.Getenv(deployment.VarTraces))
	if endpoint == "" {
		return func() {}, nil
	}
	header, err := tracing.Headers(o.app.Getenv(tracing.VarHeaders))
	if err != nil { // The variable may be set for other programs.
		o.app.Warn("spans are sent without the headers in " + tracing.VarHeaders + ": " + err.Error())
	}
	t, err := tracing.New(tracing.Options{
		Endpoint: endpoint, Service: "stepkeeper",
		Version: o.Version, Header: header, Proxy: http.ProxyFromEnvironment, MaxSpans: 8192,
		SendTime: 5 * time.Second, Pause: 5 * time.Second, Log: o.Log,
	})
	switch {
	case err != nil && o.otlp == "": // The variable may be set for other programs.
		o.app.Warn("no spans are sent, for " + deployment.VarTraces + " cannot be used: " + err.Error())
		return func() {}, nil
	case err != nil:
		return nil, failure.Wrap(err, failure.Usage, "correct --otlp", "the address for spans is wrong")
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		port.Always(running, o.Log, "the sender of spans", func() { t.Run(running) })
	}()
	o.Tracer = t
	return func() {
		stop()
		select {
		case <-ended:
		case <-time.After(time.Second): // The collector may lose the last spans.
		}
	}, nil
}

// clock returns the clock that a test can shift. It returns nil if the server uses the system clock.
func (o *devOptions) clock() (port.Timer, error) {
	file := o.app.Getenv(clockVariable)
	if file == "" {
		return nil, nil
	}
	c, err := shifted.Open(file)
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage, "unset "+clockVariable+": it is for tests",
			"the clock cannot be moved")
	}
	return c, nil
}

// ready prints the line that scripts wait for.
func (o *devOptions) ready(s embedded.Started) {
	checked := "checked"
	if !s.Checked {
		checked = "its check goes on"
	}
	text := fmt.Sprintf("stepkeeper dev ready on %s (data %s, %s, %s, %s)\n",
		s.Address, o.Data, checked, view.Count(s.Workflows, "workflow"), view.Count(s.Agents, "agent"))
	if s.Answers != "" {
		text += fmt.Sprintf("pages of answers, and nothing else, on %s\n", s.Answers)
	}
	if o.next != nil {
		server := ""
		if s.Address != app.DefaultServer {
			server = " --server " + s.Address
		}
		text += fmt.Sprintf("in another terminal: %s\n", o.next(server))
	}
	o.app.PrintReady(s.Address, devReady{
		Ready: true, URL: s.Address, Answers: s.Answers, Data: o.Data,
		Workflows: s.Workflows, Agents: s.Agents, Checked: s.Checked, Orders: o.orders,
	}, text)
}
