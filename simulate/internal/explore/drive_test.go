package explore

import (
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// newDriver sets a world up that does nothing by itself.
func newDriver(w *world.Simulation, s *Scope) *Driver {
	d := &Driver{W: w, Scope: s, Since: -1}
	w.Driver = d
	deployment.SetUp(w)
	for _, p := range w.Procs {
		if slices.Contains(s.Down, p.Name) {
			p.Up = false
			d.Since = 0
		}
	}
	d.Marks = make([]int, len(w.Names))
	return d
}

// enabled lists all that can happen next, but for what makes no difference to do later. The list is
// good until the next call.
func enabled(d *Driver) []Action {
	d.Acts = d.Acts[:0]
	if alone(d) {
		return d.Acts
	}
	handlers(d)
	messages(d)
	actors(d)
	// What goes wrong, what ends it and what people do can wait; everything else happens before time passes.
	quiet := !slices.ContainsFunc(d.Acts,
		func(a Action) bool { return !a.Costs() && !a.Lazy() && a.Kind != Orders })
	if quiet && len(d.W.Queues[port.Intake].Messages) == 0 {
		for i, o := range d.W.AllOrders {
			if !o.Acked && !o.Refused && o.Seen.Submitted { // it has received nothing for a long time
				can(d, Submits, 0, i)
				quiet = false
			}
		}
	}
	waits := still(d)
	if t := next(d); t >= 0 && (!waits || t <= d.Since+standstill(d)) {
		if quiet {
			can(d, Passes, 0, 0)
		}
	}
	return d.Acts
}

// alone looks for a handler that goes on by itself: what it does next changes nothing of what any other
// handler could do now, nor that by what any other does, or the others could have done it before it began.
// Where there is one it goes first; what can go wrong with it, and with the messages of the last action, is
// all that has to be looked at here. See driver.apart for the argument.
func alone(d *Driver) bool {
	if d.Scope.Entangled {
		return false
	}
	for n, p := range d.W.Procs {
		for _, iv := range p.Running {
			if on(iv).Frozen || on(iv).Turn == nil || !apart(d, iv) {
				continue
			}
			steps(d, n, p, iv)
			for n := range d.W.Names {
				fresh(d, n)
			}
			return true
		}
	}
	return false
}

// apart reports whether the next call of a handler need not be interleaved with the actions of others.
//
// Handlers are taken as blocks of calls (Lipton's reduction). To take a message, to begin a sweep and to go
// on after standing still are right movers: they touch nothing that any other handler reads, so that they may
// as well come just before the first call. An order never changes, a message that is sent can be brought at
// any later time, one that is deleted was in hand: such calls may as well come just after the call before.
//
// What is left are the calls to the state store, and those of an agent to its service and its ledger. Each
// touches one order, or one key. While no other handler at work touches the same, and no message that could
// be brought now leads to a handler that does, the handler goes on by itself. A handler that comes later
// comes of an action that does not depend on this one, which has stored and sent nothing yet: so that action
// can as well come before this handler begins, and there the two are interleaved, call by call. A handler
// that has stored or sent something may have led to that action itself; then no other may be left that could
// act on it.
func apart(d *Driver, iv *world.Invocation) bool {
	t := on(iv).Turn
	if on(iv).Made == 0 || iv.Id == d.Thawed {
		return true
	}
	switch t.Call {
	case world.CallOrder, world.CallDelete, world.CallExtend, world.CallAlert:
		return true
	case world.CallSend, world.CallDepth:
		// A Supervisor may count what waits there (P32).
		return d.W.Capacity > 1 && !strings.HasPrefix(t.Subject, port.Requests(""))
	case world.CallEntry, world.CallMove, world.CallDo, world.CallUndo:
		return !shared(d, iv)
	case world.CallLoad, world.CallCommit, world.CallDue, world.CallLease:
		return !contended(d, iv)
	}
	return false
}

// shared reports whether another handler touches the key of this agent's handler, or is about to.
func shared(d *Driver, iv *world.Invocation) bool {
	w := d.W
	key := iv.Agency.Req.Key
	for _, p := range w.Procs {
		if p.Role != world.AnAgent || p.Agent != iv.P.Agent {
			continue
		}
		for _, other := range p.Running {
			if other != iv && other.Agency.Req != nil && other.Agency.Req.Key == key {
				return true
			}
		}
	}
	for _, l := range w.Queues[port.Requests(iv.P.Agent)].Messages {
		if r, ok := l.Message.Value.(*message.Request); ok && r.Key == key && there(d, l) {
			return true
		}
	}
	return slices.ContainsFunc(d.Landings,
		func(l Landing) bool { return strings.HasSuffix(l.What, " "+key) })
}

// there reports whether the message can be delivered without time passing.
func there(d *Driver, l *world.Letter) bool { return l.Late || l.Visible <= d.W.Now }

// contended reports whether another handler works on the orders of this one, or could begin to.
func contended(d *Driver, iv *world.Invocation) bool {
	w := d.W
	if sweeper(d) >= 0 || on(iv).Wrote && d.Done < len(d.Scope.People) {
		return true
	}
	about := func(l *world.Letter) bool {
		return iv.P.Role == world.ASupervisor ||
			slices.ContainsFunc(on(iv).Mine, func(own *world.Letter) bool {
				return world.AboutOrder(own.Message) == world.AboutOrder(l.Message)
			})
	}
	for _, p := range w.Procs {
		if p.Role == world.AnAgent && !on(iv).Wrote {
			continue
		}
		for _, other := range p.Running {
			if other != iv && (other.P.Role == world.ASupervisor ||
				slices.ContainsFunc(on(other).Mine, about)) {
				return true
			}
		}
	}
	for _, name := range w.Names {
		q := w.Queues[name]
		if slices.ContainsFunc(w.Agents, func(a string) bool {
			return name == port.Requests(a)
		}) && !on(iv).Wrote || idle(d, q.Consumers) == nil {
			continue
		}
		if slices.ContainsFunc(q.Messages, func(l *world.Letter) bool { return there(d, l) && about(l) }) {
			return true
		}
	}
	return false
}

// label names an action that goes wrong, by what it happens to.
func label(d *Driver, state uint64, a Action) uint64 {
	h := Digest(state)
	h.Number(int64(a.Kind))
	h.Number(int64(a.Nth))
	switch w := d.W; a.Kind {
	case Dies:
		h = Digest(state)
		h.Number(int64(a.Kind))
		h.Number(int64(process(d, w.Procs[a.Nth], w.Start+w.Now))) //nolint:gosec // a hash
	case Wrong, Freezes:
		h.Number(int64(handler(d, handlerOf(w, a.Id)))) //nolint:gosec // a hash
	default:
		q := w.Queues[w.Names[a.Nth]]
		i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
		h.Number(int64(letter(d, q.Messages[i]))) //nolint:gosec // a hash
	}
	return uint64(h)
}

func can(d *Driver, k Kind, nth, id int) {
	d.Acts = append(d.Acts, Action{Kind: k, Nth: uint8(nth), Id: int32(id)}) //nolint:gosec // small
}

// handlers adds the actions of the handlers. Each one makes its call, or the call goes wrong, or the handler
// dies before it (which is after the previous call), or it stands still.
func handlers(d *Driver) {
	w := d.W
	for n, p := range w.Procs {
		if !p.Up {
			can(d, Boots, n, 0)
			continue
		}
		for _, iv := range p.Running {
			switch {
			case on(iv).Frozen:
				can(d, Thaws, 0, iv.Id)
			case on(iv).Turn != nil:
				steps(d, n, p, iv)
			case iv.Until <= w.Now:
				can(d, GoOn, 0, iv.Id)
			}
		}
	}
	for i := range d.Landings {
		can(d, Lands, 0, i)
	}
}

// steps adds the possible actions of a handler that is about to make a call.
func steps(d *Driver, n int, p *world.Process, iv *world.Invocation) {
	can(d, GoOn, 0, iv.Id)
	if iv.Id == d.MoveTask { // later is the same
		can(d, Dies, n, 0)
		can(d, Freezes, 0, iv.Id)
	}
	t := on(iv).Turn
	for i, a := range world.ActsAt[t.Call] {
		if !slices.Contains(world.Compute, a) && !d.W.Impossible(p.Role, t.Call, a) {
			can(d, Wrong, i, iv.Id)
		}
	}
}

// fresh adds the faults of the messages of the last action; later they would be the same.
func fresh(d *Driver, n int) {
	for _, l := range d.W.Queues[d.W.Names[n]].Messages {
		if l.Id > d.Marks[n] && !l.Late {
			can(d, ComesLate, n, l.Id)
			can(d, Loses, n, l.Id)
			if !l.Copied {
				can(d, Copies, n, l.Id)
			}
		}
	}
}

// messages adds the delivery of each visible message, whatever its position, in a batch with others or alone.
func messages(d *Driver) {
	w := d.W
	for n, name := range w.Names {
		q := w.Queues[name]
		idle := idle(d, q.Consumers) != nil
		fresh(d, n)
		ready := 0
		late := 0
		for _, l := range q.Messages {
			switch {
			case l.Late && idle:
				can(d, Releases, n, l.Id)
				late++
			case l.Visible <= w.Now && !l.Late:
				ready++
				if idle {
					can(d, Bring, n, l.Id)
				}
			}
		}
		if q.Batch == 1 || !idle {
			continue
		}
		if ready > 1 {
			can(d, BringAll, n, 0)
			can(d, BringAll, n, 1)
		}
		if late > 0 && ready+late > 1 {
			can(d, Releases, n, 0)
			can(d, Releases, n, -1)
		}
	}
}

// actors adds the sweeps of the Supervisor that find something, the submissions, and the people's commands.
func actors(d *Driver) {
	w := d.W
	if n := sweeper(d); n >= 0 {
		can(d, Sweeps, n, 0)
	}
	for i, o := range w.AllOrders {
		if !o.Seen.Submitted && o.Submit.OrderID != "" { // no application submits a child
			can(d, Submits, 0, i)
		}
	}
	if d.Done < len(d.Scope.People) && sensible(d, d.Scope.People[d.Done]) {
		can(d, Orders, 0, 0)
	}
}

// sweeper returns the position of a Supervisor that would find something to do in the index, or -1.
func sweeper(d *Driver) int {
	w := d.W
	if first, any := deployment.Earliest(w.Store); !any || first.UnixMilli()-w.Start > w.Now ||
		d.Looked == looking(d) {
		return -1
	}
	return slices.IndexFunc(w.Procs, func(p *world.Process) bool {
		return p.Role == world.ASupervisor && p.Up && len(p.Running) == 0 && mayHold(w, p)
	})
}

// sensible reports whether a command is worth trying now. A command that would be refused in any case is not
// tried at every moment.
func sensible(d *Driver, k message.ControlKind) bool {
	if k == message.Cancel || k == message.Answer {
		return true
	}
	t := d.W.Store.Task(d.W.AllOrders[0].Id)
	switch {
	case t == nil:
		return false
	case k == message.Resolve:
		_, fact := deployment.Fact(d.W, t)
		return fact != ""
	}
	return t.ProcessState == core.Error || t.ProcessState == core.Compensated
}

func looking(d *Driver) Look {
	l := Look{At: d.W.Now}
	for _, id := range d.W.Store.Ids {
		if r := d.W.Store.Rows[id].Record; r != nil {
			l.Versions += r.Version
		}
	}
	return l
}

// mayHold reports that a Supervisor would get the lease.
func mayHold(w *world.Simulation, p *world.Process) bool {
	for _, l := range w.Leases {
		if l.Owner != p.Name && p.Now().Before(l.Until) {
			return false
		}
	}
	return true
}

// idle is a consumer that is there and has nothing to do. Of several it is one that does not depend on
// their names, which are no part of a state.
func idle(d *Driver, consumers []*world.Process) (found *world.Process) {
	least := Digest(0)
	for _, p := range consumers {
		if !p.Up || len(p.Running) > 0 {
			continue
		}
		if k := knows(d, p); found == nil || k < least {
			found = p
			least = k
		}
	}
	return found
}
