package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

var doctorText = app.Text{
	Use:   "doctor",
	Group: "operator",
	Short: "Check a server or a stack, and print how to fix what is wrong",
	Examples: `  stepkeeper doctor
  stepkeeper doctor --stack Shop
  stepkeeper doctor --stack Shop --smoke --orders 200 --workflow booking --order booking.json`,
	Long: "For a server it checks the intake, the message path, the version, the store, the workflow files, the\n" +
		"agents and the clock. For a stack it checks access to the tables, the right to send, the version, the\n" +
		"consumers of queues, dead letters, the Supervisor's last run and its delay, stored definitions, quotas\n" +
		"and the clock.\n\n" +
		"It changes nothing. The exit code is 1 if a check fails. A check that lacks a permission is `unknown`\n" +
		"and does not fail.\n\n" +
		"With --smoke it submits real orders instead, waits for their ends, and checks each order: it ended, its\n" +
		"steps agree with its end, and its content is what was sent. The agents call their services, so use\n" +
		"services for tests. For a stack it first checks the account's limit of concurrent executions, and the\n" +
		"consumers of the queues. The exit code is 0 if all orders end Processed and the audit finds nothing, 6\n" +
		"if an order ended otherwise, and 1 if the audit finds a problem or an order did not end.",
	Reach: app.Reach{
		Server: true, Stack: true,
		Timeout: "how long to wait for an answer (default 30s), with --smoke for the last end (5m, and 1s for each order)",
	},
}

func newDoctor(a *app.App) *cobra.Command {
	s := &smoke{app: a, report: smokeReport{
		Orders: 20, Workflow: "order", Ends: map[core.State]int{}, Problems: []smokeProblem{},
	}}
	smoke := false
	own := s.flags()
	flags := append(own, app.RunFlags.Flag("smoke", &smoke,
		"send orders through the deployment, and audit the result"))
	return a.Command(doctorText, flags, func(cmd *cobra.Command, _ []string) error {
		if smoke {
			return s.run(cmd.Context())
		}
		if err := app.Foreign(cmd, own, "--smoke"); err != nil {
			return err
		}
		return runDoctor(cmd.Context(), a)
	})
}

func runDoctor(ctx context.Context, a *app.App) error {
	checks, err := app.Ask(ctx, a, "its checks", (*client.Client).Checks)
	if err != nil {
		return err
	}
	failed := 0
	for _, check := range checks {
		if check.Result == client.CheckFailed {
			failed++
		}
		printCheck(a, check)
	}
	if failed > 0 {
		return failure.Silent(failure.General, fmt.Sprintf("%d of %d checks failed", failed, len(checks)))
	}
	return nil
}

func printCheck(a *app.App, c client.Check) {
	if a.JSON() {
		a.PrintLine(c)
		return
	}
	style := a.Streams.Style()
	result := string(c.Result)
	switch c.Result {
	case client.CheckOK:
		result = style.Good("ok     ")
	case client.CheckFailed:
		result = style.Bad("failed ")
	case client.CheckUnknown:
		result = style.Warn("unknown")
	}
	fmt.Fprintf(a.Streams.Out, "%s  %s: %s\n", result, render.Clean(c.Name), render.Clean(c.Text))
	if c.Fix != "" {
		fmt.Fprintf(a.Streams.Out, "         fix: %s\n", render.Clean(c.Fix))
	}
}
