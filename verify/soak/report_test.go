package soak_test

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

// Report is the result of a soak.
type Report struct {
	Passed  bool    `json:"passed"`
	Why     string  `json:"why,omitempty"` // reason why the run failed
	Seed    uint64  `json:"seed"`
	Minutes float64 `json:"minutes"` // length of the part with faults
	Seconds float64 `json:"seconds"` // length of the whole run

	Orders           int `json:"orders"`
	Raced            int `json:"raced"`    // orders of the workflow raced
	Children         int `json:"children"` // their iterations; not included in the number of orders
	Processed        int `json:"processed"`
	Undone           int `json:"undone"` // including cancelled orders
	Cancelled        int `json:"cancelled"`
	Refused          int `json:"refused"`
	Error            int `json:"error"`
	Unfinished       int `json:"unfinished"`
	Resubmitted      int `json:"resubmitted"` // undone orders that were started again
	Resolved         int `json:"resolved"`    // facts that the operator stated
	GoneOn           int `json:"gone_on"`     // stopped orders that the operator continued
	UndoneByOperator int `json:"undone_by_operator"`
	Outdated         int `json:"wrong_commands_refused"`
	// cancels of unknown orders, which detect a full disk; not included in the number of orders
	Probes int `json:"probes"`

	Faults   map[string]int `json:"faults"`
	Services map[string]int `json:"service_faults"`
	// time from the end of the faults to the end of the last order
	SettleSeconds float64           `json:"settle_seconds"`
	Restarts      []stage.Restart   `json:"restarts"`
	Before        Size              `json:"engine_before"`
	Rest          Size              `json:"engine_at_rest"`
	Lives         []Life            `json:"engine_lives"`
	Effects       int               `json:"effects"`
	Reversals     int               `json:"reversals"`
	Forgeries     int               `json:"forgeries_noticed"`
	Violations    []audit.Violation `json:"violations"`
}

// outcomes counts the orders by end.
func (r *Report) outcomes(orders []audit.Order) {
	r.Orders = len(orders) - r.Probes
	r.Undone = -r.Probes
	for _, o := range orders {
		switch o.Outcome {
		case audit.Processed:
			r.Processed++
		case audit.Undone:
			r.Undone++
		case audit.Refused:
			r.Refused++
		case audit.Error:
			r.Error++
		default:
			r.Unfinished++
		}
	}
}

// missing lists the faults that never happened.
func (r *Report) missing() []string {
	var none []string
	for _, what := range append(slices.Clone(processFaults), networkFaults()...) {
		if r.Faults[what] == 0 && !slices.Contains(none, what) {
			none = append(none, what)
		}
	}
	return none
}

const mega = 1 << 20

func (r *Report) print(out io.Writer) {
	fmt.Fprintf(out,
		"\norders %d (%d of them raced, with %d iterations): %d processed, %d undone (%d of them cancelled), "+
			"%d refused, %d in Error, %d without an end\n",
		r.Orders, r.Raced, r.Children, r.Processed, r.Undone, r.Cancelled, r.Refused, r.Error, r.Unfinished)
	fmt.Fprintf(out,
		"operator: %d facts stated, %d orders went on, %d undone, %d began again after an undo, %d "+
			"commands with a wrong number refused\n",
		r.Resolved, r.GoneOn, r.UndoneByOperator, r.Resubmitted, r.Outdated)
	fmt.Fprintln(out, "faults:")
	for _, what := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(out, "  %6d  %s\n", r.Faults[what], what)
	}
	for _, what := range slices.Sorted(maps.Keys(r.Services)) {
		fmt.Fprintf(out, "  %6d  service: %s\n", r.Services[what], what)
	}
	for i, x := range r.Restarts {
		at := "nothing was left to do"
		if x.AtWork != nil {
			at = fmt.Sprintf("a service called %d ms after that", *x.AtWork)
		}
		fmt.Fprintf(out, "restart %d: ready after %d ms, %s\n", i+1, x.Ready, at)
	}
	for i, l := range r.Lives {
		fmt.Fprintf(out,
			"engine %d, %.0f s: goroutines %d to %d (most %d), heap %.1f to %.1f MiB (most %.1f), "+
				"resident %.1f to %.1f MiB (most %.1f), files %d to %d (most %d), data %.1f to %.1f MiB\n",
			i+1, l.Last.At-l.First.At, l.First.Goroutines, l.Last.Goroutines, l.Most.Goroutines,
			mib(l.First.HeapBytes), mib(l.Last.HeapBytes), mib(l.Most.HeapBytes),
			mib(l.First.RSS), mib(l.Last.RSS), mib(l.Most.RSS), l.First.Files, l.Last.Files, l.Most.Files,
			mib(l.First.DataBytes), mib(l.Last.DataBytes))
	}
	fmt.Fprintf(out,
		"engine at rest: %d goroutines (before the first order %d), %d files (%d), heap %.1f MiB (%.1f)\n",
		r.Rest.Goroutines, r.Before.Goroutines, r.Rest.Files, r.Before.Files, mib(r.Rest.HeapBytes),
		mib(r.Before.HeapBytes))
	fmt.Fprintf(out, "audit: %d effects, %d reversals, %d violations; %d of %d forgeries tried and noticed\n",
		r.Effects, r.Reversals, len(r.Violations), r.Forgeries, len(forgeries))
	for i, v := range r.Violations {
		if i == 20 {
			fmt.Fprintf(out, "  and %d more\n", len(r.Violations)-i)
			break
		}
		fmt.Fprintln(out, "  VIOLATION", v)
	}
	verdict := "PASSED"
	if !r.Passed {
		verdict = "FAILED: " + r.Why
	}
	fmt.Fprintf(out,
		"soak of seed %d, %.1f minutes: %s; every order at its end %.1f s after the last fault\n", r.Seed,
		r.Minutes, verdict, r.SettleSeconds)
}

func mib(n int64) float64 { return float64(n) / mega }

// tenths returns a time in seconds, rounded to a tenth.
func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
