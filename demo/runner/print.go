package runner

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

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
