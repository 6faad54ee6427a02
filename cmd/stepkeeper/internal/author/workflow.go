// Package author implements the commands for authors of workflows and agents: init, workflow, agent, aws,
// simulate and cost.
package author

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

var workflowText = app.Text{
	Use:   "workflow",
	Group: "author",
	Short: "Check, draw and list workflows",
}

var workflowListText = app.Text{
	Use:   "list",
	Short: "List the workflows of a running server",
	Examples: `  stepkeeper workflow list
  stepkeeper workflow list --output json`,
	Long: `It lists the workflows that new orders can name, and problems of newer files. The server refuses a broken file, and the
version before it stays in force.`,
	Reach: app.Reach{Server: true, Timeout: "how long to wait for an answer (default 30s)"},
}

var workflowSchemaText = app.Text{
	Use:      "schema",
	Short:    "Print the JSON Schema of workflow files",
	Examples: "  stepkeeper workflow schema > workflow.schema.json",
	Long:     "Editors with a YAML language server complete and check workflow files with it.",
}

// NewWorkflow returns the command `workflow` with its subcommands.
func NewWorkflow(a *app.App) *cobra.Command {
	return a.Group(workflowText, newValidate(a), newGraph(a), a.Command(workflowListText, nil,
		func(cmd *cobra.Command, _ []string) error { return runWorkflowList(cmd.Context(), a) }),
		a.Command(workflowSchemaText, nil, func(*cobra.Command, []string) error {
			fmt.Fprintf(a.Streams.Out, "%s\n", source.Schema)
			return nil
		}))
}

type validateOptions struct {
	app    *app.App
	files  []string // workflow files, or folders with workflow files
	agents string   // agents file; "" means that every agent name is valid
	order  string   // file with a sample order, for measuring the expressions; "" means no sample
}

// validated is the JSON result for one workflow file.
type validated struct {
	File     string          `json:"file"`
	Valid    bool            `json:"valid"`
	Workflow string          `json:"workflow,omitempty"`
	Hash     string          `json:"hash,omitempty"`
	Steps    int             `json:"steps,omitempty"`
	Budget   *budget         `json:"budget,omitempty"`
	Problems source.Problems `json:"problems"` // errors and warnings; an empty list if there are none
}

// budget compares the workflow's expressions with their limits.
type budget struct {
	Parts        int `json:"parts"`
	PartsAllowed int `json:"partsAllowed"`
	Steps        int `json:"steps,omitempty"` // evaluation steps for the given order
	StepsAllowed int `json:"stepsAllowed"`
}

var workflowValidateText = app.Text{
	Use:   "validate FILE...",
	Short: "Check workflow files, and print how to fix them",
	Examples: `  stepkeeper workflow validate workflows/order.yaml
  stepkeeper workflow validate workflows --agents agents.yaml`,
	Long: `It checks files, or all files of a folder, against the JSON Schema and then for their meaning. Each problem names
file, line, column and fix. The exit code is 2 if there is an error; warnings do not fail.
It prints how much of their budget the expressions use.`,
	Args:  app.Args{Least: 1, Any: true, What: "a workflow file, or a folder"},
	Offer: app.Files("yaml", "yml"),
}

func newValidate(a *app.App) *cobra.Command {
	o := &validateOptions{app: a}
	return a.Command(workflowValidateText, []app.Flag{
		app.FileFlags.Flag("agents", &o.agents,
			"agents `file` to check the names of agents with (default: accept any name)").
			Offers(app.Files("yaml", "yml")),
		app.FileFlags.Flag("order", &o.order,
			"`file` with the content of an order, to measure the work of the expressions for it").
			Offers(app.Files("json")),
	},
		func(_ *cobra.Command, given []string) error {
			o.files = given
			return runValidate(o)
		})
}

func runValidate(o *validateOptions) error {
	options, err := o.agentsOptions()
	if err != nil {
		return err
	}
	files, err := workflowFiles(o.files, options)
	if err != nil {
		return err
	}
	var order json.RawMessage
	if o.order != "" {
		order, err = o.app.ReadJSON(o.order, "order", port.MaxOrder)
		if err != nil {
			return err
		}
	}
	bad := 0
	for _, f := range files {
		if order != nil && f.Definition != nil {
			if err := f.Definition.Expr.CheckOrder(order); err != nil {
				f.Problems = append(f.Problems, source.Problem{
					File: o.order, Severity: source.SeverityError,
					What: message.Mismatch(f.Definition.Name, err).Text,
				})
				f.Definition = nil
			}
		}
		if f.Definition == nil {
			bad++
		}
		if err := o.print(f.Name, f.Definition, f.Problems, order); err != nil {
			return err
		}
	}
	if bad > 0 {
		return failure.Silent(failure.Usage, "some workflows are not valid")
	}
	return nil
}

// budgetOf measures the expressions of a workflow and of its blocks.
func budgetOf(def *core.Definition, order json.RawMessage) (*budget, error) {
	b := &budget{PartsAllowed: expression.MaxNodes, StepsAllowed: expression.MaxSteps}
	for _, d := range def.WithBlocks() {
		x, err := expression.Compile(d)
		if err != nil {
			return nil, err
		}
		u := x.Usage(core.Environment{Order: order, OrderID: "order-1"})
		b.Parts = max(b.Parts, u.Parts)
		if order != nil {
			b.Steps = max(b.Steps, u.Steps)
		}
	}
	return b, nil
}

