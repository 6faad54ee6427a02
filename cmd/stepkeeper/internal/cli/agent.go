package cli

import "github.com/spf13/cobra"

func newAgent(a *App) *cobra.Command {
	return &cobra.Command{Use: "agent", Short: "write agents for now", RunE: group}
}
