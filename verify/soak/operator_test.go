package soak_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Shares of orders by the operator's choice.
const (
	undoShare     = 0.3 // share of stopped orders that the operator undoes; the others continue
	againShare    = 0.3 // share of undone orders that the operator resubmits, once each
	outdatedShare = 0.5 // share of stopped orders that first get a command with an outdated view
)

const (
	attendEvery = 500 * time.Millisecond
	reviewEvery = 5 * time.Second
	listPage    = 1000
)

// operatorLoop simulates the operator, who handles stopped orders and resubmits some undone orders.
type operatorLoop struct {
	*stage.Operator
	site     *site
	seed     uint64
	say      func(format string, args ...any)
	again    map[string]bool // undone orders that the operator has seen; true if it resubmitted the order
	outdated map[string]bool // orders for which an outdated command was tried
	gone     int             // orders that it continued before its last start
	wrong    []audit.Violation
}

func newOperatorLoop(s *site, seed uint64, say func(string, ...any)) *operatorLoop {
	d := &operatorLoop{site: s, seed: seed, say: say, again: map[string]bool{}, outdated: map[string]bool{}}
	d.Operator = stage.NewOperator(s.Fleet, func() *client.Client { return s.api })
	d.Now = s.now
	d.Undoes = func(id string) bool { return chance(seed, "undo", id) < undoShare }
	return d
}

// run handles orders until ctx ends. It ignores errors, because the order is still stopped at the next look.
func (d *operatorLoop) run(ctx context.Context) {
	for reviewed := time.Now(); ctx.Err() == nil; {
		if time.Since(reviewed) > reviewEvery {
			d.review(ctx)
			reviewed = time.Now()
		}
		d.handleStopped(ctx)
		_ = port.Sleep(ctx, attendEvery)
	}
}

// handleStopped handles every stopped order.
func (d *operatorLoop) handleStopped(ctx context.Context) {
	for s, err := range d.site.api.List(ctx, client.Query{State: "Error", PageSize: listPage}) {
		if err != nil || ctx.Err() != nil {
			return
		}
		if !s.Ended {
			continue
		}
		d.tryOutdated(ctx, s)
		if err := d.Attend(ctx, s.OrderID); err != nil && ctx.Err() == nil && !transient(err) {
			d.say("operator, order %s: %v", s.OrderID, err)
		}
	}
}

// transient reports whether an error comes from a restart or a conflict, so that the next look decides.
func transient(err error) bool {
	return errors.Is(err, client.ErrConnection) || errors.Is(err, client.ErrUnavailable) ||
		errors.Is(err, client.ErrRefused)
}

// strange is the difference between a command's number and the order's. No order gets that many commands.
const strange = 1000

// tryOutdated sends a command with a number that differs from the order's. Stepkeeper must refuse it (P5,
// commands have a number and an ID).
func (d *operatorLoop) tryOutdated(ctx context.Context, s client.Summary) {
	if d.outdated[s.OrderID] || chance(d.seed, "outdated", s.OrderID) > outdatedShare {
		return
	}
	verdict, err := d.site.api.Undo(ctx, s.OrderID, client.IfCommand(s.Command+strange))
	if err != nil && !errors.Is(err, client.ErrRefused) {
		return
	}
	d.outdated[s.OrderID] = true
	if err == nil && verdict.Accepted {
		d.wrong = append(d.wrong, audit.Violation{
			Order: s.OrderID,
			What:  "an undo with another command number", Expected: "refused", Found: "accepted",
		})
	}
}

// isChild reports whether an order is a child of another one, which alone takes a cancel, undo or resubmit.
func isChild(id string) bool { return strings.Contains(id, "~") }

// review resubmits some of the undone orders. They begin again with new keys (P2, attempts of a run share a
// key).
func (d *operatorLoop) review(ctx context.Context) {
	for s, err := range d.site.api.List(ctx, client.Query{State: "Compensated", PageSize: listPage}) {
		if err != nil || ctx.Err() != nil {
			return
		}
		if _, thought := d.again[s.OrderID]; thought || isChild(s.OrderID) {
			continue
		}
		if chance(d.seed, "again", s.OrderID) > againShare {
			d.again[s.OrderID] = false
			continue
		}
		verdict, err := d.site.api.Resubmit(ctx, s.OrderID, client.IfCommand(s.Command),
			client.CommandID(fmt.Sprintf("again-%s-%d", s.OrderID, s.Command)))
		if err == nil && verdict.Accepted {
			d.again[s.OrderID] = true
		}
	}
}

// resubmitted counts the orders that began again.
func (d *operatorLoop) resubmitted() int {
	n := 0
	for _, yes := range d.again {
		if yes {
			n++
		}
	}
	return n
}

// resumed returns the number of times that a stopped order continued.
func (d *operatorLoop) resumed() int {
	n := 0
	for _, times := range d.Resubmits {
		n += times
	}
	return n
}
