package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

const (
	// kept limits the list of starts, and the list of skipped times, in a record. A record may list startsAtOnce more
	// starts if their orders may not have been submitted.
	kept = 20
	// startsAtOnce and timesAtOnce limit the work of one sweep after a long outage. The next sweep continues
	// the work. startsAtOnce also limits the starts of a record whose orders cannot be submitted.
	startsAtOnce = 100
	timesAtOnce  = 10_000
	// prefix begins the ledger key of each record. An order's ledger key never begins with prefix, because no
	// order ID contains a '#'.
	prefix = "#schedule/"
)

// MinCatchUp is the smallest allowed CatchUp of a core.Schedule. A sweep skips a scheduled time that passed
// longer ago than CatchUp. MinCatchUp is longer than the time between two sweeps, because a start waits for
// the next sweep.
const MinCatchUp = 10 * core.Minute

// MaxCatchUp is the largest allowed CatchUp of a core.Schedule.
const MaxCatchUp = 31 * core.Day

// Record is the state of one workflow's schedule. Its ledger key is "#schedule/" and the name of the
// workflow.
type Record struct {
	Workflow string       `json:"workflow"`
	Cron     string       `json:"cron"`
	Zone     string       `json:"zone,omitempty"`
	Overlap  core.Overlap `json:"overlap"`
	Next     core.Time    `json:"next,omitzero"` // first scheduled time that is not yet decided
	Started  int          `json:"started"`       // number of started orders
	Starts   []Start      `json:"starts,omitempty"`
	Missed   int          `json:"missed"` // number of skipped times
	Skipped  []Skip       `json:"skipped,omitempty"`
}

// Start is an order that the schedule has started.
type Start struct {
	At      core.Time `json:"at"` // scheduled time
	OrderID string    `json:"orderId"`
	Decided core.Time `json:"decided"`        // time when a sweep decided to start the order
	Sent    bool      `json:"sent,omitempty"` // the order was certainly submitted
}

// Late returns the time between the scheduled time and the decision to start the order.
func (s Start) Late() core.Duration { return s.Decided.Sub(s.At) }

// Skip is a scheduled time that is skipped, with the reason.
type Skip struct {
	At  core.Time `json:"at"`
	Why string    `json:"why"`
}

// OrderID returns the ID of the order for a scheduled time: the workflow, and the time in UTC with seconds.
func OrderID(workflow string, at core.Time) string {
	return workflow + "-" + at.Std().UTC().Format("20060102T150405Z")
}

// Order returns the content of the order for a scheduled time: the input of the schedule, with the field
// scheduledTime.
func Order(s *core.Schedule, at core.Time) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if s.Input != nil {
		if err := json.Unmarshal(s.Input, &fields); err != nil {
			return nil, fmt.Errorf("the schedule's input is no JSON object: %w", err)
		}
	}
	// Encoding a string cannot fail.
	fields["scheduledTime"], _ = rawjson.Marshal(at.Std().UTC().Format(time.RFC3339))
	return rawjson.Marshal(fields)
}

