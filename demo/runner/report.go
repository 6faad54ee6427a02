package runner

import (
	"context"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

// Report is the result of a demo.
type Report struct {
	Seed uint64 `json:"seed"`
	stage.Progress
	AuditViolations int     `json:"auditViolations"`
	Restarts        int     `json:"restarts"`
	Seconds         float64 `json:"seconds"`
	OrdersPerSecond float64 `json:"ordersPerS"` // number of ended orders per second

	// Retries is the number of repeated calls of services, including calls of undo operations.
	Retries            int                        `json:"retries"`
	ResolvedByOperator int                        `json:"resolvedByOperator"`
	RecoveryMS         Recovery                   `json:"recoveryMs"`
	RefusedReasons     map[string]int             `json:"refusedReasons"`
	UndoneReasons      map[string]int             `json:"undoneReasons"`
	Services           map[string]services.Counts `json:"services"`
	Effects            int                        `json:"effects"`   // number of dos in the ledgers
	Reversals          int                        `json:"reversals"` // number of undos in the ledgers
	Violations         []audit.Violation          `json:"violations"`
}

// Recovery holds durations in milliseconds.
type Recovery struct {
	FirstReady int64           `json:"firstReady"` // time that the first start took
	Restarts   []stage.Restart `json:"restarts"`   // restarts after the kills
	// PaymentOutage is the time from the end of the outage to the first charge or refund.
	PaymentOutage *int64 `json:"paymentOutage,omitempty"`
}

// report returns the Report without the results of the audit.
func (d *coordinator) report() Report {
	refused, undone := d.book.Reasons()
	r := Report{
		Seed: d.o.Seed, Progress: d.book.Progress(),
		Seconds:        seconds(time.Since(d.began)),
		RefusedReasons: refused, UndoneReasons: undone,
		Services: map[string]services.Counts{}, Violations: []audit.Violation{},
		RecoveryMS: Recovery{FirstReady: d.firstUp.Milliseconds(), Restarts: d.Restarts()},
	}
	r.Restarts = len(r.RecoveryMS.Restarts)
	r.OrdersPerSecond = math.Round(float64(r.Processed+r.Undone)/max(r.Seconds, 0.001)*10) / 10
	for _, name := range services.Names() {
		c := d.Fleet.Counts(name)
		r.Services[name] = c
		r.Retries += c.Repeats
	}
	for _, n := range d.operator.Resubmits {
		if n > 0 {
			r.ResolvedByOperator++
		}
	}
	if t, ok := d.Fleet.Recovery(services.Payment); ok {
		ms := t.Milliseconds()
		r.RecoveryMS.PaymentOutage = &ms
	}
	return r
}

const auditPatience = 15 * time.Second

// audit stops Stepkeeper and audits the ledgers after the last call has ended.
func (r *Report) audit(ctx context.Context, d *coordinator) error {
	if err := d.Engine.Stop(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	orders := d.book.Outcomes()
	for i := range orders {
		if orders[i].Outcome == audit.Unfinished {
			orders[i].Outcome = audit.Running // the run ended first, which says nothing about the order
		}
	}
	result, err := d.Audit(ctx, orders)
	if err != nil {
		return err
	}
	r.Effects = result.Effects
	r.Reversals = result.Reversals
	r.Violations = append(append(r.Violations, result.Violations...), d.book.Violations()...)
	r.AuditViolations = len(r.Violations)
	return nil
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
