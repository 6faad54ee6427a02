package aws

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	growth       = 1.6
)

// pauses determines the pauses between the reads of a task. Each pause is longer than the pause before, up to
// a limit. The length is partly random, so that many clients do not read at the same time.
type pauses struct{ first, next time.Duration }

func (t *Transport) pauses() *pauses { return &pauses{t.Poll, t.Poll} }

// reset sets the next pause to the first length, because a task often changes several times in a short time.
func (p *pauses) reset() { p.next = p.first }

// wait pauses for the next length, but not longer than left. If left is below 1 ms, the limit is 1 ms.
func (p *pauses) wait(ctx context.Context, left time.Duration) error {
	d := min(time.Duration(float64(p.next)*(0.8+0.4*rand.Float64())), max(left, time.Millisecond))
	p.next = min(time.Duration(float64(p.next)*growth), max(longestPause, p.first))
	return port.Sleep(ctx, d)
}

// Changes yields nil at once, and then each 5 s: a stack does not tell its changes.
func (t *Transport) Changes(ctx context.Context, _ string) iter.Seq[error] {
	return func(yield func(error) bool) {
		for yield(nil) && port.Sleep(ctx, longestPause) == nil {
		}
	}
}

// Follow reads the task repeatedly until the task has ended. It yields each new version that it reads,
// beginning with the first version above the argument after. It can miss versions between two reads.
func (t *Transport) Follow(ctx context.Context, id string, after int64) iter.Seq2[*client.Task, error] {
	return func(yield func(*client.Task, error) bool) {
		for p := t.pauses(); ; {
			task, err := t.present(ctx, id)
			if err == nil && task != nil && task.Version > after {
				after = task.Version
				p.reset()
				var shown *client.Task
				shown, err = t.show(ctx, task, false)
				if err == nil &&
					(!yield(shown, nil) || view.Ended(task)) {
					return
				}
			}
			if err == nil {
				err = p.wait(ctx, longestPause)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}
