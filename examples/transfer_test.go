package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate/sim"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var transfer = map[string]any{"from": "DE1", "to": "PT2", "amount": 250}

func transferBank(t *testing.T) (*workflowtest.Workflow, *workflowtest.Operation) {
	w := workflowtest.New(t, "transfer/transfer.yaml").AllowUnscripted()
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
	run := w.Submit(transfer).UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectUndone("deposit", "withdraw") // the deposit without a request
	run.ExpectCalls("debtor.refund", 1)
	require.LessOrEqual(t, w.Now().Sub(workflowtest.Start), time.Second)
}

// It is unknown whether a deposit without an answer has happened: nothing is refunded before the operator has
// looked.
func TestADepositInDoubtStops(t *testing.T) {
	w, deposit := transferBank(t)
	deposit.Silent()
	run := w.Submit(transfer).UntilEnd(time.Hour)
	run.ExpectError("deposit")
	require.False(t, run.Undo().Accepted)
	run.ExpectCalls("debtor.refund", 0)
	w.Advance(time.Minute) // until no call can be under way any more
	require.True(t, run.Resolve("deposit", workflowtest.NotHappened).Accepted)
	require.True(t, run.Undo().Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectUndone("deposit", "withdraw")
}

// Against everything that can go wrong the money is moved once, or nothing is.
func TestNeverBoth(t *testing.T) {
	sim.Check(t, "transfer/transfer.yaml", sim.Order(`{"from":"DE1","to":"PT2","amount":250}`),
		sim.With(sim.Services{"creditor": {Latency: 300, SlowLatency: 4000, Failures: 0.2, Refusals: 0.3}}))
}
