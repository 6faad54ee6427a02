package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	// missedSweepsAllowed is the number of sweep intervals without a sweep that the check accepts. It permits
	// a late schedule and one failed sweep.
	missedSweepsAllowed = 3
	// The check fails if a task is overdue for more than overdueAllowed plus one sweep interval. This sum is
	// the default of Tuning.OldestOverdue in package infra.
	overdueAllowed = 4 * time.Minute
)

// Checks runs the health checks of the stack. It sends no messages and changes nothing.
func (t *transport) Checks(ctx context.Context) ([]client.Check, error) {
	checks := []client.Check{
		client.Checked("stack", true, fmt.Sprintf("%s in %s has %s and %s", t.Outputs.Stack, t.Outputs.Region,
			view.Count(len(t.Outputs.Workflows), "workflow"), view.Count(len(t.Outputs.Requests), "agent")), ""),
		t.checkAccess(ctx), t.checkSend(ctx), client.CheckRelease("the stack", t.Outputs.Release, view.Built()),
	}
	unattended, err := t.Unattended(ctx, "")
	if err != nil {
		checks = append(checks, client.NotChecked("consumers", err))
	}
	if err == nil || len(unattended) > 0 {
		checks = append(checks, client.CheckUnattended(unattended)...)
	}
	checks = append(checks, t.checkSweeps(ctx)...)
	checks = append(checks, t.checkSubscribers(ctx)...)
	checks = append(checks, t.checkDefinitions(ctx))
	checks = append(checks, t.checkStatuses(ctx)...)
	checks = append(checks, t.checkDamaged(ctx)...)
	checks = append(checks, t.checkOutages(ctx)...)
	checks = append(checks, t.checkSchedules(ctx)...)
	checks = append(checks, t.checkInFlight(ctx), t.checkThroughput(ctx))
	return append(checks, t.checkAccount(ctx)...), ctx.Err()
}

