package cli

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9._:~-]{1,128}$`)

// checkID refuses what cannot be an order's ID before anything is sent.
func checkID(id string) error {
	if !idPattern.MatchString(id) || id == "." || id == ".." {
		return failure.New(failure.Usage,
			"an ID has 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and is not . or ..",
			"%.140q is no order's ID", id)
	}
	return nil
}

// bounded gives a command its time limit; fallback 0 is none.
func (a *App) bounded(ctx context.Context, fallback time.Duration) (context.Context, context.CancelFunc) {
	limit := cmp.Or(a.timeout, fallback)
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// taskStates are the states that a task can be in, for --state.
var taskStates = []core.State{core.Processing, core.Compensating, core.Processed, core.Compensated,
	core.Cancelled, core.Closed, core.Error}

func stateNames() []string {
	names := make([]string, len(taskStates))
	for i, s := range taskStates {
		names[i] = string(s)
	}
	return names
}

// args gives the argument check of cobra an advice of ours.
func args(check cobra.PositionalArgs, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return failure.New(failure.Usage, fmt.Sprintf("write `%s`; see `%s --help`", cmd.UseLine(),
				cmd.CommandPath()), "%s needs %s", cmd.CommandPath(), want)
		}
		return nil
	}
}
