package embedded

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// intake takes the orders and cancels of agents in this process, as the intake queue does on AWS. A message is
// accepted once it is stored.
type intake struct{ runtime *Runtime }

// Name implements port.Sender.
func (intake) Name() string { return port.Intake }

// Send implements port.Sender. Besides the errors of the port it returns a *core.Refusal for an order that
// the Scheduler refuses.
func (q intake) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		switch v := m.Value.(type) {
		case *message.SubmitOrder:
			errs[i] = q.runtime.Submit(ctx, []message.SubmitOrder{*v})[0].Err
		case *message.Control:
			_, errs[i] = q.runtime.Command(ctx, *v)
		default:
			errs[i] = fmt.Errorf("the intake takes no %T", v)
		}
	}
	return errs
}
