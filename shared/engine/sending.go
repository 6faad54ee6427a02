package engine

import (
	"slices"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// sending holds the numbers of the statuses that this process has to send, by order. A number is in it from
// before the commit until the status is sent or recorded as undelivered. If the handling fails, the number
// stays until a redelivery of the message sends the status. The zero value is ready for use.
//
// A process with durable queues needs no record: the message of a failed handling comes again. A process whose
// queues are in memory stores the number up to which everything was sent with the next commit of the order,
// and sends the later statuses again when it restarts (P27, the embedded runtime survives its queues).
type sending struct {
	mu      sync.Mutex
	numbers map[string][]int
}

// begin adds the numbers of the statuses among the effects of a decision, before its commit. Two decisions that
// compete for a commit can have the same number.
func (s *sending) begin(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int { return append(all, n) })
}

// refused removes the numbers of a decision whose commit was refused.
func (s *sending) refused(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int {
		if i := slices.Index(all, n); i >= 0 {
			return slices.Delete(all, i, i+1)
		}
		return all
	})
}

// sent removes the numbers of statuses that were sent, or are recorded as undelivered.
func (s *sending) sent(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int {
		return slices.DeleteFunc(all, func(of int) bool { return of == n })
	})
}

func (s *sending) each(effects []core.Effect, change func(all []int, n int) []int) {
	for _, e := range effects {
		status, ok := e.(core.SendStatus)
		if !ok || status.Status.Seq == 0 {
			continue
		}
		s.mu.Lock()
		id := status.Status.OrderID
		if all := change(s.numbers[id], status.Status.Seq); len(all) > 0 {
			if s.numbers == nil {
				s.numbers = map[string][]int{}
			}
			s.numbers[id] = all
		} else {
			delete(s.numbers, id)
		}
		s.mu.Unlock()
	}
}

// told returns the number up to which the statuses of an order are known to be sent. last is the number of the
// last status in the stored task.
func (s *sending) told(id string, last int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.numbers[id] {
		last = min(last, n-1)
	}
	return last
}
