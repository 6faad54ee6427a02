package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// TestEveryReplyCanBeRead: whatever an operation returns, the Scheduler can read the reply.
func TestEveryReplyCanBeRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var failure error
		if rapid.Bool().Draw(rt, "fails") {
			code := rapid.SampledFrom([]string{"", "x", "ü", "\xff", "not-yet", "unauthorized"}).Draw(rt,
				"code")
			wait := rapid.SampledFrom([]time.Duration{0, -1, -time.Hour, time.Hour, 1<<63 - 1}).Draw(rt,
				"retryAfter")
			failure = &worker.Failure{
				Permanent: rapid.Bool().Draw(rt, "permanent"), NoEffect: rapid.Bool().Draw(rt, "noEffect"),
				Code:       strings.Repeat(code, rapid.SampledFrom([]int{1, 64, 200}).Draw(rt, "times")),
				RetryAfter: wait,
				Err:        errors.New(rapid.StringN(0, -1, 2000).Draw(rt, "text")),
			}
		}
		levels := rapid.IntRange(60, 70).Draw(rt, "levels")
		insides := []string{"", "\"\xff\"", `"\ud83d"`, `{"a":1,"a":2}`, "1e1000", "\xff"}
		inside := rapid.SampledFrom(insides).Draw(rt, "inside")
		output := json.RawMessage(strings.Repeat("[", levels) + inside + strings.Repeat("]", levels))
		percent := rapid.Int().Draw(rt, "percent")
		note := rapid.String().Draw(rt, "note")
		operation := charge(func(ctx context.Context, _ worker.Call) (any, error) {
			require.NoError(rt, worker.Progress(ctx, percent, note))
			return output, failure
		})
		b := newBench(t, memory.NewClock(noon),
			worker.Config{Ledger: memory.NewLedger(), Operations: operation})
		req := request(noon)
		req.OrderID = strings.Repeat("x", rapid.SampledFrom([]int{1, core.MaxID}).Draw(rt, "id"))
		req.Step = strings.Repeat("s", rapid.SampledFrom([]int{1, 40}).Draw(rt, "step"))
		req.Key = core.Key(req.OrderID, req.Run, req.Step)
		req.Operation = rapid.SampledFrom([]core.Operation{core.Do, core.UndoOp}).Draw(rt, "operation")
		req.Grade = rapid.SampledFrom([]core.Grade{core.Fenced, core.Idempotent, core.Plain}).Draw(rt,
			"grade")
		req.PointOfNoReturn = req.Operation == core.Do && rapid.Bool().Draw(rt, "pointOfNoReturn")
		if req.Operation == core.Do && rapid.Bool().Draw(rt, "long") {
			req.MaxDuration = core.Hour
		}
		b.worker.Handle(context.Background(), delivery(req))
		b.replies() // which reads them
	})
}
