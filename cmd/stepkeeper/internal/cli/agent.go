package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
)

func newAgent(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Write agents of your own, and test them",
		Args:  cobra.ArbitraryArgs,
		RunE:  group,
	}
	cmd.AddCommand(newAgentNew(a), newAgentTry(a))
	return cmd
}

type agentOptions struct {
	app     *App
	agent   scaffold.Agent
	dir     string
	version string // of this program
}

// agentWritten is the answer with --output json.
type agentWritten struct {
	Agent  string   `json:"agent"`
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

func newAgentNew(a *App) *cobra.Command {
	o := &agentOptions{app: a, version: ReadVersion().Version}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new agent in Go, with its test, into a folder of its own",
		Long: "Write a new agent: a Go program that compiles, with its test, a README, and a workflow to try it with.\n" +
			"Then make service.go call your service. Nothing that exists is overwritten.",
		Example: "  stepkeeper agent new payment --operation charge --undo refund\n  stepkeeper agent new shipping --dir agents/shipping --module example.com/shop/shipping",
		Args:    args(cobra.ExactArgs(1), "the agent's name"),
		RunE: func(_ *cobra.Command, given []string) error {
			o.agent.Name = given[0]
			return runAgentNew(o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", "", "`folder` to write to (default: the agent's name)")
	f.StringVar(&o.agent.Do, "operation", "create", "`name` of its operation")
	f.StringVar(&o.agent.Undo, "undo", "remove", "`name` of the operation that reverses it")
	f.StringVar(&o.agent.Module, "module", "", "`path` of the new Go module (default: example.com/agents/NAME)")
	f.StringVar(&o.agent.Replace, "replace", "", "`folder` of a working copy of Stepkeeper to build against")
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagDirname("replace")
	return cmd
}

func runAgentNew(o *agentOptions) error {
	if o.dir == "" {
		o.dir = o.agent.Name
	}
	if o.agent.Module == "" {
		o.agent.Module = "example.com/agents/" + o.agent.Name
	}
	if err := o.agent.Check(); err != nil {
		return failure.New(failure.Usage, "for example: stepkeeper agent new payment --operation charge --undo refund", "%v", err)
	}
	o.agent.Go = goRelease(runtime.Version())
	if err := o.require(); err != nil {
		return err
	}
	files, err := o.agent.Write(o.dir)
	switch {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return failure.New(failure.Usage, "name another one with --dir; nothing was written", "the folder %s is not empty", o.dir)
	case err != nil:
		return failure.Wrap(err, failure.General, "", "the agent %s cannot be written", o.agent.Name)
	}
	if o.app.JSON() {
		return o.app.printJSON(agentWritten{Agent: o.agent.Name, Folder: o.dir, Files: files})
	}
	out := o.app.Streams.Out
	fmt.Fprintf(out, "wrote the agent %s to %s: %s\n\nNow make service.go call your service, and try it:\n\n  cd %s\n", o.agent.Name, o.dir, strings.Join(files, ", "), o.dir)
	if o.agent.Tidy() {
		fmt.Fprintln(out, "  go get github.com/stepkeeper/stepkeeper@latest")
	}
	fmt.Fprintln(out, "  go mod tidy\n  go test ./...\n\nREADME.md tells how to run it.")
	return nil
}

// require decides what the new module builds against: a working copy, the released version that
// this program is of, or, for a program that was built from a working copy, what the user fetches.
func (o *agentOptions) require() error {
	if o.agent.Replace == "" {
		if strings.HasPrefix(o.version, "v") && !strings.Contains(o.version, "+") {
			o.agent.Version = o.version
		}
		return nil
	}
	abs, err := filepath.Abs(o.agent.Replace)
	if err != nil {
		return failure.Wrap(err, failure.Usage, "", "--replace %s", o.agent.Replace)
	}
	o.agent.Replace, o.agent.Version = filepath.ToSlash(abs), "v0.0.0"
	return nil
}

var release = regexp.MustCompile(`^go(\d+\.\d+)`)

// goRelease is the release for go.mod: "go1.26.8" gives 1.26.0, the language that is needed.
func goRelease(version string) string {
	if m := release.FindStringSubmatch(version); m != nil {
		return m[1] + ".0"
	}
	return "1.26.0" // a development version: what this module needs itself
}
