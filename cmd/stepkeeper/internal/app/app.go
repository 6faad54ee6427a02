// Package app holds the parts that all commands share. These parts are the streams, the global flags, the
// client, errors with exit codes, and the execution of a command.
package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	// DefaultServer is the default address of `stepkeeper dev`.
	DefaultServer = "http://127.0.0.1:8377"
	// ServerVariable names the environment variable that overrides DefaultServer.
	ServerVariable = "STEPKEEPER_SERVER"
	// DefaultTimeout limits the time of a short command. If a command works on several orders, DefaultTimeout
	// limits the time for each order.
	DefaultTimeout = 30 * time.Second
)

// App holds the state that all commands share: the streams, the clock and the global flags.
type App struct {
	Streams *streams.Streams
	Getenv  func(string) string
	Now     func() time.Time

	// Tests replace the functions below.
	OpenStack func(ctx context.Context, name string, o aws.Options,
		opts ...client.Option) (*client.Client, error)
	Dial    func(server string, opts ...client.Option) (*client.Client, error)
	Runtime func(context.Context, embedded.Options) error
	Demo    func(context.Context, runner.Options) (runner.Report, error)

	// StackRoom returns the number of concurrent executions that a stack needs, and the account's limit of
	// concurrent executions.
	StackRoom func(ctx context.Context, name string, o aws.Options) (operate.Room, error)

	server   string // value of the flag --server; "" means the environment variable or DefaultServer
	Stack    string // value of the flag --stack; "" means that the command uses a server
	region   string // AWS region of the stack; "" means the environment or the AWS profile
	output   string
	noColour bool
	Timeout  time.Duration // value of the flag --timeout; zero means the command's default
}

// New returns an App that reads the system clock.
func New(s *streams.Streams, getenv func(string) string) *App {
	return &App{
		Streams: s, Getenv: getenv, Now: time.Now, OpenStack: operate.Open, Dial: client.New,
		Runtime: embedded.Run, Demo: runner.Run, StackRoom: operate.RoomOf, output: outputText,
	}
}

// StepOutput is a flag of the command resolve. It names the file with the output of a step. The flag
// --output has a different purpose: it sets the format of the command's output.
const StepOutput = "step-output"

const (
	outputText = "text"
	outputJSON = "json"
)

// JSON reports whether commands print JSON instead of text.
func (a *App) JSON() bool { return a.output == outputJSON }

func (a *App) setUp(cmd *cobra.Command) error {
	if a.noColour {
		a.Streams.NoColour()
	}
	if a.JSON() {
		a.Streams.SayJSON()
	}
	if a.output != outputText && a.output != outputJSON {
		do := "use --output text or --output json"
		if cmd.Flags().Lookup(StepOutput) != nil {
			do += "; what the step returned goes with --" + StepOutput + " FILE"
		}
		return failure.New(failure.Usage, do, "there is no output format %q", a.output)
	}
	if a.Stack != "" && a.server != "" {
		return failure.New(failure.Usage,
			"--server is a `stepkeeper dev`, --stack is deployed on AWS: leave one of them out",
			"--stack and --server are given together")
	}
	if a.region != "" && a.Stack == "" {
		return failure.New(failure.Usage, "add --stack NAME, or leave --region out",
			"--region is that of a stack, and no stack is given")
	}
	return nil
}

// Server returns the server's address: the flag --server, the environment variable, or DefaultServer.
func (a *App) Server() string {
	switch env := a.Getenv(ServerVariable); {
	case a.server != "":
		return a.server
	case env != "":
		return env
	}
	return DefaultServer
}

// Program returns "stepkeeper" with the flags that select the present server or stack. The advice for users
// contains commands that begin with this text.
func (a *App) Program() string {
	switch {
	case a.Stack != "" && a.region != "":
		return "stepkeeper --stack " + a.Stack + " --region " + a.region
	case a.Stack != "":
		return "stepkeeper --stack " + a.Stack
	case a.server != "" && a.server != DefaultServer:
		return "stepkeeper --server " + a.server
	}
	return "stepkeeper"
}

