package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
)

var schedulesText = app.Text{
	Use:   "schedules",
	Group: "orders",
	Short: "List workflows that start by the clock",
	Examples: `  stepkeeper schedules
  stepkeeper schedules --output json`,
	Long: `It prints the next time, the last start, and the number of skipped times, with the last reason.
With --output json each line is one workflow with its last 20 starts and skipped times.`,
	Reach: app.ServerOrStack,
}

func newSchedules(a *app.App) *cobra.Command {
	return a.Command(schedulesText, nil, func(cmd *cobra.Command, _ []string) error {
		all, err := app.Ask(cmd.Context(), a, "list of schedules", (*client.Client).Schedules)
		if err != nil {
			return err
		}
		if len(all) == 0 && !a.JSON() {
			fmt.Fprintln(a.Streams.Err, "no workflow has a schedule")
			return nil
		}
		app.PrintList(a, all, []string{
			"WORKFLOW", "CRON", "ZONE", "NEXT", "STARTED", "LAST ORDER", "LATE", "SKIPPED", "LAST SKIPPED",
		}, scheduleRow)
		return nil
	})
}

func scheduleRow(s *client.Schedule) []string {
	next := "not known yet"
	last := "-"
	late := "-"
	skipped := "-"
	if s.Next != 0 {
		next = render.Moment(s.Next)
	}
	if n := len(s.Starts); n > 0 {
		last = s.Starts[n-1].OrderID
		late = render.Span(s.Starts[n-1].Late().Std().Round(time.Second))
	}
	if n := len(s.Skipped); n > 0 {
		skipped = render.Moment(s.Skipped[n-1].At) + ": " + s.Skipped[n-1].Why
	}
	return []string{
		s.Workflow, s.Cron, cmp.Or(s.Zone, "UTC"), next, strconv.Itoa(s.Started), last, late,
		strconv.Itoa(s.Missed), skipped,
	}
}
