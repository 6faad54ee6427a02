package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// kept is the number of starts, and of skipped times, that a record lists.
	kept = 20
	// startsAtOnce and timesAtOnce bound the work of one sweep after a long outage. The next sweep continues.
	startsAtOnce = 100
	timesAtOnce  = 10_000
	// prefix is the prefix of the records' keys. No order's ID contains a '#'.
	prefix = "#schedule/"
)

// MinCatchUp is the shortest CatchUp. It is longer than several sweeps, because a start waits for the next
// sweep.
const MinCatchUp = 10 * core.Minute

// MaxCatchUp is the longest CatchUp.
const MaxCatchUp = 31 * core.Day

// Record is the state of the schedule of one workflow, stored under "#schedule/" and the workflow's name.
type Record struct {
	Workflow string       `json:"workflow"`
	Cron     string       `json:"cron"`
	Zone     string       `json:"zone,omitempty"`
	Overlap  core.Overlap `json:"overlap"`
	Next     core.Time    `json:"next,omitzero"` // first scheduled time without a decision
	Started  int          `json:"started"`       // number of orders started so far
	Starts   []Start      `json:"starts,omitempty"`
	Missed   int          `json:"missed"` // number of scheduled times that started no order
	Skipped  []Skip       `json:"skipped,omitempty"`
}

// Start is an order that a schedule started.
type Start struct {
	At      core.Time `json:"at"` // the scheduled time
	OrderID string    `json:"orderId"`
	Decided core.Time `json:"decided"`        // when a sweep found the start due
	Sent    bool      `json:"sent,omitempty"` // the order was submitted; false means that this is not certain
}

// Late returns how long after its scheduled time the order was started.
func (s Start) Late() core.Duration { return s.Decided.Sub(s.At) }

// Skip is a scheduled time without a start, with the reason.
type Skip struct {
	At  core.Time `json:"at"`
	Why string    `json:"why"`
}

// OrderID returns the ID of a scheduled time's order: the workflow, and the time in UTC to the second.
func OrderID(workflow string, at core.Time) string {
	return workflow + "-" + at.Std().UTC().Format("20060102T150405Z")
}

// Order returns the order of a scheduled time: the schedule's input with the field scheduledTime.
func Order(s *core.Schedule, at core.Time) (json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if s.Input != nil {
		if err := json.Unmarshal(s.Input, &fields); err != nil {
			return nil, fmt.Errorf("the schedule's input is no JSON object: %w", err)
		}
	}
	// Marshal cannot fail for a string
	fields["scheduledTime"], _ = json.Marshal(at.Std().UTC().Format(time.RFC3339))
	return json.Marshal(fields)
}

// Decide decides the scheduled times up to now, and reports whether the record has changed. A record that is
// new, or of another cron expression or zone, begins with the first time after now. busy returns the reason
// why the order of a start has not ended, or "" if it has. Decide calls busy only if overlaps are skipped.
func (r *Record) Decide(workflow string, s *core.Schedule, now core.Time,
	busy func(Start) string) (bool, error) {
	times, err := Parse(s.Cron, s.Zone)
	if err != nil {
		return false, err
	}
	changed := r.Overlap != s.Overlap
	r.Workflow, r.Overlap = workflow, s.Overlap
	next := func(after core.Time) error {
		at, err := times.Next(after.Std())
		r.Next, changed = core.TimeOf(at), true
		return err
	}
	if r.Cron != s.Cron || r.Zone != s.Zone || r.Next == 0 {
		r.Cron, r.Zone = s.Cron, s.Zone
		if err := next(now); err != nil {
			return false, err
		}
	}
	for n, started := 0, 0; r.Next <= now && n < timesAtOnce && started < startsAtOnce; n++ {
		switch why := r.skips(s, now, busy); why {
		case "":
			r.Started++
			started++
			r.Starts = append(r.Starts, Start{At: r.Next, OrderID: OrderID(workflow, r.Next), Decided: now})
		default:
			r.Missed++
			r.Skipped = append(r.Skipped, Skip{r.Next, why})
			r.Skipped = r.Skipped[max(0, len(r.Skipped)-kept):]
		}
		if err := next(r.Next); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// Of returns the record for the current schedule of the workflow. If no sweep has found that schedule yet,
// the record has no next time.
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

func (r *Record) skips(s *core.Schedule, now core.Time, busy func(Start) string) string {
	if late := now.Sub(r.Next); late > s.CatchUp {
		return "it was found " + late.Std().Round(time.Second).String() + " late, longer than catchUp"
	}
	if n := len(r.Starts); n > 0 && s.Overlap == core.OverlapSkip {
		last := r.Starts[n-1]
		if !last.Sent {
			return "the order before, " + last.OrderID + ", has not ended"
		}
		return busy(last)
	}
	return ""
}

// Unsent returns the starts whose orders may not have been submitted.
func (r *Record) Unsent() (starts []*Start) {
	for i := range r.Starts {
		if !r.Starts[i].Sent {
			starts = append(starts, &r.Starts[i])
		}
	}
	return starts
}

// Store stores the record if its entry has not changed since it was loaded. Otherwise it returns
// port.ErrConflict.
func (r *Record) Store(ctx context.Context, in port.Ledger, e *port.LedgerEntry) error {
	r.trim()
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	e.State, e.Output = "schedule", data
	if err := in.Move(ctx, *e); err != nil {
		return err
	}
	e.Version++
	return nil
}

// trim drops the oldest starts that were sent.
func (r *Record) trim() {
	for len(r.Starts) > kept && r.Starts[0].Sent {
		r.Starts = r.Starts[1:]
	}
}

// Reader is the part of a port.Ledger that reads records.
type Reader interface {
	Entry(ctx context.Context, key string) (port.LedgerEntry, error)
}

// Load loads the record of a workflow and its entry. Both are empty if the workflow has no record yet.
func Load(ctx context.Context, from Reader, workflow string) (r Record, e port.LedgerEntry, err error) {
	if e, err = from.Entry(ctx, prefix+workflow); err != nil || e.Version == 0 {
		return r, e, err
	}
	if err := json.Unmarshal(e.Output, &r); err != nil {
		return r, e, fmt.Errorf(
			"the record %q cannot be read: %w; delete the item, and the schedule begins anew", e.Key, err)
	}
	return r, e, nil
}
