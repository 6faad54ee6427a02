package soak_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

// Report is the result of a soak.
type Report struct {
	Passed  bool    `json:"passed"`
	Why     string  `json:"why,omitempty"` // reason why the run failed
	Seed    uint64  `json:"seed"`
	Minutes float64 `json:"minutes"` // length of the part with faults
	Seconds float64 `json:"seconds"` // length of the whole run

	stage.Progress       // its undone orders include the cancelled ones
	Raced            int `json:"raced"`    // orders of the workflow raced
	Children         int `json:"children"` // their iterations; not included in the number of orders
	Cancelled        int `json:"cancelled"`
	Resubmitted      int `json:"resubmitted"` // undone orders that were started again
	Resolved         int `json:"resolved"`    // facts that the operator stated
	GoneOn           int `json:"gone_on"`     // stopped orders that the operator continued
	UndoneByOperator int `json:"undone_by_operator"`
	Outdated         int `json:"wrong_commands_refused"`
	// cancels of unknown orders, which detect a full disk; not included in the number of orders
	Probes int `json:"probes"`

	Faults   map[string]int         `json:"faults"`
	Services map[services.Fault]int `json:"service_faults"`
	// time from the end of the faults to the end of the last order
	SettleSeconds float64           `json:"settle_seconds"`
	Restarts      []stage.Restart   `json:"restarts"`
	Before        Size              `json:"engine_before"`
	Rest          Size              `json:"engine_at_rest"`
	Effects       int               `json:"effects"`
	Reversals     int               `json:"reversals"`
	Violations    []audit.Violation `json:"violations"`
}

// missing lists the faults that never happened.
func (r *Report) missing() []string {
	var none []string
	for _, kind := range processFaults {
		if r.Faults[kind.what] == 0 {
			none = append(none, kind.what)
		}
	}
	for fault := range rates(0)[services.Inventory] {
		if r.Services[fault] == 0 {
			none = append(none, string(fault))
		}
	}
	return none
}

// print writes the report, with the first violations, and the verdict.
func (r *Report) print(out io.Writer) {
	shown := *r
	shown.Violations = r.Violations[:min(len(r.Violations), 20)]
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil { // a report holds numbers and texts
		panic(err)
	}
	verdict := "PASSED"
	if !r.Passed {
		verdict = "FAILED: " + r.Why
	}
	fmt.Fprintf(out, "%s\nsoak of seed %d, %.1f minutes: %s; %d violations; every order at its end %.1f s after the last "+
		"fault\n", text, r.Seed, r.Minutes, verdict, len(r.Violations), r.SettleSeconds)
}

// tenths returns a time in seconds, rounded to a tenth.
func tenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }
