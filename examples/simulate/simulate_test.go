package simulate_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

// The workflow keeps what it promises, whatever goes wrong.
func TestTransfer(t *testing.T) {
	sim.Check(t, "transfer.yaml")
}

// A bank that says it is fenced and is not: its debit lands after the refund.
func TestUnfencedService(t *testing.T) {
	sim.Check(t, "transfer.yaml", sim.With(sim.Services{"debtor": {Grade: core.Idempotent}}),
		sim.Breaks("11"))
}

// A bank that forgets keys pays twice.
func TestForgetfulService(t *testing.T) {
	sim.Check(t, "transfer.yaml", sim.With(sim.Services{"creditor": {Forgets: 2 * core.Second}}),
		sim.Breaks("3"))
}
