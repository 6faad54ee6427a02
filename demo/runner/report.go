package runner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
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

// violationsShown limits the text output. The JSON report contains all violations.
const violationsShown = 20

func (r *Report) print(out io.Writer) {
	fmt.Fprintf(out, "\n%d lines in %.1f s; seed %d; kill -9 and restart: %d\n\n", r.Lines, r.Seconds,
		r.Seed, r.Restarts)
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	row := func(n int, what, more string) {
		fmt.Fprintf(t, "%d\t  %s\n", n, strings.TrimRight(pad(what)+more, " "))
	}
	row(r.Processed, "processed", "every step done")
	row(r.Undone, "undone", "because of "+reasons(r.UndoneReasons))
	row(r.Refused, "refused", reasons(r.RefusedReasons))
	row(r.Repeated, "repeated", "sent twice, done once")
	row(r.Error, "error", "")
	row(r.Unfinished, "unfinished", "")
	_ = t.Flush()
	r.printServices(out)
	r.printRecovery(out)
	r.printAudit(out)
}

func pad(s string) string { return fmt.Sprintf("%-13s", s) }

func (r *Report) printServices(out io.Writer) {
	fmt.Fprintln(out, "\nWhat the services did to it")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t,
		"\tcalls\trepeats\trefusals\t5xx before\t5xx after\t429\thangs\tanswer lost\tlate "+
			"effect\tin outage\t")
	for _, name := range services.Names() {
		c := r.Services[name]
		fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t", name, c.Calls, c.Repeats, c.Refused)
		for _, fault := range []services.Fault{
			services.Before, services.After, services.TooMany, services.Hang, services.Cut, services.Late,
		} {
			fmt.Fprintf(t, "%d\t", c.Faults[fault])
		}
		fmt.Fprintf(t, "%d\t\n", c.Outage)
	}
	_ = t.Flush()
}

func (r *Report) printRecovery(out io.Writer) {
	fmt.Fprintln(out, "\nRecovery")
	for _, again := range r.RecoveryMS.Restarts {
		fmt.Fprintf(out, "  after kill -9      ready in %d ms", again.Ready)
		if again.AtWork != nil {
			fmt.Fprintf(out, ", calls services again %d ms later", *again.AtWork)
		}
		fmt.Fprintln(out)
	}
	if r.RecoveryMS.PaymentOutage != nil {
		fmt.Fprintf(out, "  after the outage   first payment %d ms after the service was back\n",
			*r.RecoveryMS.PaymentOutage)
	}
	fmt.Fprintf(out, "  by the operator    orders in doubt, looked up and resubmitted: %d\n",
		r.ResolvedByOperator)
}

func (r *Report) printAudit(out io.Writer) {
	switch {
	case r.AuditViolations == 0 && r.Unfinished > 0:
		fmt.Fprintf(out,
			"\nAudit: holds for the orders that have ended, with %d effects and %d reversals in four ledgers.\n"+
				"It proves nothing about the %d that were still under way, which is no violation: this machine\n"+
				"has little time left for the demo; run it again when less runs beside it.\n", r.Effects,
			r.Reversals, r.Unfinished)
		return
	case r.AuditViolations == 0:
		fmt.Fprintf(out,
			"\nAudit: holds. %d effects and %d reversals in four ledgers: every processed order has\n"+
				"each effect exactly once, every undone order none, nothing was lost.\n", r.Effects,
			r.Reversals)
		return
	}
	fmt.Fprintf(out, "\nAudit: FAILS with %d violations in %d effects and %d reversals\n", r.AuditViolations,
		r.Effects, r.Reversals)
	for _, v := range r.Violations[:min(len(r.Violations), violationsShown)] {
		fmt.Fprintln(out, "  "+v.String())
	}
}

func reasons(counts map[string]int) string {
	type one struct {
		word string
		n    int
	}
	var all []one
	for word, n := range counts {
		all = append(all, one{cmp.Or(word, "other reasons"), n})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(b.n-a.n, strings.Compare(a.word, b.word)) })
	var parts []string
	for _, o := range all {
		parts = append(parts, fmt.Sprintf("%s %d", o.word, o.n))
	}
	return strings.Join(parts, ", ")
}
