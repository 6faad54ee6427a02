package simulate

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// errCut is what a handler sees once its process has died, or its time was over: nothing that it
// does from then on has any effect.
var errCut = errors.New("the process is dead")

// invocation is one handler at work, as a coroutine.
type invocation struct {
	w       *simulation
	p       *process
	id      int
	what    string
	dead    bool
	parked  bool
	yield   func(int64) bool
	routine *coroutine
	letters []*letter       // that it handles
	handed  []port.Delivery // as they came
	direct  any             // or what it was asked for without a queue
	about   string          // the order of that
	sights  []*sight
	clock   []reading             // of its process
	anew    bool                  // something was loaded since the last reading
	depths  map[string]port.Depth // of queues, as it saw them
	agency  agency                // of an agent
	shards  map[string]bool       // whose sweep is ours, and whose is not
	gone    []bool                // of its messages: it lets go of them
	broken  bool                  // a call has failed in another way
	trouble bool                  // a call has failed
	driven                        // of an exploration
}

// invoke starts a handler in a process.
func (w *simulation) invoke(p *process, what string, body func(*invocation)) {
	w.invocations++
	iv := &invocation{w: w, p: p, what: what, id: w.invocations}
	iv.routine = hire(iv, body)
	p.running = append(p.running, iv)
	w.resume(iv)
}

// resume lets a handler go on until it waits or ends.
func (w *simulation) resume(iv *invocation) {
	before := w.cur
	w.cur, iv.parked = iv, false
	until, more := iv.routine.resume()
	w.cur = before
	if more {
		iv.parked = true
		if iv.until = until; w.driver == nil {
			w.heap.push(event{at: until, iv: iv})
		}
		return
	}
	iv.p.ended(iv)
}

// pause lets virtual time pass. Where nothing else happens meanwhile there is no need to switch.
func (iv *invocation) pause(d int64) {
	if iv.dead || d <= 0 {
		return
	}
	until := iv.w.now + d
	if iv.w.driver == nil && iv.w.heap.none(until) {
		iv.w.now = until
		return
	}
	if !iv.yield(until) {
		iv.dead = true
	}
}

// bury ends the coroutines of the dead: their ports answer errCut, so that they run to their end.
func (w *simulation) bury() {
	for len(w.corpses) > 0 {
		iv := w.corpses[0]
		w.corpses = w.corpses[1:]
		w.cur = iv
		if _, more := iv.routine.resume(); more {
			panic("simulate: a dead handler waits")
		}
		w.cur = nil
	}
}

// delays are what a call of a port can take beyond the usual millisecond.
var delays = [...]int64{0, 1, 3, 10, 40, 150, 700, 3000}

// io is one call of a port. apply takes effect; what it answers is what the handler sees, unless
// something goes wrong.
func (iv *invocation) io(c call, subject string, apply func(Fault) error) error {
	w := iv.w
	if iv.dead {
		return errCut
	}
	if w.driver != nil && !w.driver.turn(iv, c, subject) {
		return errCut
	}
	a := w.inject(iv.p.role, c, subject)
	iv.pause(w.latency(c, subject))
	if !a.after {
		if err, cut := iv.suffer(a.fault, subject); cut {
			return err
		}
	}
	if iv.dead {
		return errCut
	}
	w.note(c, subject, iv.p, a.fault)
	err := apply(a.fault)
	iv.failed(c, err)
	if w.driver != nil {
		w.driver.answered(iv, c, subject, a.fault, err)
	}
	w.check()
	if a.after {
		if e, cut := iv.suffer(a.fault, subject); cut {
			return e
		}
	}
	iv.pause(w.latency(c, subject))
	if iv.dead {
		return errCut
	}
	return err
}

// failed notes what went wrong with a call. That something is there already, or is not, is an answer.
func (iv *invocation) failed(c call, err error) {
	switch {
	case err == nil, errors.Is(err, port.ErrExists), errors.Is(err, port.ErrNotFound) && c != callCommit:
	case errors.Is(err, port.ErrTooLarge) && c == callCommit:
		iv.trouble = true
	default:
		iv.trouble, iv.broken = true, true
	}
}

// suffer carries out the faults that are the same at every call; cut says that the call is over.
//
//nolint:revive // the error is the call's answer
func (iv *invocation) suffer(f Fault, subject string) (err error, cut bool) {
	w := iv.w
	switch f {
	case CrashBefore, CrashAfter:
		w.trace(iv.p.name, "", "dies ("+f.String()+")")
		iv.p.kill()
		return errCut, true
	case TimeoutAfter:
		w.trace(iv.p.name, "", "its time is over, the effect is there")
		iv.dead = true
		return errCut, true
	case Zombie:
		w.trace(iv.p.name, "", "hangs past the visibility timeout")
		iv.pause(visibility + w.spread("zombie", subject, 20_000))
	case Frozen:
		w.trace(iv.p.name, "", "is frozen")
		iv.pause(60_000 * (1 + w.spread("frozen", subject, 20)))
	}
	return errCut, iv.dead
}
