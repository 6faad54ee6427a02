package deployment

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// invoke starts a handler in a process.
func invoke(w *world.Simulation, p *world.Process, body func(*world.Invocation)) {
	iv := &world.Invocation{W: w, P: p}
	iv.Routine = world.Hire(iv, body)
	p.Running = append(p.Running, iv)
	resume(w, iv)
}

// resume continues a handler until it pauses or ends.
func resume(w *world.Simulation, iv *world.Invocation) {
	before := w.Cur
	w.Cur = iv
	iv.Parked = false
	until, more := iv.Routine.Resume()
	w.Cur = before
	if more {
		iv.Parked = true
		w.Agenda.Push(world.Event{At: until, Iv: iv})
		return
	}
	ended(iv.P, iv)
}

// pauseFor lets a handler pause for d milliseconds of virtual time. If no other event happens in this time,
// pauseFor advances the time without a switch to another coroutine.
func pauseFor(iv *world.Invocation, d int64) {
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
func bury(w *world.Simulation) {
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

// portCall executes one port call of a handler. The function apply performs the effect of the call. The
// handler gets the result of apply unless a fault changes it.
func portCall(iv *world.Invocation, c world.Call, subject string, apply func(world.Fault) error) error {
	w := iv.W
	if iv.Dead {
		return world.ErrCut
	}
	a := inject(w, iv.P.Role, c, subject)
	pauseFor(iv, latency(w, c, subject))
	if !a.After {
		if err, cut := suffer(iv, a.Fault, subject); cut {
			return err
		}
	}
	if iv.Dead {
		return world.ErrCut
	}
	note(w, c, subject, iv.P, a)
	err := port.ErrUnavailable
	if a.Fault != world.Throttle || c == world.CallLoad { // Load handles a throttle itself
		err = apply(a.Fault)
	}
	if a.Fault == world.SendAnswerLost && err == nil {
		err = errAnswer
	}
	check.Check(w)
	if a.After {
		if e, cut := suffer(iv, a.Fault, subject); cut {
			return e
		}
	}
	pauseFor(iv, latency(w, c, subject))
	if iv.Dead {
		return world.ErrCut
	}
	return err
}

// suffer executes the faults that act in the same way at every port call. If cut is true, the call ends and
// returns err.
//
// nolint:revive // the error is the result of the call
func suffer(iv *world.Invocation, f world.Fault, subject string) (err error, cut bool) {
	w := iv.W
	switch f {
	case world.CrashBefore, world.CrashAfter:
		w.Trace(iv.P.Name, "", "dies ("+string(f)+")")
		kill(iv.P)
		return world.ErrCut, true
	case world.TimeoutAfter:
		w.Trace(iv.P.Name, "", "its time is over, the effect is there")
		iv.Dead = true
		return world.ErrCut, true
	case world.Zombie:
		w.Trace(iv.P.Name, "", "hangs past the visibility timeout")
		pauseFor(iv, world.Visibility+w.Spread("zombie", subject, 20_000))
	case world.Frozen:
		w.Trace(iv.P.Name, "", "is frozen")
		pauseFor(iv, 60_000*(1+w.Spread("frozen", subject, 20)))
	}
	return world.ErrCut, iv.Dead
}

// ended removes a finished handler from its process.
func ended(p *world.Process, iv *world.Invocation) {
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
func kill(p *world.Process) {
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
func inject(w *world.Simulation, r world.Role, c world.Call, subject string) world.Act {
	if w.Quiescing {
		return world.Act{}
	}
	acts := world.Calls[c].Acts
	v := w.Choose(world.Sites[r][c], subject, len(acts)+1, min(0.5, w.Rate*world.Calls[c].Often))
	if v == 0 {
		return world.Act{}
	}
	a := acts[v-1]
	last := &w.Choices[len(w.Choices)-1]
	if !w.Enabled[a.Fault] || w.Impossible(r, c, subject, a) {
		w.Choices = w.Choices[:len(w.Choices)-1]
		return world.Act{}
	}
	last.What = a.String()
	w.Faults[a.Fault]++
	w.Cells[world.Cell(r, c, a)]++
	return a
}

// latency returns the delay before or after the effect of a port call, in milliseconds.
func latency(w *world.Simulation, c world.Call, subject string) int64 {
	if w.Quiescing {
		return 1
	}
	return 1 + delays[w.Choose("latency", subject, len(delays), 0.15)]
}

// note adds a port call to the hash of the run.
func note(w *world.Simulation, c world.Call, subject string, p *world.Process, a world.Act) {
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
