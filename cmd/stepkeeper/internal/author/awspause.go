package author

import (
	"context"
	"fmt"
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

// newSwitch returns the command `aws pause` or `aws resume`.
func newSwitch(a *app.App, path string,
	run func(context.Context, sdk.Config, string) (operate.Switched, error),
) *cobra.Command {
	return a.Command(path, nil, func(cmd *cobra.Command, _ []string) error {
		if a.Stack == "" {
			return failure.New(failure.Usage, "add --stack NAME", "%s needs a stack", cmd.CommandPath())
		}
		ctx, cancel := a.Bounded(cmd.Context(), switchTime)
		defer cancel()
		c, err := aws.Configure(ctx, a.StackOptions())
		if err != nil {
			return a.NoStack(err)
		}
		done, err := run(ctx, c, a.Stack)
		if err != nil {
			return a.NoStack(err)
		}
		if a.JSON() {
			return a.PrintJSON(done)
		}
		state := "paused: off are"
		next := "start it with `" + a.Program() + " aws resume`"
		if cmd.Name() == "resume" {
			state = "running: on are"
			next = "check it with `" + a.Program() + " doctor`"
		}
		_, err = fmt.Fprintf(a.Streams.Out, "the stack %s is %s its schedule and %s; %s\n", a.Stack, state,
			view.Count(len(done.Queues), "event source mapping"), next)
		if err == nil && len(done.External) > 0 {
			_, err = fmt.Fprintf(a.Streams.Out, "external agents are not affected, stop or start their "+
				"processes yourself: %s\n", strings.Join(done.External, ", "))
		}
		return app.Written(err)
	})
}
