package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// filming works for longer than its timeout, in one attempt, while it reports, and defers the reply of its
// second step.
const filming = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  film: {agent: shop, operation: film, timeout: 3s, maxDuration: 60s, onFailure: undo, undo: unfilm, grade: fenced}
  cut:  {agent: shop, operation: cut, after: [film], timeout: 3s, maxDuration: 60s, onFailure: undo, undo: none, grade: fenced}
`

// P43: a long step is one attempt, shown with what it reports; a deferred one is answered by its reply ID.
func TestLongWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "5s")
		w.write(filming)
		shown := make(chan struct{})
		id := make(chan string, 1)
		w.options.Operations = map[string]worker.Operations{"shop": {
			"film": {Run: func(ctx context.Context, _ worker.Call) (any, error) {
				began := time.Now()
				for ctx.Err() == nil {
					select {
					case <-shown:
						if time.Since(began) > 4*time.Second {
							return nil, nil
						}
					default:
					}
					if err := worker.Progress(ctx, 40, "frames"); err != nil {
						return nil, err
					}
					select { // an operation that works goes by its own time
					case <-time.After(20 * time.Millisecond):
					case <-ctx.Done():
					}
				}
				return nil, ctx.Err()
			}},
			"cut": {Run: func(_ context.Context, c worker.Call) (any, error) {
				id <- c.ReplyID()
				return nil, worker.Deferred(0)
			}},
			"unfilm": {Run: func(context.Context, worker.Call) (any, error) { return nil, nil }},
		}}
		s := w.open()
		defer closeRuntime(t, s)
		submit(t, s, "o-1", "")
		eventually(t, "progress is shown", func() bool {
			at, _, err := s.Task(t.Context(), "o-1")
			if err != nil {
				return false
			}
			p := at.Step("film").Claim.Progress
			return p != nil && p.Percent == 40 && p.Note == "frames"
		})
		close(shown)
		replies, err := s.Queue(port.Replies)
		require.NoError(t, err)
		answers := worker.Replies{Agent: "shop", Queue: replies, Clock: port.ClockFunc(time.Now)}
		deferred := <-id
		err = errors.Join(answers.Progress(t.Context(), deferred, 90, "", time.Minute),
			answers.Done(t.Context(), deferred, "cut.mp4"))
		require.NoError(t, err)
		task := wait(t, s, "o-1")
		require.Equal(t, core.Processed, task.ProcessState)
		require.Equal(t, `"cut.mp4"`, string(task.Step("cut").Output))
		for i := range task.Steps {
			st := &task.Steps[i]
			require.Equal(t, 1, st.Attempt)
			require.Nil(t, st.Claim.Progress)
		}
	})
}
