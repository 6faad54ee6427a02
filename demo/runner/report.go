package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
)

// Report is the result of a demo. Submitted = Processed + Undone + Refused + Repeated + Error +
// Unfinished.
type Report struct {
	Orders    string `json:"orders,omitempty"` // the file; absent means the demo's own
	Seed      uint64 `json:"seed"`
	Submitted int    `json:"submitted"` // lines read, refused ones included
	Processed int    `json:"processed"` // orders
	Undone    int    `json:"undone"`    // orders
	Refused   int    `json:"refused"`   // lines
	// lines whose order was there already: accepted, nothing done twice
	Repeated int `json:"repeated"`
	Error    int `json:"error"` // orders that wait for an operator
	// acknowledged orders without an end, and lines without an answer
	Unfinished      int     `json:"unfinished"`
	AuditViolations int     `json:"audit_violations"`
	Restarts        int     `json:"restarts"`
	Seconds         float64 `json:"seconds"`
	OrdersPerSecond float64 `json:"orders_per_s"` // ends of orders over the time until the last one

	// calls that services saw again, do and undo
	Retries            int                        `json:"retries"`
	ResolvedByOperator int                        `json:"resolved_by_operator"`
	RecoveryMS         Recovery                   `json:"recovery_ms"`
	RefusedReasons     map[string]int             `json:"refused_reasons"`
	UndoneReasons      map[string]int             `json:"undone_reasons"`
	Services           map[string]services.Counts `json:"services"`
	Effects            int                        `json:"effects"`   // rows of the ledgers
	Reversals          int                        `json:"reversals"` // rows of the ledgers
	Violations         []audit.Violation          `json:"violations"`
}

// Recovery holds times in milliseconds.
type Recovery struct {
	FirstReady int64     `json:"first_ready"` // time from the start on an empty folder until ready
	Restarts   []Restart `json:"restarts"`    // restart after each kill
	// time from the end of the outage to the first charge or refund
	PaymentOutage *int64 `json:"payment_outage,omitempty"`
}

// Restart after a kill, in milliseconds.
type Restart struct {
	Ready int64 `json:"ready"` // time from the start until ready
	// time from ready until a service is called; absent if no work was left
	AtWork *int64 `json:"at_work,omitempty"`
}

// report prints how far the run got; the audit is still to come.
func (d *coordinator) report() Report {
	p := d.book.progress()
	refused, undone := d.book.reasons()
	r := Report{
		Seed: d.o.Seed, Submitted: p.lines, Processed: p.processed, Undone: p.undone, Refused: p.refused,
		Repeated: p.repeated, Error: p.stopped, Unfinished: p.open + p.lines - p.answered,
		Restarts: len(d.restarts), Seconds: seconds(time.Since(d.began)),
		RefusedReasons: refused, UndoneReasons: undone,
		Services: map[string]services.Counts{}, Violations: []audit.Violation{},
		RecoveryMS: Recovery{FirstReady: d.firstUp.Milliseconds(),
			Restarts: append([]Restart{}, d.restarts...)},
	}
	r.OrdersPerSecond = math.Round(float64(p.processed+p.undone)/max(r.Seconds, 0.001)*10) / 10
	for _, name := range services.Names() {
		c := d.fleet.Counts(name)
		r.Services[name] = c
		r.Retries += c.Repeats
	}
	for _, n := range d.operator.Resubmits {
		if n > 0 {
			r.ResolvedByOperator++
		}
	}
	if t, ok := d.fleet.Recovery(services.Payment); ok {
		ms := t.Milliseconds()
		r.RecoveryMS.PaymentOutage = &ms
	}
	return r
}

// auditPatience is how long calls that still hang may take to end.
const auditPatience = 15 * time.Second

// audit stops everything that could still change a ledger, and has the ledgers read.
func (r *Report) audit(ctx context.Context, d *coordinator) error {
	if err := d.stack.Stop(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	if err := d.fleet.Drain(ctx); err != nil {
		return fmt.Errorf("wait for the last calls at the services: %w", err)
	}
	result, err := audit.Run(ctx, audit.Ledgers{
		Inventory: d.fleet.Ledger(services.Inventory), Payment: d.fleet.Ledger(services.Payment),
		Shipping: d.fleet.Ledger(services.Shipping), Notification: d.fleet.Ledger(services.Notification),
	}, d.book.outcomes())
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	r.Effects, r.Reversals = result.Effects, result.Reversals
	r.Violations = append(r.Violations, result.Violations...)
	for _, id := range d.book.reopened {
		r.Violations = append(r.Violations, audit.Violation{
			Order: id, What: "an end that changed afterwards", Expected: "the same end for ever",
			Found: "another state",
		})
	}
	r.AuditViolations = len(r.Violations)
	return nil
}

func (r *Report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
