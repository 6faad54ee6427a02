package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// transfer withdraws and deposits; the deposit is a point of no return whose refusal undoes (P22a).
const transfer = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  bank: {queueAllowance: 30s, clockSkew: 10ms}
  slow: {queueAllowance: 100ms, clockSkew: 10ms}
steps:
  withdraw: {agent: bank, operation: withdraw, timeout: 5s, onFailure: undo, undo: refund, grade: fenced}
  deposit: {agent: slow, operation: deposit, after: [withdraw], timeout: 200ms, pointOfNoReturn: true, onFailure: undo, grade: idempotent, retry: {maxFailures: 1}}
`

// bank counts what it does.
type bank struct {
	withdrawn, refunded atomic.Int64
	deposit             func(context.Context) (any, error)
}

func (b *bank) run(ctx context.Context, c worker.Call) (any, error) {
	switch c.Name {
	case "withdraw":
		b.withdrawn.Add(1)
	case "refund":
		b.refunded.Add(1)
	case "deposit":
		return b.deposit(ctx)
	}
	return nil, nil
}

func openBank(t *testing.T, deposit func(context.Context) (any, error)) (*embedded.Runtime, *bank) {
	t.Helper()
	w := newFixture(t, "5s")
	b := &bank{deposit: deposit}
	w.write(transfer)
	operations := worker.Operations{worker.AnyOperation: {Run: b.run}}
	w.options.Operations = map[string]worker.Operations{"bank": operations, "slow": operations}
	return w.open(), b
}

func TestARefusedDepositRefundsTheWithdrawal(t *testing.T) {
	s, b := openBank(t, func(context.Context) (any, error) {
		return nil, worker.NoEffect(worker.Permanent(errors.New("the account is closed")))
	})
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	task := wait(t, s, "one")
	require.Equal(t, core.Compensated, task.ProcessState)
	require.EqualValues(t, 1, b.withdrawn.Load())
	require.EqualValues(t, 1, b.refunded.Load())
	if took := task.End.At.Sub(task.Created).Std(); took > 15*time.Second { // the quiet time would be 35 s
		t.Errorf("it took %s", took)
	}
}

func TestADepositInDoubtIsUndoneOnceItIsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := openBank(t, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
		defer closeRuntime(t, s)
		submit(t, s, "one", "")
		task := wait(t, s, "one")
		require.Equal(t, core.Error, task.ProcessState)
		require.Equal(t, core.Forward, task.Phase)
		require.Zero(t, b.refunded.Load())
		command := func(c message.Control) bool {
			t.Helper()
			c.OrderID = "one"
			v, err := s.Command(t.Context(), c)
			require.NoError(t, err)
			return v.Accepted
		}
		if command(message.Control{Event: core.Command{Name: core.UndoCommand, ID: "u-1", Number: task.Commands.Number}}) {
			t.Fatal("an undo is accepted while the deposit is in doubt")
		}
		number := func() int { // it grows with many refusals too (P5)
			t.Helper()
			now, _, err := s.Task(t.Context(), "one")
			require.NoError(t, err)
			return now.Commands.Number
		}
		tries := 0
		eventually(t, "the fact is accepted, once no call can be under way", func() bool {
			tries++
			id, _ := json.Marshal(tries)
			return command(message.Control{
				Event: core.Command{
					Name: core.Resolve,
					ID:   "r-" + string(id), Number: number(), Step: "deposit",
					Fact: core.NotHappened,
				},
			})
		})
		require.True(t, command(message.Control{Event: core.Command{Name: core.UndoCommand, ID: "u-2", Number: number()}}))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		task, err := s.Wait(ctx, "one", (*protocol.Task).Terminal)
		require.NoError(t, err)
		require.Equal(t, core.Compensated, task.ProcessState)
		require.EqualValues(t, 1, b.refunded.Load())
	})
}
