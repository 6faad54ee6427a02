package scheduler_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/world"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// P32, P44: one instance handles messages concurrently. The handlings share the queue waits and the queue
// lengths; `make race` fails if one of them reads or writes these without the lock.
func TestConcurrentHandlingsShareWaitsAndLengths(t *testing.T) {
	const orders = 16
	w := twoAgents(t)
	config := w.SchedulerConfig(w.NewState(w.Store, 0), "s")
	config.Capacity = func(string) int { return 2 }
	config.Waits = &scheduler.Waits{}
	config.Count = nil // the world's count is not safe for concurrent use
	s := scheduler.New(config)
	concurrently := func(n int, handle func(i int)) {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { handle(i) })
		}
		all.Wait()
	}
	concurrently(orders, func(i int) {
		if failed := s.Handle(ctx, port.Intake,
			deliver(world.Order(fmt.Sprintf("o-%d", i)))); len(failed) > 0 {
			t.Errorf("returned: %v", failed)
		}
	})
	var replies []*message.Reply
	for _, r := range requests(t, w) {
		reply := world.Done(r)
		reply.Waited = 3 * core.Second
		replies = append(replies, reply)
	}
	if len(replies) < orders {
		t.Fatalf("%d requests for %d orders", len(replies), orders)
	}
	var left atomic.Int64
	left.Store(int64(len(replies)))
	concurrently(len(replies)+1, func(i int) {
		for i == len(replies) && left.Load() > 0 { // one goroutine only reads, as the metrics do
			config.Waits.All()
			config.Waits.At(0)
		}
		for n := 0; i < len(replies) && n < 4; n++ {
			w.Clock.Advance(10 * time.Second) // so that this handling reads the queue lengths again
			s.Handle(ctx, port.Replies, deliver(replies[i]))
		}
		left.Add(-1)
	})
	for agent, wait := range config.Waits.All() {
		if wait.Least != 3*core.Second {
			t.Errorf("%s: recorded a wait of %d ms, want 3,000", agent, wait.Least)
		}
	}
	if all := config.Waits.All(); len(all) == 0 {
		t.Error("no wait is recorded")
	}
}
