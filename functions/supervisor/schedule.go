package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// Schedules starts orders by the clock.
type Schedules struct {
	// Current returns the definitions that have a schedule, each in its version for new orders.
	Current func() []*core.Definition
	// Records stores the decisions about the starts of each workflow, as a schedule.Record.
	Records port.Ledger
	// Submit submits orders and returns an error for each order, at the order's index. The error is nil if
	// the order was accepted, or refused for good.
	Submit func(ctx context.Context, orders []message.SubmitOrder) []error
}

// takeTime is how long a submitted order may wait in the intake queue. An order that is not in the store
// after this time no longer prevents the next start.
const takeTime = core.Day

// schedules starts the due orders. A fault of one workflow does not affect other workflows. schedules needs
// no lease, because only one of two Supervisors can store its decision. If both Supervisors submit a start,
// they use one order ID, so one order begins (P14, submit creates once).
func (w *sweep) schedules(ctx context.Context) error {
	if w.cfg.Schedules.Current == nil {
		return nil
	}
	var errs []error
	for _, def := range w.cfg.Schedules.Current() {
		// ErrConflict means that another Supervisor was faster
		if err := w.start(ctx, def); err != nil && !errors.Is(err, port.ErrConflict) {
			errs = append(errs, fmt.Errorf("schedule of workflow %q: %w", def.Name, err))
		}
	}
	return errors.Join(errs...)
}

// start decides which scheduled times of a workflow start an order, and stores the decision. Then it submits
// these orders, and orders of earlier sweeps that may not have arrived.
func (w *sweep) start(ctx context.Context, def *core.Definition) error {
	r, e, err := schedule.Load(ctx, w.cfg.Schedules.Records, def.Name)
	now := core.TimeOf(w.cfg.Clock.Now())
	before := r
	if errors.Is(err, schedule.ErrUnreadable) { // the IDs of orders prevent that a time starts twice
		w.log.ErrorContext(ctx, "a schedule begins anew", "workflow", def.Name, "error", err)
		r.Anew(now)
		err = nil
	}
	if err != nil {
		return err
	}
	busy := ""
	if last := r.Before(def.Schedule, now); last != nil {
		busy = w.busy(ctx, *last, now)
	}
	changed, err := r.Decide(def.Name, def.Schedule, now, busy)
	if err != nil {
		return err
	}
	if changed {
		if err := r.Store(ctx, w.cfg.Schedules.Records, &e); err != nil {
			return err
		}
		w.report.Started += r.Started - before.Started
		w.report.Missed += r.Missed - before.Missed
	}
	return w.handOver(ctx, def.Schedule, &e, &r)
}

func (w *sweep) handOver(ctx context.Context, s *core.Schedule, e *port.LedgerEntry,
	r *schedule.Record,
) error {
	unsent := r.Unsent()
	if len(unsent) == 0 {
		return nil
	}
	orders := make([]message.SubmitOrder, len(unsent))
	for i, start := range unsent {
		order, err := schedule.Order(s, start.At)
		if err != nil {
			return err
		}
		orders[i] = message.SubmitOrder{
			Schema: message.Schema, OrderID: start.OrderID, Workflow: r.Workflow,
			Order: order,
		}
	}
	var failed error
	for i, err := range w.cfg.Schedules.Submit(ctx, orders) {
		unsent[i].Sent = err == nil
		if err != nil {
			failed = fmt.Errorf("%s is started at the next sweep: %w", unsent[i].OrderID, err)
			continue
		}
		w.log.InfoContext(ctx, "started by its schedule", "order", unsent[i].OrderID, "workflow", r.Workflow,
			"late", unsent[i].Late().Std().String())
	}
	if len(r.Unsent()) == len(unsent) {
		return failed
	}
	return errors.Join(failed, r.Store(ctx, w.cfg.Schedules.Records, e))
}

// busy returns the reason why the order of an earlier start prevents the next start. "" means no reason.
func (w *sweep) busy(ctx context.Context, s schedule.Start, now core.Time) string {
	l := w.cfg.State.Load(ctx, []string{s.OrderID})[0]
	switch {
	case l.Err != nil:
		return "whether the order before, " + s.OrderID + ", has ended could not be read"
	case l.Task == nil && now.Sub(s.Decided) > takeTime, l.Task != nil && l.Task.Terminal():
		return ""
	case l.Task != nil && l.Task.ProcessState == core.Error:
		return "the order before, " + s.OrderID + ", is in Error and waits for the operator"
	}
	return "the order before, " + s.OrderID + ", has not ended"
}
