package worker

import "sync/atomic"

// Stats is a snapshot of a worker's counts since its start.
type Stats struct {
	InFlight   int64 `json:"inFlight"`   // requests being handled now
	Done       int64 `json:"done"`       // replies with the outcome done
	Failed     int64 `json:"failed"`     // replies with the outcome failed
	RetryLater int64 `json:"retryLater"` // replies with the outcome retry-later
	Deferred   int64 `json:"deferred"`   // calls whose reply comes later
	Retried    int64 `json:"retried"`    // retries within an attempt
	// calls not made, because the check found the effect of an earlier call
	Checked int64 `json:"checked"`
	// requests received or finished after stopBy, whose result was not sent (P25, agents are silent after stopBy)
	DroppedLate int64 `json:"droppedLate"`
	// requests that use the ledger and got no reply (P31, a plain service needs a ledger)
	InDoubt     int64 `json:"inDoubt"`
	Quarantined int64 `json:"quarantined"`
	// GivenBack counts requests that the worker returned to the queue, for example because of an open
	// breaker, an unsent reply or a shutdown.
	GivenBack int64             `json:"givenBack"`
	Panics    int64             `json:"panics"`
	Breakers  map[string]string `json:"breakers,omitempty"` // state by operation: closed, open, half-open
}

type counters struct {
	inFlight, done, failed, later, deferred, retried, checked, late, doubt, quarantined, back,
	panics atomic.Int64
}

// Stats returns the counts. It may be called at any time.
func (w *Worker) Stats() Stats {
	c := &w.counters
	s := Stats{
		InFlight: c.inFlight.Load(), Done: c.done.Load(), Failed: c.failed.Load(), RetryLater: c.later.Load(),
		Deferred: c.deferred.Load(), Retried: c.retried.Load(), Checked: c.checked.Load(),
		DroppedLate: c.late.Load(), InDoubt: c.doubt.Load(),
		Quarantined: c.quarantined.Load(), GivenBack: c.back.Load(), Panics: c.panics.Load(),
		Breakers: map[string]string{},
	}
	w.guards.Range(func(name, g any) bool {
		if b := g.(*guard).breaker; b != nil {
			s.Breakers[name.(string)] = b.State().String()
		}
		return true
	})
	return s
}
