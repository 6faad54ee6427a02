package scheduler

import (
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Handlings of one instance learn, and decide with what was learnt, at the same time. A map that is written at the same
// time ends the program.
func TestWaitsAreSafeForConcurrentUse(t *testing.T) {
	w := &Waits{}
	agents := []string{"a", "b", "c", "d"}
	var all sync.WaitGroup
	for i, agent := range agents {
		all.Go(func() {
			for n := range 20_000 {
				w.learn(agent, Wait{Waited: core.Duration(i), Learnt: core.Time(n)})
			}
		})
		all.Go(func() {
			for range 20_000 {
				w.At(0)
			}
		})
	}
	all.Wait()
	if got := w.At(20_000); len(got) != len(agents) || got["d"] != 3 {
		t.Errorf("learnt %v", got)
	}
}
