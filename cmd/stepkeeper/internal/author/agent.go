package author

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var agentText = app.Text{
	Use:   "agent",
	Group: "author",
	Short: "Write and test agents of your own",
}

// NewAgent returns the command `agent` with its subcommands.
func NewAgent(a *app.App) *cobra.Command {
	return a.Group(agentText, newAgentNew(a), newAgentTry(a), newAgentValidate(a))
}

type agentOptions struct {
	app *app.App
	scaffold.Agent
	dir       string
	moduleDir string
}

// written is the JSON output of the commands that write files: `agent new` and `init`.
type written struct {
	Agent  string   `json:"agent,omitempty"`
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

var agentNewText = app.Text{
	Use:   "new NAME",
	Short: "Write a new agent in Go, Python or TypeScript",
	Examples: `  stepkeeper agent new payment --operation charge --undo refund
  stepkeeper agent new shipping --dir agents/shipping --module example.com/shop/shipping
  stepkeeper agent new mail --language python`,
	Long: `It writes a program that runs, its test, a README, and a workflow to try it with. Then make it call your service.
Existing files are not overwritten.`,
	Args:  app.Args{Least: 1, Most: 1, What: "the agent's name"},
	Offer: app.Nothing,
}

func newAgentNew(a *app.App) *cobra.Command {
	o := &agentOptions{app: a, Agent: scaffold.Agent{Do: "create", Undo: "remove", Language: "go"}}
	return a.Command(agentNewText, []app.Flag{
		{
			In: app.WorkflowFlags, Name: "language", To: &o.Language, Of: scaffold.Languages,
			Text: "`language`: go, python or typescript",
		},
		app.WorkflowFlags.Flag("operation", &o.Do, "`name` of its operation"),
		app.WorkflowFlags.Flag("undo", &o.Undo, "`name` of the operation that reverses it"),
		app.FileFlags.Flag("dir", &o.dir,
			"`folder` to write to (default: the agent's name)").Offers(app.Folders),
		app.FileFlags.Flag("module", &o.Module,
			"`path` of the new Go module (default: example.com/agents/NAME)"),
		moduleDirFlag(&o.moduleDir),
	},
		func(cmd *cobra.Command, given []string) error {
			o.Name = given[0]
			if o.Language != "go" {
				if err := app.Foreign(cmd, []app.Flag{{Name: "module"}}, "an agent in Go"); err != nil {
					return err
				}
			}
			return runAgentNew(o)
		})
}

func runAgentNew(o *agentOptions) error {
	o.dir = cmp.Or(o.dir, o.Name)
	o.Module = cmp.Or(o.Module, "example.com/agents/"+o.Name)
	if err := o.Check(); err != nil {
		return failure.New(failure.Usage,
			"for example: stepkeeper agent new payment --operation charge --undo refund", "%v", err)
	}
	var err error
	o.Stepkeeper, err = scaffold.FindModule(o.moduleDir)
	if err != nil {
		return failure.Wrap(err, failure.Usage, moduleAdvice, "the files of agent %s cannot be written",
			o.Name)
	}
	files, err := o.Write(o.dir)
	switch {
	case errors.Is(err, scaffold.ErrNotEmpty):
		return failure.New(failure.Usage, "name another one with --dir; nothing was written",
			"the folder %s is not empty", o.dir)
	case errors.Is(err, scaffold.ErrNoPackage):
		return failure.Wrap(err, failure.Usage, moduleAdvice, "the files of agent %s cannot be written",
			o.Name)
	case err != nil:
		return failure.Wrap(err, failure.General, "", "the files of agent %s cannot be written", o.Name)
	}
	o.app.Print(written{Agent: o.Name, Folder: o.dir, Files: files},
		"wrote the agent %s to %s: %s\n\nNow make %s call your service, and try it:\n\n  cd %s\n  %s\n\n"+
			"README.md says how to run it.\n", o.Name, o.dir, strings.Join(files, ", "),
		serviceFile[o.Language], message.Quoted(folder(o.dir)), strings.Join(tryIt(o.Agent), "\n  "))
	return nil
}

// serviceFile maps a language to the file of a new agent that contains the agent's operations.
var serviceFile = map[string]string{"go": "service.go", "python": "agent.py", "typescript": "src/service.ts"}

func tryIt(a scaffold.Agent) []string {
	switch {
	case a.Language == "python":
		return []string{
			"python3 -m venv .venv && . .venv/bin/activate", "pip install -r requirements.txt",
			"python -m unittest",
		}
	case a.Language == "typescript":
		return []string{"npm install", "npm test"}
	case a.Stepkeeper.Fetch():
		return []string{"go mod tidy", "go test ./..."}
	}
	return []string{"go test ./..."}
}

// checkedAgents describes a valid agents file. It is the JSON output of `agent validate`.
type checkedAgents struct {
	File   string   `json:"file"`
	Valid  bool     `json:"valid"`
	Agents []string `json:"agents"`
	Unset  []string `json:"unset"` // names of unset environment variables that the file mentions
	config settings.File
}

var agentValidateText = app.Text{
	Use:      "validate FILE",
	Short:    "Check an agents file, and print how to fix it",
	Examples: "  stepkeeper agent validate agents.yaml",
	Long: "It checks the file as `stepkeeper dev` does at its start. A variable that the file names and that is not\n" +
		"set here is a warning. The exit code is 2 if there is an error.",
	Args:  app.Args{Least: 1, Most: 1, What: "an agents file"},
	Offer: app.Files("yaml", "yml"),
}

func newAgentValidate(a *app.App) *cobra.Command {
	return a.Command(agentValidateText, nil, func(_ *cobra.Command, given []string) error {
		c, err := checkAgents(a, given[0])
		if err == nil {
			a.Print(c, "%s: %s, %s: %s\n", c.File, a.Streams.Style().Good("valid"), view.Count(len(c.Agents), "agent"),
				strings.Join(c.Agents, ", "))
		}
		return err
	})
}

// checkAgents checks an agents file. If the output is text, it also warns of unset environment variables.
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
		a.Warn(fmt.Sprintf("agents file %s: environment variables that are not set: %s; set them before "+
			"the start", file, names))
	}
	return checkedAgents{file, true, slices.Sorted(maps.Keys(c.Agents)), append([]string{}, unset...), c}, nil
}

const moduleAdvice = "name your clone of Stepkeeper, with its go.mod: --module-dir FOLDER"