// checkAccess makes the reads that commands need. The order that it reads does not exist.
func (t *transport) checkAccess(ctx context.Context) client.Check {
	const none = "stepkeeper.doctor.none"
	var errs []error
	if _, err := t.Order(ctx, none); err != nil && !errors.Is(err, client.ErrNotFound) {
		errs = append(errs, err)
	}
	if _, err := t.Page(ctx, client.Query{PageSize: 1}, ""); err != nil {
		errs = append(errs, err)
	}
	text := "the table of orders and its index can be read"
	err := errors.Join(errs...)
	if err != nil {
		text = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return client.Checked("access", err == nil, text,
		"use credentials that may read them: attach the policy "+t.Outputs.Operator+" to their role")
}

func (t *transport) checkSweeps(ctx context.Context) []client.Check {
	if t.Parts.Sweeps == nil {
		return nil
	}
	fix := "start a stack that was paused with " + t.resume() + "; otherwise look at the alarm NoSweeps, at the " +
		"schedule in EventBridge Scheduler, and at the log of the Supervisor"
	if t.Outputs.Paused {
		fix = deployedPaused
	}
	var last, oldest time.Time
	now := time.Now()
	for shard := range t.Outputs.Shards {
		until, err := t.Parts.Sweeps.LeaseUntil(ctx, port.SweepLease(shard))
		if err != nil {
			return []client.Check{client.NotChecked("sweeps", aws.Failed(ctx, t.ReadUse(), err))}
		}
		if until.After(last) {
			last = until
		}
		due, err := t.Parts.Sweeps.Due(ctx, port.DueBucket, shard, now, nil, 1)
		if err != nil {
			return []client.Check{client.NotChecked("sweeps", aws.Failed(ctx, t.IndexUse(), err))}
		}
		if len(due) > 0 && (oldest.IsZero() || due[0].At.Before(oldest)) {
			oldest = due[0].At
		}
	}
	since := now.Sub(last).Round(time.Second)
	allowed := missedSweepsAllowed * t.Outputs.SweepInterval
	text := fmt.Sprintf("the Supervisor ran within the last %s", allowed)
	switch {
	case last.IsZero():
		text = "the Supervisor has never run"
	case since > allowed:
		text = fmt.Sprintf("the Supervisor last ran %s ago", since)
	}
	sweeps := client.Checked("sweeps", since <= allowed, text, fix)
	late := time.Duration(0)
	text = "no order waits for a sweep"
	if !oldest.IsZero() {
		late = now.Sub(oldest).Round(time.Second)
		text = fmt.Sprintf("the oldest entry is %s past its complete-by time", late)
	}
	return []client.Check{
		sweeps,
		client.Checked("overdue", late <= overdueAllowed+t.Outputs.SweepInterval, text,
			"look at the alarms of the Scheduler's queues, and at the log of the Supervisor"),
	}
}

func (t *transport) checkDamaged(ctx context.Context) []client.Check {
	if t.Parts.Sweeps == nil {
		return nil
	}
	damaged, err := view.Damaged(ctx, t.Parts.Sweeps, t.Outputs.Shards)
	if err != nil {
		return []client.Check{client.NotChecked(view.CheckDamaged, aws.Failed(ctx, t.IndexUse(), err))}
	}
	return []client.Check{client.Checked(view.CheckDamaged, damaged == "",
		cmp.Or(damaged, "every order that was looked at can be read"), view.FixDamaged)}
}

// checkOutages finds the operations that agents do not call now, as the Scheduler has recorded them.
func (t *transport) checkOutages(ctx context.Context) []client.Check {
	const name = "outages"
	if t.Parts.Schedules == nil {
		return nil
	}
	e, err := t.Parts.Schedules.Entry(ctx, incident.Key)
	if err != nil {
		return []client.Check{client.NotChecked(name, aws.Failed(ctx, t.ReadUse(), err))}
	}
	lasting, err := incident.Lasting(e.Output)
	if err != nil {
		return []client.Check{client.NotChecked(name, err)}
	}
	if len(lasting) == 0 {
		return []client.Check{client.Checked(name, true, "every agent calls its service", "")}
	}
	var checks []client.Check
	for _, o := range lasting {
		checks = append(checks, client.CheckOutage(o.Check()))
	}
	return checks
}

func (t *transport) checkSchedules(ctx context.Context) []client.Check {
	var checks []client.Check
	for _, name := range t.Outputs.Scheduled {
		r, _, err := schedule.Load(ctx, t.Parts.Schedules, name)
		name = "schedule of " + name
		switch problem := r.Problem(core.TimeOf(time.Now())); {
		case err != nil && !errors.Is(err, schedule.ErrUnreadable):
			checks = append(checks, client.NotChecked(name, aws.Failed(ctx, t.ReadUse(), err)))
		case err != nil:
			checks = append(checks, client.Checked(name, false, err.Error(), "look at the log of the Supervisor"))
		default:
			checks = append(checks, client.Checked(name, problem == "", cmp.Or(problem, "its next start is known"),
				"compare `stepkeeper schedules` with what should have started, and submit what is missing"))
		}
	}
	return checks
}

func (t *transport) checkDefinitions(ctx context.Context) client.Check {
	const check = "definitions"
	stored := 0
	for _, name := range slices.Sorted(maps.Keys(t.Outputs.Workflows)) {
		switch _, err := t.Stored(ctx, t.Outputs.Workflows[name]); {
		case err == nil:
			stored++
		case errors.Is(err, client.ErrForbidden), ctx.Err() != nil:
			return client.NotChecked(check, err)
		case !errors.Is(err, port.ErrNotFound):
			// The condition lets ErrNotFound pass, because the Scheduler stores a definition with the
			// workflow's first order.
			return client.Checked(check, false, fmt.Sprintf("the definition of workflow %s cannot be read: %v", name, err),
				"use the stepkeeper that the stack was deployed with")
		}
	}
	return client.Checked(check, true, fmt.Sprintf("%d of %d are stored and can be read; each is stored with its first "+
		"order", stored, len(t.Outputs.Workflows)), "")
}

// checkAccount compares the account's Lambda quotas with the needs of the functions. It also compares the
// local clock with AWS's clock.
func (t *transport) checkAccount(ctx context.Context) []client.Check {
	if t.aws == nil {
		return nil
	}
	room, metadata, err := roomOf(ctx, t.aws.functions, t.Outputs)
	if err != nil {
		return []client.Check{
			client.NotChecked("concurrency", err), client.NotChecked("code storage", err),
			t.checkClock(ctx),
		}
	}
	text := room.String()
	if !room.Fits() {
		text += ": invocations above the limit are throttled; their messages come late and may become dead " +
			"letters"
	}
	return []client.Check{client.Checked("concurrency", room.Fits(), text,
		"ask for a higher quota (Service Quotas: AWS Lambda, Concurrent executions), or lower "+
			"MaxConcurrency and deploy again"), room.codeStorage(), clockOf(metadata)}
}

// checkClock compares the local clock with the time in a response of AWS. It reads an event source mapping to
// get a response, because operators have permission for this call.
func (t *transport) checkClock(ctx context.Context) client.Check {
	for _, uuid := range t.Outputs.Mappings {
		if uuid == "" {
			continue
		}
		_, metadata, err := readMapping(ctx, t.aws.functions, uuid)
		if err != nil {
			return client.NotChecked("clock", t.failed(ctx, "lambda:GetEventSourceMapping", "an event source mapping", err))
		}
		return clockOf(metadata)
	}
	return client.NotChecked("clock", errors.New("no response of AWS had a time"))
}

func clockOf(m middleware.Metadata) client.Check {
	theirs, _ := awsmiddleware.GetServerTime(m) // the zero time means unknown
	ours, _ := awsmiddleware.GetResponseAt(m)
	return client.CheckClock("AWS", theirs, ours)
}
