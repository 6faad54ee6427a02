package scheduler

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Handlings of one instance learn, and decide with what was learnt, at the same time; the race detector watches.
func TestWaitsAreSafeForConcurrentUse(t *testing.T) {
	w := &Waits{}
	agents := []string{"a", "b", "c", "d"}
	var all sync.WaitGroup
	for i, agent := range agents {
		all.Go(func() {
			for n := range 2_000 {
				w.learn(agent, Wait{Waited: core.Duration(i), Learnt: core.Time(n)})
			}
		})
		all.Go(func() {
			for range 2_000 {
				w.At(0)
			}
		})
	}
	all.Wait()
	if got := w.At(2_000); len(got) != len(agents) || got["d"] != 3 {
		t.Errorf("learnt %v", got)
	}
}

// What is known is read and written under the lock. Overlaps are rare where processors are few, so the test holds
// the lock itself: with one processor, what does not wait for it has ended after the processor was offered often.
func TestWaitsAreReadAndLearntUnderTheLock(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := &Waits{}
	for name, use := range map[string]func(){
		"learn": func() { w.learn("a", Wait{Waited: 1}) },
		"At":    func() { w.At(0) },
		"All":   func() { w.All() },
		"Set":   func() { w.Set(map[string]Wait{"a": {Waited: 1}}) },
	} {
		w.mu.Lock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			use()
		}()
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case <-done:
			t.Errorf("%s did not wait for the lock", name)
		default:
		}
		w.mu.Unlock()
		<-done
	}
}
