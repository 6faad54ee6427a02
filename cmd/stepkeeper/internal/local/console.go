package local

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/api"
)

type consoleOptions struct {
	app *app.App
	console.Options
	listen string
	redact string
}

var consoleText = app.Text{
	Use:   "console",
	Group: "operator",
	Short: "Serve the console for a server or a stack",
	Examples: `  stepkeeper console --stack shop --region eu-central-1
  stepkeeper console --read-only --redact redact.txt
  stepkeeper console --server http://127.0.0.1:9000 --listen 127.0.0.1:8400`,
	Long: "The pages show which orders are stuck, why and since when, and repair them. `stepkeeper dev` serves them\n" +
		"at its own address. This command serves them on the loopback interface with your own credentials, and\n" +
		"deploys nothing. It writes the lists of bulk commands into this folder. SIGINT or SIGTERM ends it.\n\n" +
		"A file for --redact has one path on each line: payment.card, customer.*, **.password. A * stands for any\n" +
		"one name or index, ** for any number of them.",
	Reach: app.Reach{Server: true, Stack: true},
}

// NewConsole returns the command `console`.
func NewConsole(a *app.App) *cobra.Command {
	o := &consoleOptions{app: a, listen: "127.0.0.1:8380"}
	return serving(a.Command(consoleText, []app.Flag{
		app.ServerFlags.Flag("listen", &o.listen, "loopback `address` to serve on; port 0 takes a free port"),
		app.ServerFlags.Flag("read-only", &o.ReadOnly, "refuse every action"),
		app.ServerFlags.Flag("redact", &o.redact,
			"`file` with paths of members that the console hides, such as payment.card"),
	},
		func(cmd *cobra.Command, _ []string) error { return runConsole(cmd.Context(), o) }))
}

// serving marks a command that serves requests. The command continues even if its output is closed.
func serving(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{app.Serves: "true"}
	return cmd
}

func runConsole(ctx context.Context, o *consoleOptions) error {
	defer outliveReaders()()
	if err := checkLoopback("--listen", o.listen); err != nil {
		return err
	}
	var err error
	o.Redact, err = loadRedaction(o.redact)
	if err != nil {
		return err
	}
	o.Client, err = o.app.Client(ctx)
	if err != nil {
		return err
	}
	listener, err := api.Listen(o.listen)
	if err != nil {
		return failure.Wrap(err, failure.General, addressAdvice(err), "the console cannot be served")
	}
	o.Name = o.app.Server()
	if o.app.Stack != "" {
		o.Name = "stack " + o.app.Stack
	}
	o.Program = o.app.Program()
	o.Log = slog.New(slog.NewTextHandler(o.app.Streams.Err, nil))
	o.Now = o.app.Now
	address := "http://" + listener.Addr().String()
	o.app.PrintReady(address, map[string]any{"ready": true, "url": address},
		fmt.Sprintf("stepkeeper console of %s ready on %s\n", o.Name, address))
	if err := api.Serve(ctx, listener, api.Pages(console.New(o.Options))); err != nil {
		return failure.Wrap(err, failure.General, "start it again", "the console ended")
	}
	return nil
}

func loadRedaction(file string) (console.Redaction, error) {
	if file == "" {
		return nil, nil
	}
	r, err := console.LoadRedaction(file)
	if err != nil {
		return nil, app.Unread(err, "name a file with one path on each line, like payment.card or customer.*",
			"file of --redact")
	}
	return r, nil
}

// pages returns a function that makes the console's handler for a server. The command `dev` serves this
// handler. The console sends its requests to the HTTP API of `dev`.
func (o *devOptions) pages(redaction console.Redaction) func(server string) http.Handler {
	return func(server string) http.Handler {
		c, err := client.New(server, client.WithRetry(app.QuickAttempts, app.QuickPatience))
		if err != nil { // The server's own address is always valid.
			return http.NotFoundHandler()
		}
		program := "stepkeeper"
		if server != app.DefaultServer {
			program += " --server " + server
		}
		return console.New(console.Options{
			Client: c, Name: strings.TrimPrefix(server, "http://"),
			Program: program, Redact: redaction, Folder: filepath.Join(o.Data, "bulk"), Log: o.Log,
		})
	}
}