// Decide adds each scheduled time up to now to the record, as a start or as a skip. It stops at startsAtOnce starts
// whose orders may not have been submitted, so that the record fits into the ledger however long no order can be
// submitted. It also stops after timesAtOnce times. It reports whether the record has changed. If the record is new,
// or has a different cron expression or zone than the schedule, Decide begins with the first scheduled time after now.
// It does the same if Next is too late for the schedule, because a clock was ahead when a sweep stored it. A time
// whose order has started already does not start again.
//
// busy is the reason why the order of the start that Before returns has not ended. It is "" if the order
// has ended, or if Before returns nil.
func (r *Record) Decide(workflow string, s *core.Schedule, now core.Time, busy string) (bool, error) {
	times, err := Parse(s.Cron, s.Zone)
	if err != nil {
		return false, err
	}
	changed := r.Overlap != s.Overlap
	r.Workflow = workflow
	r.Overlap = s.Overlap
	next := func(after core.Time) error {
		at, err := times.Next(after.Std())
		r.Next = core.TimeOf(at)
		changed = true
		return err
	}
	if r.Cron != s.Cron || r.Zone != s.Zone || r.Next == 0 {
		r.Cron = s.Cron
		r.Zone = s.Zone
		if err := next(now); err != nil {
			return false, err
		}
	}
	if due, err := r.tooLate(times, now); err != nil {
		return false, err
	} else if due != 0 {
		r.Note(now, fmt.Sprintf("%s: the next start was moved from %s back to %s", clockAhead, r.Next, due))
		r.Next = due
		changed = true
	}
	for n := 0; r.Next <= now && n < timesAtOnce && len(r.Unsent()) < startsAtOnce; n++ {
		switch why := r.skips(s, now, busy); {
		case r.began(r.Next):
		case why == "":
			r.Started++
			r.Starts = append(r.Starts, Start{At: r.Next, OrderID: OrderID(workflow, r.Next), Decided: now})
		default:
			r.Missed++
			r.Note(r.Next, why)
		}
		if err := next(r.Next); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// clockAhead begins the note of a corrected Next.
const clockAhead = "a clock was ahead"

// noted is the time for which Problem reports a note.
const noted = core.Day

// tooLate returns the first scheduled time after now if Next is later than the schedule permits. Otherwise it
// returns 0. The clocks of two Supervisors may differ by MinCatchUp.
func (r *Record) tooLate(times Times, now core.Time) (core.Time, error) {
	latest, err := times.Next(now.Add(MinCatchUp).Std())
	if err != nil || r.Next <= core.TimeOf(latest) {
		return 0, err
	}
	due, err := times.Next(now.Std())
	return core.TimeOf(due), err
}

func (r *Record) began(at core.Time) bool {
	return slices.ContainsFunc(r.Starts, func(s Start) bool { return s.At == at })
}

// Note adds a skipped time, or the time of a correction, with the reason. It keeps the latest entries.
func (r *Record) Note(at core.Time, why string) {
	r.Skipped = append(r.Skipped, Skip{at, core.TrimMessage(why)})
	r.Skipped = r.Skipped[max(0, len(r.Skipped)-kept):]
}

// Problem returns why the schedule starts its orders later than its expression says, or "". It also reports a
// correction of the last day.
func (r *Record) Problem(now core.Time) string {
	if times, err := Parse(r.Cron, r.Zone); err == nil && r.Next != 0 {
		if due, err := r.tooLate(times, now); err == nil && due != 0 {
			return fmt.Sprintf("%s: the next start is noted for %s, and the schedule comes at %s; the Supervisor "+
				"corrects it at its next sweep", clockAhead, r.Next, due)
		}
	}
	for _, s := range slices.Backward(r.Skipped) {
		if corrected := strings.HasPrefix(s.Why, clockAhead) || strings.HasPrefix(s.Why, unreadable); corrected &&
			now.Sub(s.At) < noted {
			return s.Why + " (at " + s.At.String() + ")"
		}
	}
	return ""
}

// Before returns the latest start if Decide must know whether the start's order has ended. Otherwise it
// returns nil. Decide must know this if the schedule skips overlaps and a scheduled time has come.
func (r *Record) Before(s *core.Schedule, now core.Time) *Start {
	last := len(r.Starts) - 1
	if s.Overlap != core.OverlapSkip || r.Next > now || last < 0 || !r.Starts[last].Sent {
		return nil
	}
	return &r.Starts[last]
}

// Of returns a copy of the record with the current schedule of the workflow. Next is 0 if the record has a
// different cron expression or zone.
func (r Record) Of(workflow string, s *core.Schedule) Record {
	if r.Cron != s.Cron || r.Zone != s.Zone {
		r.Next = 0
	}
	r.Workflow = workflow
	r.Cron = s.Cron
	r.Zone = s.Zone
	r.Overlap = s.Overlap
	return r
}

func (r *Record) skips(s *core.Schedule, now core.Time, busy string) string {
	if late := now.Sub(r.Next); late > s.CatchUp {
		return "it was found " + late.Std().Round(time.Second).String() + " late, longer than catchUp"
	}
	if n := len(r.Starts); n > 0 && s.Overlap == core.OverlapSkip {
		last := r.Starts[n-1]
		if !last.Sent {
			return "the order before, " + last.OrderID + ", has not ended"
		}
		return busy
	}
	return ""
}

// Unsent returns the starts whose orders may not have been submitted yet.
func (r *Record) Unsent() (starts []*Start) {
	for i := range r.Starts {
		if !r.Starts[i].Sent {
			starts = append(starts, &r.Starts[i])
		}
	}
	return starts
}

// Store stores the record. It returns port.ErrConflict if the ledger entry has changed after Load.
func (r *Record) Store(ctx context.Context, in port.Ledger, e *port.LedgerEntry) error {
	r.trim()
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	e.State = "schedule"
	e.Output = data
	if err := in.Move(ctx, *e); err != nil {
		return err
	}
	e.Version++
	return nil
}

// trim removes the oldest starts while there are more than kept. It stops at the first start whose order may
// not have been submitted.
func (r *Record) trim() {
	for len(r.Starts) > kept && r.Starts[0].Sent {
		r.Starts = r.Starts[1:]
	}
}

// Reader is the method of port.Ledger that Load needs.
type Reader interface {
	Entry(ctx context.Context, key string) (port.LedgerEntry, error)
}

// Load returns the record of a workflow and its ledger entry. The record and the entry are empty if the
// workflow has no record yet.
func Load(ctx context.Context, from Reader, workflow string) (r Record, e port.LedgerEntry, err error) {
	e, err = from.Entry(ctx, prefix+workflow)
	if err != nil || e.Version == 0 {
		return r, e, err
	}
	if err := json.Unmarshal(e.Output, &r); err != nil {
		return Record{}, e, fmt.Errorf("the record %q: %w: %w", e.Key, ErrUnreadable, err)
	}
	return r, e, nil
}

const unreadable = "the record of the schedule could not be read"

// ErrUnreadable means that a stored record cannot be read. The next sweep begins the schedule anew.
var ErrUnreadable = errors.New(unreadable + ", and begins anew at the next sweep")

// Anew notes in an empty record that the schedule begins anew.
func (r *Record) Anew(now core.Time) {
	r.Note(now, unreadable+", so the schedule begins anew: times since the last sweep before were not started")
}
