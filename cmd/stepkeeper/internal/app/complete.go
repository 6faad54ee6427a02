package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

const completionTime = 2 * time.Second

var completionText = Text{
	Use:   "completion SHELL",
	Short: "Print the completions of a shell: bash, zsh, fish or powershell",
	Examples: `  source <(stepkeeper completion bash)
  stepkeeper completion zsh > "${fpath[1]}/_stepkeeper"
  stepkeeper completion fish > ~/.config/fish/completions/stepkeeper.fish
  stepkeeper completion powershell | Out-String | Invoke-Expression`,
	Long: `It prints a script. The examples load it: bash and PowerShell in this session, zsh and fish in every new one.
bash needs the package bash-completion.`,
	Args:  Args{Least: 1, Most: 1, What: "a shell: bash, zsh, fish or powershell"},
	Offer: Offer{Suggest: []string{"bash", "zsh", "fish", "powershell"}},
}

// completion returns the command `completion`.
func (a *App) completion() *cobra.Command {
	return a.Command(completionText, nil, func(cmd *cobra.Command, given []string) error {
		root := cmd.Root()
		switch given[0] {
		case "bash":
			return root.GenBashCompletionV2(a.Streams.Out, true)
		case "zsh":
			return root.GenZshCompletion(a.Streams.Out)
		case "fish":
			return root.GenFishCompletion(a.Streams.Out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(a.Streams.Out)
		}
		return failure.New(failure.Usage, "give bash, zsh, fish or powershell", "there are no completions for %.40q",
			given[0])
	})
}

// complete returns a function that suggests words to a shell. The parameter most is the maximum number of
// arguments. 0 means no limit. -1 means that the words are for the value of a flag.
func (a *App) complete(s Offer, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		words := s.Suggest
		switch {
		case slices.Equal(s.Files, []string{"/"}):
			return nil, cobra.ShellCompDirectiveFilterDirs
		case len(s.Files) > 0:
			return s.Files, cobra.ShellCompDirectiveFilterFileExt
		case s.Complete == "workflows":
			words = a.workflowNames(ctx)
		case s.Complete == "steps" && len(given) == 0,
			s.Complete == "orders" && (most == 0 || len(given) < most):
			return a.someOrders(ctx), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		case s.Complete == "steps" && len(given) == 1:
			words = a.steps(ctx, given[0])
		case s.Complete == "" && words == nil:
			return nil, cobra.ShellCompDirectiveDefault
		case len(given) > 2:
			words = nil
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// someOrders returns the IDs of some orders. Orders in Error come first.
func (a *App) someOrders(ctx context.Context) (ids []string) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil
	}
	for _, q := range []client.Query{{State: core.Error, PageSize: 20}, {PageSize: 50}} {
		n := 0
		for s, err := range c.List(ctx, q) {
			n++
			if err != nil || n > q.PageSize {
				break
			}
			ids = append(ids, cobra.CompletionWithDesc(s.OrderID, string(s.State)))
		}
	}
	return ids
}

func (a *App) steps(ctx context.Context, id string) (names []string) {
	task, err := Ask(ctx, a, id, func(c *client.Client, ctx context.Context) (*client.Task, error) {
		return c.Get(ctx, id)
	})
	if err != nil {
		return nil
	}
	for _, s := range task.Steps {
		names = append(names, cobra.CompletionWithDesc(s.Name, string(s.State)))
	}
	return names
}

func (a *App) workflowNames(ctx context.Context) (names []string) {
	// After an error there are no suggestions. A stack cannot list its workflows.
	all, _ := Ask(ctx, a, "", (*client.Client).Workflows)
	for _, w := range all {
		names = append(names, w.Name)
	}
	return names
}

// KnownWorkflow returns an error if the server or the stack has no workflow with the given name. Commands call it
// after they have found no order of the workflow. It returns nil if the name is "". A stack cannot list its
// workflows, but it knows each by its name.
func (a *App) KnownWorkflow(ctx context.Context, c *client.Client, name string) error {
	if name == "" {
		return nil
	}
	if a.Stack != "" {
		_, err := c.Definition(ctx, name, client.Latest)
		var refused *client.Error
		if errors.As(err, &refused) && refused.Code == message.CodeUnknownWorkflow {
			return noWorkflow(name, "look at what was deployed in the stack "+a.Stack)
		}
		return nil
	}
	all, err := c.Workflows(ctx)
	if err != nil {
		return a.Explain(err, "list of workflows")
	}
	names := make([]string, len(all))
	for i, w := range all {
		names[i] = w.Name
	}
	if slices.Contains(names, name) {
		return nil
	}
	do := suggest.DidYouMean(name, names, "`"+a.Program()+" workflow list` lists the workflows")
	return noWorkflow(name, do)
}

func noWorkflow(name, do string) error {
	return failure.New(failure.NotFound, do, "there is no workflow %.100q, and no order of it", name)
}
