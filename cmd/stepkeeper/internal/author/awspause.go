package author

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// switchTime limits the time of a pause. Lambda needs up to a minute for a mapping.
const switchTime = 5 * time.Minute

var awsPauseText = app.Text{
	Use:      "pause",
	Short:    "Stop all functions of a stack until `aws resume`",
	Examples: "  stepkeeper aws pause --stack Shop",
	Long: `It disables the schedule of the Supervisor and the event source mappings, and waits up to 5 minutes until they are
disabled. Messages stay in their queues, orders for 14 days (Tuning.IntakeRetention). Functions that run now end within
their timeouts. External agents continue. A deployment does not end the pause, unless it changes a mapping or the
schedule itself. While a stack is paused, the alarm on missing sweeps goes off. The command can be repeated after an
error.`,
	Reach: app.Reach{Stack: true, Timeout: "how long to wait until all are disabled (default 5m)"},
}

var awsResumeText = app.Text{
	Use:      "resume",
	Short:    "Start all functions of a stack that was paused",
	Examples: "  stepkeeper aws resume --stack Shop",
	Long: `It enables the event source mappings and the schedule of the Supervisor, also those that somebody disabled by
hand, and waits up to 5 minutes until they are enabled. It refuses a stack that was deployed with Paused, because that
may be the standby of another Region: deploy it without.`,
	Reach: app.Reach{Stack: true, Timeout: "how long to wait until all are enabled (default 5m)"},
}

// newSwitch returns the command `aws pause` or `aws resume`.
func newSwitch(a *app.App, text app.Text,
	run func(context.Context, sdk.Config, string) (operate.Switched, error),
) *cobra.Command {
	return a.Command(text, nil, func(cmd *cobra.Command, _ []string) error {
		if a.Stack == "" {
			return failure.New(failure.Usage, "add --stack NAME", "%s needs a stack", cmd.CommandPath())
		}
		ctx, cancel := a.Bounded(cmd.Context(), switchTime)
		defer cancel()
		c, err := aws.Configure(ctx, a.StackOptions())
		if err != nil {
			return a.NoStack(err)
		}
		state := "paused"
		switched := "off"
		next := "start it with `" + a.Program() + " aws resume`"
		if cmd.Name() == "resume" {
			state = "running"
			switched = "on"
			next = "check it with `" + a.Program() + " doctor`"
		}
		done, err := run(ctx, c, a.Stack)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return failure.Wrap(err, failure.Unreachable, "repeat the command, or give it more time with --timeout",
				"the stack %s is not %s yet", a.Stack, state)
		case err != nil:
			return a.NoStack(err)
		}
		if done.DeployedPaused { // only a pause comes here
			next = "it was deployed with Paused: deploy it without to start it"
		}
		external := ""
		if len(done.External) > 0 {
			external = "external agents are not affected, stop or start their processes yourself: " +
				strings.Join(done.External, ", ") + "\n"
		}
		a.Print(done, "the stack %s is %s: %s are its schedule and %s; %s\n%s", a.Stack, state, switched,
			view.Count(len(done.Queues), "event source mapping"), next, external)
		return nil
	})
}
