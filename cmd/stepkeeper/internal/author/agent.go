package author

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent/agentsfile"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// NewAgent returns the command agent with its subcommands.
func NewAgent(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Write agents of your own, and test them",
		Args:  cobra.ArbitraryArgs,
		RunE:  app.Group,
	}
	cmd.AddCommand(newAgentNew(a), newAgentTry(a), newAgentValidate(a))
	return cmd
}

type agentOptions struct {
	app       *app.App
	agent     scaffold.Agent
	dir       string
	moduleDir string
}

// agentWritten is the answer with --output json.
type agentWritten struct {
	Agent  string   `json:"agent"`
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

func newAgentNew(a *app.App) *cobra.Command {
	o := &agentOptions{app: a}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write a new agent in Go, with its test, into a folder of its own",
		Long: "Write a new agent: a Go program that compiles, with its test, a README, and a workflow to " +
			"try it with.\n" +
			"Then make service.go call your service. Nothing that exists is overwritten.",
		Example: "  stepkeeper agent new payment --operation charge --undo refund\n  stepkeeper agent new " +
			"shipping --dir agents/shipping --module example.com/shop/shipping",
		Args: app.Args(cobra.ExactArgs(1), "the agent's name"),
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
	f.StringVar(&o.agent.Module, "module", "",
		"`path` of the new Go module (default: example.com/agents/NAME)")
	moduleFlag(cmd, &o.moduleDir)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

func runAgentNew(o *agentOptions) error {
	o.dir = cmp.Or(o.dir, o.agent.Name)
	o.agent.Module = cmp.Or(o.agent.Module, "example.com/agents/"+o.agent.Name)
	if err := o.agent.Check(); err != nil {
		return failure.New(failure.Usage,
			"for example: stepkeeper agent new payment --operation charge --undo refund", "%v", err)
	}
	o.agent.Go = goRelease(runtime.Version())
	module, err := scaffold.FindModule(o.moduleDir)
	if err != nil {
		return failure.Wrap(err, failure.Usage, moduleAdvice, "the agent %s cannot be written", o.agent.Name)
	}
	o.agent.Stepkeeper = module
	files, err := o.agent.Write(o.dir)
	switch {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return failure.New(failure.Usage, "name another one with --dir; nothing was written",
			"the folder %s is not empty", o.dir)
	case err != nil:
		return failure.Wrap(err, failure.General, "", "the agent %s cannot be written", o.agent.Name)
	}
	if o.app.JSON() {
		return o.app.PrintJSON(agentWritten{Agent: o.agent.Name, Folder: o.dir, Files: files})
	}
	out := o.app.Streams.Out
	fmt.Fprintf(out,
		"wrote the agent %s to %s: %s\n\nNow make service.go call your service, and try it:\n\n  cd %s\n",
		o.agent.Name, o.dir, strings.Join(files, ", "), o.dir)
	if module.Fetch() {
		fmt.Fprintln(out, "  go mod tidy")
	}
	fmt.Fprintln(out, "  go test ./...\n\nREADME.md says how to run it.")
	return nil
}

// checkedAgents is an agents file that is valid, with --output json.
type checkedAgents struct {
	File   string   `json:"file"`
	Valid  bool     `json:"valid"`
	Agents []string `json:"agents"`
	Unset  []string `json:"unset"` // environment variables that the file names and that are not set here
}

func newAgentValidate(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE",
		Short: "Check an agents file, and report what to fix",
		Long: "Check an agents file as `stepkeeper dev` does at its start. Environment variables that the " +
			"file\n" +
			"names and that are not set here are a warning: they need to be set where it runs. The exit " +
			"code is 2\n" +
			"if there is an error.",
		Example:           "  stepkeeper agent validate agents.yaml",
		Args:              app.Args(cobra.ExactArgs(1), "an agents file"),
		ValidArgsFunction: app.CompleteWorkflowFiles,
		RunE: func(_ *cobra.Command, given []string) error {
			c, err := checkAgents(a, given[0])
			if err != nil {
				return err
			}
			if a.JSON() {
				return a.PrintJSON(c)
			}
			fmt.Fprintf(a.Streams.Out, "%s: %s, %s: %s\n", c.File, a.Streams.Style().Good("valid"),
				view.Count(len(c.Agents), "agent"), strings.Join(c.Agents, ", "))
			return nil
		},
	}
}

// checkAgents checks an agents file, and warns of variables that are not set.
func checkAgents(a *app.App, file string) (checkedAgents, error) {
	c, unset, err := agentsfile.Check(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = failure.New(failure.NotFound, "check the name", "there is no agents file %s", file)
		return checkedAgents{}, err
	case err != nil:
		return checkedAgents{}, failure.New(failure.Usage, "", "%v", err)
	}
	if len(unset) > 0 && !a.JSON() {
		names := strings.Join(unset, ", ")
		a.Warn(fmt.Sprintf("agents file %s: not set here: %s; set them before the start", file, names))
	}
	return checkedAgents{file, true, slices.Sorted(maps.Keys(c.Agents)), append([]string{}, unset...)}, nil
}

// moduleAdvice is what to do where this program does not know where its module is.
const moduleAdvice = "name your clone of Stepkeeper, with its go.mod: --module-dir FOLDER"

// moduleFlag is for commands that write Go code which imports Stepkeeper.
func moduleFlag(cmd *cobra.Command, dir *string) {
	f := cmd.Flags()
	f.StringVar(dir, "module-dir", "",
		"`folder` of a clone of Stepkeeper to build against (default: the one that this program was built "+
			"from, or its release)")
	f.StringVar(dir, "replace", "", "the same as --module-dir")
	_ = f.MarkHidden("replace")
	_ = cmd.MarkFlagDirname("module-dir")
}

var release = regexp.MustCompile(`^go(\d+\.\d+)`)

// goRelease is the release for go.mod: "go1.26.8" gives 1.26.0, the language that is needed.
func goRelease(version string) string {
	if m := release.FindStringSubmatch(version); m != nil {
		return m[1] + ".0"
	}
	return "1.26.0" // a development version: what this module needs itself
}
