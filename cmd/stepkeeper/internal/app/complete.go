package app

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// completionTime is how long a shell may wait for suggestions.
const completionTime = 2 * time.Second

// CompleteOrders suggests IDs of orders that the server knows, those that need a person first.
// most is how many arguments the command takes; -1 is any number.
func (a *App) CompleteOrders(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := a.Client(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var ids []string
		for _, q := range []client.Query{{State: core.Error, PageSize: 20}, {PageSize: 50}} {
			n := 0
			for s, err := range c.List(ctx, q) {
				if n++; err != nil || n > q.PageSize {
					break
				}
				ids = append(ids, cobra.CompletionWithDesc(s.OrderID, string(s.State)))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// CompleteStep suggests an order, a step of it, and then third.
func (a *App) CompleteStep(third []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch len(given) {
		case 0:
			return a.CompleteOrders(1)(cmd, given, prefix)
		case 1:
			return a.completeSteps(cmd.Context(), given[0])
		case 2:
			return third, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSteps suggests the steps of an order.
func (a *App) completeSteps(ctx context.Context, id string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	c, err := a.Client(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	task, err := c.Get(ctx, id)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := make([]string, len(task.Steps))
	for i, s := range task.Steps {
		names[i] = cobra.CompletionWithDesc(s.Name, string(s.State))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteWorkflowFiles suggests YAML files.
func CompleteWorkflowFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// Workflows asks the server for its workflows.
func (a *App) Workflows(ctx context.Context) ([]client.Workflow, error) {
	if a.Stack != "" {
		return nil, failure.New(failure.Usage,
			"leave --stack out to ask a `stepkeeper dev`; for the stack, look at what was deployed",
			"the workflows of stack %s are inside its functions and cannot be listed", a.Stack)
	}
	c, err := a.Client(ctx)
	if err != nil {
		return nil, err
	}
	return c.Workflows(ctx)
}

// KnownWorkflow refuses the name of a workflow that selected no order if the server does not know it either.
// A stack cannot list its workflows.
func (a *App) KnownWorkflow(ctx context.Context, c *client.Client, name string) error {
	if name == "" || a.Stack != "" {
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
	return failure.New(failure.NotFound, do, "there is no workflow %.100q, and no order of it", name)
}

// CompleteWorkflowNames suggests the workflows of a running server.
func (a *App) CompleteWorkflowNames(cmd *cobra.Command, _ []string,
	_ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	all, err := a.Workflows(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, w := range all {
		names = append(names, w.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
