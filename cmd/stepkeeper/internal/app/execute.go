package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Execute runs the command that args select and returns the exit code. It writes an error with advice to
// standard error.
func (a *App) Execute(ctx context.Context, root *cobra.Command, args []string) failure.Code {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &output{w: a.Streams.Out, failed: stop}
	a.Streams.Out = out
	a.Streams.In = &interruptible{ctx: ctx, in: a.Streams.In}
	root.SetIn(a.Streams.In)
	root.SetOut(a.Streams.Out)
	root.SetErr(a.Streams.Err)
	root.SetArgs(args)
	refuseUnknown(root)
	started := false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		started = true
		if cmd.Annotations[Serves] != "" {
			out.failed = func() {}
		}
		return a.setUp(cmd)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if out.err != nil && cmd.Annotations[Serves] == "" {
		err = failure.Wrap(out.err, failure.General, "", "the output could not be written")
	}
	if err == nil {
		return failure.OK
	}
	if !started && wantsJSON(args) {
		a.output = outputJSON // cobra stops at the first wrong flag, and may have missed --output.
	}
	reported := asFailure(ctx, err, started, cmd)
	a.printError(a.Streams.Err, reported)
	return reported.Code
}

// refuseUnknown makes cobra's own command help refuse a name that it does not know, instead of printing a help text
// with exit code 0.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Run = nil
		c.RunE = func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || about.HasSubCommands() && len(rest) > 0 {
				return runGroup(about, rest)
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		}
	}
}

// output is a writer that records the first error, and ends the command then. A command therefore need not check its
// writes.
type output struct {
	w      io.Writer
	err    error
	failed func()
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
		o.failed()
	}
	return n, err
}

// Serves is the annotation of commands that serve requests. They go on when a write to the output fails, and Execute
// does not report it.
const Serves = "serves"

func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--output="+outputJSON, arg == "--output" && i+1 < len(args) && args[i+1] == outputJSON:
			return true
		}
	}
	return false
}

// kinds describes the values of flags by their type, for people.
var kinds = map[string]string{
	"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number",
	"duration": "a time like 500ms, 90s, 1h30m or 7d", "bool": "true or false",
	"stringToString": "KEY=VALUE, each key once, and several separated by commas",
}

// asFailure returns err with an exit code and advice. If the command has not started, the reason is a mistake
// in the flags or arguments.
func asFailure(ctx context.Context, err error, started bool, cmd *cobra.Command) *failure.Error {
	var f *failure.Error
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &invalid):
		flag := invalid.GetFlag()
		if errors.Is(err, strconv.ErrRange) {
			return failure.New(failure.Usage, "give a smaller number", "--%s %.60s is out of range", flag.Name,
				invalid.GetValue())
		}
		return failure.New(failure.Usage, "give "+kinds[flag.Value.Type()], "--%s cannot be %.60q", flag.Name,
			invalid.GetValue())
	case !started:
		what, rest, _ := strings.Cut(err.Error(), "\n")
		do := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
		rest = strings.TrimSpace(rest)
		if rest != "" { // rest holds cobra's suggestions.
			do = strings.Join(strings.Fields(rest), " ") + "\n" + do
		}
		return failure.New(failure.Usage, do, "%s", what)
	case ctx.Err() != nil:
		return failure.New(failure.General, "", "interrupted")
	}
	return failure.Wrap(err, failure.General, "", "%s failed", cmd.CommandPath())
}

// interruptible is an input whose reads end with a context. A read of a terminal does not end when a signal ends
// the context of a command.
type interruptible struct {
	ctx   context.Context
	in    io.Reader
	ended bool // true after the end of the input, which a terminal reports to one read only
}

var errInterrupted = errors.New("interrupted")

// Read returns errInterrupted when the context has ended. The program ends then, so that nobody misses what the
// abandoned read returns.
func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if i.ended {
		return 0, io.EOF
	}
	own := make([]byte, min(len(p), 64<<10))
	done := make(chan result, 1)
	go func() {
		r := result{}
		err := port.Guard(nil, "reading the input", func() (err error) {
			r.n, err = i.in.Read(own)
			return err
		})
		r.err = err
		done <- r
	}()
	select {
	case r := <-done:
		i.ended = errors.Is(r.err, io.EOF)
		return copy(p, own[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, errInterrupted
	}
}
