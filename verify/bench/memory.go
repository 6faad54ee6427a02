package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// memoryCommand is what measureMemory runs as a process of its own.
func memoryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "memory FOLDER", Hidden: true, Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			rss, ready, err := restarted(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), rss, ready)
			return err
		},
	}
}
