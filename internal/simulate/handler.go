package simulate

import (
	"errors"
	"iter"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Coroutine runs one handler after another. A new coroutine for each handler would be slow, because the stack
// of each new coroutine has to grow first.
type Coroutine struct {
	next func() (int64, bool)
	stop func()
	iv   *Invocation // running handler; nil if idle
	body func(*Invocation)
}

// handlerEnded is the value that a coroutine yields after its handler has ended. It is never a valid time.
const handlerEnded = -1

// idle holds coroutines without a handler, for all simulations. It is small, so few remain after the last simulation.
var idle = make(chan *Coroutine, 256)

// hire returns a coroutine that will run the handler.
func hire(iv *Invocation, body func(*Invocation)) *Coroutine {
	var c *Coroutine
	select {
	case c = <-idle:
	default:
		c = &Coroutine{}
		c.next, c.stop = iter.Pull(c.work)
	}
	c.iv = iv
	c.body = body
	return c
}

func (c *Coroutine) work(yield func(int64) bool) {
	for more := true; more; more = yield(handlerEnded) {
		c.iv.Yield = yield
		c.body(c.iv)
		c.iv = nil
		c.body = nil
	}
}

// Resume runs the handler until it pauses or ends. The result until is the end of the pause. The result more
// is false if the handler has ended.
func (c *Coroutine) Resume() (until int64, more bool) {
	until, _ = c.next()
	if until != handlerEnded {
		return until, true
	}
	select {
	case idle <- c:
	default:
		c.stop()
	}
	return 0, false
}

// agency records what an agent does with one request. The checks compare the record with these rules:
//   - P3, a reply names request and sender
//   - P6, two times in each request
//   - P24, an undo needs no output
//   - P25, agents are silent after stopBy
//   - P28, what is too large fails once
type agency struct {
	Req      *message.Request // nil if the request is unreadable
	Received core.Time        // time of receipt on the agent's clock
	Called   bool
	Checked  bool // true if the agent has checked the service
	Happened bool // true if the check reported that the operation happened
	Unsent   bool // true if the send of a reply or a quarantined message returned an error
}

// Stop returns the time on the agent's clock from which the agent must not call or reply (P25).
func (a *agency) Stop() core.Time { return a.Req.StopBy.Add(-a.Req.ClockSkew) }

// ErrCut is the error of every port call of a dead handler. A dead handler has no further effect.
var ErrCut = errors.New("the process is dead")

// Invocation is one call of an actor's handler. The handler runs in a coroutine.
type Invocation struct {
	W       *Simulation
	P       *Process
	Dead    bool
	Parked  bool
	Yield   func(int64) bool
	Routine *Coroutine
	Letters []*Letter       // messages that the handler processes
	Direct  any             // message or command of a call without a queue; nil if Letters is set
	About   string          // ID of the order that Direct names
	TooBig  map[string]bool // orders of which a queue has refused a request, because of its size
	Agency  agency          // record of what an agent does
}

// invoke starts a handler in a process.
func invoke(w *Simulation, p *Process, body func(*Invocation)) {
	iv := &Invocation{W: w, P: p}
	iv.Routine = hire(iv, body)
	p.Running = append(p.Running, iv)
	resume(w, iv)
}

// resume continues a handler until it pauses or ends.
func resume(w *Simulation, iv *Invocation) {
	before := w.Cur
	w.Cur = iv
	iv.Parked = false
	until, more := iv.Routine.Resume()
	w.Cur = before
	if more {
		iv.Parked = true
		w.Agenda.Push(Event{At: until, Do: func() {
			if !iv.Dead {
				resume(w, iv)
			}
		}})
		return
	}
	ended(iv.P, iv)
}

// pauseFor lets a handler pause for d milliseconds of virtual time. If no other event happens in this time,
// pauseFor advances the time without a switch to another coroutine.
func pauseFor(iv *Invocation, d int64) {
	if iv.Dead || d <= 0 {
		return
	}
	until := iv.W.Now + d
	if iv.W.Agenda.None(until) {
		iv.W.Now = until
		return
	}
	if !iv.Yield(until) {
		iv.Dead = true
	}
}

// bury ends the coroutines of dead handlers. Each port call of a dead handler returns ErrCut, so the handler
// returns.
func bury(w *Simulation) {
	for len(w.Corpses) > 0 {
		iv := w.Corpses[0]
		w.Corpses = w.Corpses[1:]
		w.Cur = iv
		if _, more := iv.Routine.Resume(); more {
			panic("simulate: a dead handler waits")
		}
		w.Cur = nil
	}
}

// delays lists the possible additional delays before and after the effect of a port call, in milliseconds.
var delays = [...]int64{0, 1, 3, 10, 40, 150, 700, 3000}

// called is portCall for a call with a result.
func called[T any](p *Process, c Call, subject string, apply func(Fault) (T, error)) (result T, err error) {
	err = portCall(p, c, subject, func(f Fault) (err error) {
		result, err = apply(f)
		return err
	})
	return result, err
}

// portCall executes one port call of the running handler of a process. The function apply performs the effect of the
// call. The handler gets the result of apply unless a fault changes it.
func portCall(p *Process, c Call, subject string, apply func(Fault) error) error {
	w := p.W
	iv := w.Cur
	if iv.Dead {
		return ErrCut
	}
	a := inject(w, iv.P.Role, c, subject)
	pauseFor(iv, latency(w, subject))
	if !a.After {
		if err, cut := suffer(iv, a.Fault, subject); cut {
			return err
		}
	}
	if iv.Dead {
		return ErrCut
	}
	note(w, c, subject, iv.P, a)
	err := port.ErrUnavailable
	if a.Fault != Throttle || c == CallLoad { // Load handles a throttle itself
		err = apply(a.Fault)
	}
	if a.Fault == SendAnswerLost && err == nil {
		err = errAnswer
	}
	check(w)
	if a.After {
		if e, cut := suffer(iv, a.Fault, subject); cut {
			return e
		}
	}
	pauseFor(iv, latency(w, subject))
	if iv.Dead {
		return ErrCut
	}
	return err
}

// suffer executes the faults that act in the same way at every port call. If cut is true, the call ends and
// returns err.
//
// nolint:revive // the error is the result of the call
func suffer(iv *Invocation, f Fault, subject string) (err error, cut bool) {
	w := iv.W
	switch f {
	case CrashBefore, CrashAfter:
		w.Trace(iv.P.Name, "", "dies ("+string(f)+")")
		kill(iv.P)
		return ErrCut, true
	case TimeoutAfter:
		w.Trace(iv.P.Name, "", "its time is over, the effect is there")
		iv.Dead = true
		return ErrCut, true
	case Zombie:
		w.Trace(iv.P.Name, "", "hangs past the visibility timeout")
		pauseFor(iv, Visibility+w.Spread("zombie", subject, 20_000))
	case Frozen:
		w.Trace(iv.P.Name, "", "is frozen")
		pauseFor(iv, 60_000*(1+w.Spread("frozen", subject, 20)))
	}
	return ErrCut, iv.Dead
}

// ended removes a finished handler from its process.
func ended(p *Process, iv *Invocation) {
	if i := slices.Index(p.Running, iv); i >= 0 {
		p.Running = slices.Delete(p.Running, i, i+1)
	}
	switch {
	case p.Waits == nil:
	case iv.Dead:
		p.Waits.Set(p.Known) // removes the waits that the handler recorded after its death
	default:
		p.Known = p.Waits.All()
	}
}

// kill ends a process and all its handlers. The process starts again later.
func kill(p *Process) {
	if !p.Up {
		return
	}
	p.Up = false
	for _, iv := range p.Running {
		iv.Dead = true
		if iv.Parked {
			p.W.Corpses = append(p.W.Corpses, iv)
		}
	}
	p.Running = nil
	if p.W.Embedded {
		blackout(p.W, p)
	}
	p.W.After(1000*(1+p.W.Spread("restart", p.Name, 30)), func() { boot(p) })
}

// inject chooses the fault of a call. The usual choice is NoFault.
func inject(w *Simulation, r Role, c Call, subject string) Act {
	if w.Quiescing {
		return Act{}
	}
	acts := Calls[c].Acts
	v := w.Choose(Sites[r][c], subject, len(acts)+1, min(0.5, w.Rate*Calls[c].Often))
	if v == 0 {
		return Act{}
	}
	a := acts[v-1]
	last := &w.Choices[len(w.Choices)-1]
	if !w.Enabled[a.Fault] || w.Impossible(r, c, subject, a) {
		w.Choices = w.Choices[:len(w.Choices)-1]
		return Act{}
	}
	last.What = a.String()
	w.Faults[a.Fault]++
	w.Cells[cell(r, c, a)]++
	return a
}

// latency returns the delay before or after the effect of a port call, in milliseconds.
func latency(w *Simulation, subject string) int64 {
	if w.Quiescing {
		return 1
	}
	return 1 + delays[w.Choose("latency", subject, len(delays), 0.15)]
}

// note adds a port call to the hash of the run.
func note(w *Simulation, c Call, subject string, p *Process, a Act) {
	const prime = 1099511628211
	h := (w.Hash ^ uint64(w.Now)) * prime //nolint:gosec // a hash
	h = (h ^ uint64(c)) * prime
	for _, text := range []string{string(a.Fault), subject, p.Name} {
		for i := 0; i < len(text); i++ {
			h = (h ^ uint64(text[i])) * prime
		}
	}
	w.Hash = h
}