// Page returns the settings for printing a task.
func (a *App) Page() render.Page {
	return render.Page{Style: a.Streams.Style(), Now: a.Now(), Program: a.Program()}
}

// Print writes a text, or doc as an indented JSON document if the output is JSON.
func (a *App) Print(doc any, format string, args ...any) {
	if a.JSON() {
		a.PrintJSON(doc)
		return
	}
	fmt.Fprintf(a.Streams.Out, format, args...)
}

// PrintJSON writes v to the output as an indented JSON document.
func (a *App) PrintJSON(v any) { _ = encode(a.Streams.Out, v, "  ") }

// PrintLine writes v to the output as one line of JSON.
func (a *App) PrintLine(v any) { _ = encode(a.Streams.Out, v, "") }

// PrintList writes one line of JSON for each element if the output is JSON. Otherwise it writes a table with
// one row for each element.
func PrintList[T any](a *App, all []T, header []string, row func(*T) []string) {
	rows := make([][]string, len(all))
	for i := range all {
		if a.JSON() {
			a.PrintLine(all[i])
		} else {
			rows[i] = row(&all[i])
		}
	}
	if !a.JSON() {
		render.Table(a.Streams.Out, a.Streams.Style(), "", header, rows)
	}
}

// PrintReady writes the line that scripts wait for. If it cannot be written, the command goes on and warns.
func (a *App) PrintReady(address string, doc any, text string) {
	var err error
	if a.JSON() {
		err = encode(a.Streams.Out, doc, "")
	} else {
		_, err = fmt.Fprint(a.Streams.Out, text)
	}
	if err != nil {
		a.Warn(fmt.Sprintf("the ready line could not be written, and the server runs on %s: %v", address, err))
	}
}

// encode writes v as JSON. Its error is that of the write, which Execute reports.
func encode(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(render.CleanJSON(w))
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// errorBody is the error in JSON output.
type errorBody struct {
	Exit    failure.Code `json:"exit"`
	Code    string       `json:"code"` // name of the exit code, such as usage or not-found
	Message string       `json:"message"`
	Hint    string       `json:"hint,omitempty"`
}

func (a *App) printError(w io.Writer, err *failure.Error) {
	if err.Quiet {
		return
	}
	if a.JSON() {
		body := errorBody{Exit: err.Code, Code: err.Code.Word(), Message: err.Error(), Hint: err.Do}
		_ = encode(w, map[string]errorBody{"error": body}, "")
		return
	}
	fmt.Fprintf(w, "%s %s\n", a.Streams.ErrStyle().Bad("stepkeeper:"), render.CleanLines(err.Error()))
	for line := range strings.Lines(err.Do) {
		fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, "\n"))
	}
}

// Unattended returns the queues without a consumer. If a check fails, Unattended also prints a warning.
func (a *App) Unattended(ctx context.Context, c *client.Client, workflow string) []view.Unattended {
	all, err := c.Unattended(ctx, workflow)
	if err != nil && ctx.Err() == nil {
		a.Warn(err.Error())
	}
	return all
}

// WarnUnattended prints the queues without a consumer to standard error. It prints a sentence for each queue,
// or one JSON document for all queues.
func (a *App) WarnUnattended(all []view.Unattended) {
	if a.JSON() && len(all) > 0 {
		_ = encode(a.Streams.Err, map[string]any{"unattended": all}, "")
		return
	}
	for _, u := range all {
		fmt.Fprintln(a.Streams.Err, a.Streams.ErrStyle().Warn(render.Unattended(u, a.Now())))
	}
}

// Warn prints a warning to standard error.
func (a *App) Warn(text string) {
	if a.JSON() {
		_ = encode(a.Streams.Err, map[string]any{"warning": text}, "")
		return
	}
	fmt.Fprintln(a.Streams.Err, a.Streams.ErrStyle().Warn("warning: "+render.Clean(text)))
}
