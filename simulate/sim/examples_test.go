package sim_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

// t stands for the *testing.T of a test of your own, which an example does not get.
var t testing.TB = inExample{}

type inExample struct{ testing.TB }

func (inExample) Helper()                        {}
func (inExample) Context() context.Context       { return context.Background() }
func (inExample) Name() string                   { return "Example" }
func (inExample) Errorf(format string, a ...any) { fmt.Printf(format+"\n", a...) }
func (inExample) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
func (inExample) Fatal(a ...any)                 { panic(fmt.Sprint(a...)) }
func (inExample) Logf(string, ...any)            {}

// Check runs the workflow 200 times with faults. No run breaks an invariant.
func ExampleCheck() {
	report := sim.Check(t, "../../examples/simulate/transfer.yaml", sim.Seeds(200))
	fmt.Println(report.Seeds, "runs,", report.Violation)
	// Output: 200 runs, <nil>
}

// The service forgets a key after two seconds, so that a repeated call has a second effect. This breaks
// invariant 3.
func ExampleBreaks() {
	sim.Check(t, "../../examples/simulate/transfer.yaml", sim.Seeds(2000), sim.Breaks("3"),
		sim.With(sim.Services{"creditor": {Forgets: 2 * core.Second}}))
	fmt.Println("invariant 3 is broken, as expected")
	// Output: invariant 3 is broken, as expected
}