func (b *budget) String() string {
	text := fmt.Sprintf("largest expression %d of %d parts", b.Parts, b.PartsAllowed)
	if b.Steps > 0 {
		text += fmt.Sprintf(", at most %d of %d steps of work for this order", b.Steps, b.StepsAllowed)
	}
	return text
}

func (o *validateOptions) agentsOptions() (source.Options, error) {
	if o.agents == "" {
		return source.Options{}, nil
	}
	c, err := checkAgents(o.app, o.agents)
	return source.Options{KnownAgents: c.Agents, CannotKeep: c.config.CannotKeep}, err
}

func workflowFiles(names []string, opts source.Options) ([]source.File, error) {
	var files []source.File
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, app.Unread(err, "check the name", "workflow")
		case !info.IsDir():
			f := source.File{Name: name}
			f.Definition, f.Problems = source.LoadFile(name, opts)
			files = append(files, f)
			continue
		}
		found, err := source.LoadDir(name, opts)
		switch {
		case err != nil:
			return nil, failure.Wrap(err, failure.Usage, "", "%s cannot be read", name)
		case len(found) == 0:
			return nil, failure.New(failure.NotFound, "name a folder with *.yaml files",
				"the folder %s has no workflow files", name)
		}
		for i := range found {
			found[i].Name = filepath.Join(name, found[i].Name)
		}
		files = append(files, found...)
	}
	return files, nil
}

func (o *validateOptions) print(file string, def *core.Definition, problems source.Problems,
	order json.RawMessage,
) error {
	a := o.app
	var used *budget
	if def != nil {
		var err error
		used, err = budgetOf(def, order)
		if err != nil {
			return err
		}
	}
	if a.JSON() {
		v := validatedOf(file, def, problems)
		v.Budget = used
		a.PrintLine(v)
		return nil
	}
	style := a.Streams.ErrStyle()
	for _, p := range problems {
		paint := style.Bad
		if p.Severity == source.SeverityWarning {
			paint = style.Warn
		}
		place, rest, _ := strings.Cut(p.String(), ": ")
		fmt.Fprintf(a.Streams.Err, "%s: %s\n", style.Bold(place), paint(render.Clean(rest)))
	}
	if def != nil {
		fmt.Fprintf(a.Streams.Out, "%s: %s, workflow %s, %s, hash %s, %s\n", file, a.Streams.Style().Good("valid"),
			def.Name, view.Count(len(def.Steps), "step"), def.Hash, used)
	}
	return nil
}

func validatedOf(file string, def *core.Definition, problems source.Problems) validated {
	v := validated{File: file, Valid: def != nil, Problems: append(source.Problems{}, problems...)}
	if def != nil {
		v.Workflow = def.Name
		v.Hash = def.Hash
		v.Steps = len(def.Steps)
	}
	return v
}

var workflowGraphText = app.Text{
	Use:      "graph FILE",
	Short:    "Draw a workflow",
	Examples: "  stepkeeper workflow graph workflows/order.yaml > order.mmd",
	Long: `It writes a Mermaid flowchart, which many editors and code hosts show as a picture.
With --output json the text is in the field mermaid.`,
	Args:  app.Args{Least: 1, Most: 1, What: "one workflow file"},
	Offer: app.Files("yaml", "yml"),
}

func newGraph(a *app.App) *cobra.Command {
	return a.Command(workflowGraphText, nil,
		func(_ *cobra.Command, given []string) error { return runGraph(a, given[0]) })
}

func runGraph(a *app.App, file string) error {
	def, err := definitionOf(file)
	if err != nil {
		return err
	}
	text := workflow.Graph(def)
	a.Print(map[string]string{"workflow": def.Name, "mermaid": text}, "%s", text)
	return nil
}

func runWorkflowList(ctx context.Context, a *app.App) error {
	all, err := app.Ask(ctx, a, "list of workflows", (*client.Client).Workflows)
	if err != nil {
		return err
	}
	style := a.Streams.Style()
	app.PrintList(a, all, []string{"WORKFLOW", "STATE", "HASH"}, func(w *client.Workflow) []string {
		switch {
		case w.Hash == "":
			return []string{w.Name, style.Bad("broken"), w.Hash}
		case len(w.Problems) > 0:
			return []string{w.Name, style.Warn("older version in force"), w.Hash}
		}
		return []string{w.Name, style.Good("in force"), w.Hash}
	})
	if a.JSON() {
		return nil
	}
	for _, w := range all {
		for _, p := range w.Problems {
			fmt.Fprintln(a.Streams.Err, a.Streams.ErrStyle().Bad(render.Clean(p)))
		}
	}
	return nil
}

func definitionOf(file string) (*core.Definition, error) {
	files, err := workflowFiles([]string{file}, source.Options{})
	switch {
	case err != nil:
		return nil, err
	case len(files) != 1 || files[0].Name != file:
		return nil, failure.New(failure.Usage, "name one of its files", "%s is a folder", file)
	case files[0].Definition == nil:
		return nil, failure.New(failure.Usage, files[0].Problems.Error(), "%s is no valid workflow", file)
	}
	return files[0].Definition, nil
}
