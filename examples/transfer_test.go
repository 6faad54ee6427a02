package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var transfer = map[string]any{"from": "DE1", "to": "PT2", "amount": 250}

func transferBank(t *testing.T) (*workflowtest.Workflow, *workflowtest.Operation) {
	w := workflowtest.New(t, "transfer/transfer.yaml")
	w.Agent("debtor").On("withdraw").Return(nil)
	w.Agent("debtor").On("refund").Return(nil)
	return w, w.Agent("creditor").On("deposit")
}

func TestTheMoneyArrives(t *testing.T) {
	w, deposit := transferBank(t)
	deposit.FailTimes(2, workflowtest.Transient("busy", "not now")).Return(nil)
	run := w.Submit(transfer).UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectCalls("creditor.deposit", 3)
}

// A deposit that is refused refunds the withdrawal at once: it needs no undo of its own, and no wait.
func TestARefusedDepositIsRefunded(t *testing.T) {
	w, deposit := transferBank(t)
	deposit.Fail(workflowtest.Permanent("closed", "the account is closed"))
	began := w.Now()
	run := w.Submit(transfer).UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectUndone("deposit", "withdraw") // the deposit without a request
	run.ExpectCalls("debtor.refund", 1)
	require.LessOrEqual(t, w.Now().Sub(began), time.Second)
	s := run.Step("deposit")
	require.NotZero(t, s.NoEffect)
	require.Equal(t, core.Compensated, s.State)
}

// It is unknown whether a deposit without an answer has happened: nothing is refunded before the operator has
// looked.
func TestADepositInDoubtStops(t *testing.T) {
	w, deposit := transferBank(t)
	deposit.Silent()
	run := w.Submit(transfer).UntilEnd(time.Hour)
	run.ExpectError("deposit")
	run.ExpectCalls("debtor.refund", 0)
	require.False(t, run.Undo().Accepted, "an undo is accepted while the deposit is in doubt")
	w.Advance(time.Minute) // until no call can be under way any more
	require.True(t, run.Resolve("deposit", core.NotHappened).Accepted, "not-happened is refused")
	require.True(t, run.Undo().Accepted, "the undo is refused")
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectUndone("deposit", "withdraw")
}

// Against everything that can go wrong the money is moved once, or nothing is.
func TestNeverBoth(t *testing.T) {
	sim.Check(t, "transfer/transfer.yaml", sim.Order(`{"from":"DE1","to":"PT2","amount":250}`),
		sim.With(sim.Services{"creditor": {Latency: 300, SlowLatency: 4000, Failures: 0.2, Refusals: 0.3}}))
}
