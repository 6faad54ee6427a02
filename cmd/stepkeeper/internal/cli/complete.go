package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// completionTime is how long a shell may wait for suggestions.
const completionTime = 2 * time.Second

// completeOrders suggests IDs of orders that the server knows, those that need a person first.
// most is how many arguments the command takes; -1 is any number.
func (a *App) completeOrders(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(given) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		c, err := a.client(ctx)
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

// completeStep suggests an order, a step of it, and then third.
func (a *App) completeStep(third []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
		switch len(given) {
		case 0:
			return a.completeOrders(1)(cmd, given, prefix)
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
	c, err := a.client(ctx)
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

// completeWorkflowFiles suggests YAML files.
func completeWorkflowFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
