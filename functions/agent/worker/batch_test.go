package worker_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counted is a queue of replies that counts sends. It refuses the step "bad", and panics at the step "poison".
type counted struct {
	port.Queue
	mu    sync.Mutex
	sends []string // steps of each send, in order
}

func (q *counted) Send(_ context.Context, messages []port.Message) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	errs := make([]error, len(messages))
	var steps []string
	for i := range messages {
		step := messages[i].Value.(*message.Reply).Step
		steps = append(steps, step)
		switch step {
		case "bad":
			errs[i] = errors.New("refused")
		case "poison":
			panic("poison")
		}
	}
	slices.Sort(steps)
	q.sends = append(q.sends, strings.Join(steps, " "))
	return errs
}

// Replies of a batch are sent together once each handling replies or ends, when they are as many as fit, or after the
// linger.
func TestRepliesAreSentTogether(t *testing.T) {
	for name, tt := range map[string]struct {
		steps  string // "late" replies after an hour, and "mute" not at all
		sends  []string
		failed int
	}{
		"all at once":        {"a b bad c", []string{"a b bad c"}, 1},
		"one has no reply":   {"a b mute", []string{"a b"}, 1},
		"more than fit":      {"a a a a a a a a a a b late", []string{"a a a a a a a a a a", "b", "late"}, 0},
		"one is late":        {"a b late", []string{"a b", "late"}, 0},
		"one alone":          {"a", []string{"a"}, 0},
		"the queue panics":   {"poison", nil, 1},
		"none":               {"", nil, 0},
		"two late, together": {"late late", []string{"late late"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &counted{}
				run := func(_ context.Context, c worker.Call) (any, error) {
					switch c.Step {
					case "b":
						time.Sleep(time.Millisecond)
					case "late":
						time.Sleep(time.Hour)
					case "mute":
						return nil, &worker.Failure{Requeue: true}
					}
					return nil, nil
				}
				b := newBench(t, port.ClockFunc(time.Now), worker.Config{
					Replies: q, Linger: time.Second, Operations: worker.Operations{"charge": {Run: run}},
				})
				var deliveries []port.Delivery
				for _, step := range strings.Fields(tt.steps) {
					r := request(time.Now())
					r.Step = step
					r.Timeout = 2 * core.Hour
					r.StopBy = r.StopBy.Add(2 * core.Hour)
					deliveries = append(deliveries, delivery(r))
				}
				begun := time.Now()
				require.Len(t, b.worker.Batch(t.Context(), deliveries), tt.failed)
				require.Equal(t, tt.sends, q.sends)
				require.Less(t, time.Since(begun), time.Hour+time.Second)
			})
		})
	}
}
