package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// newDriver sets a world up that does nothing by itself.
func newDriver(w *world.Simulation, s *world.Scope) *world.Driver {
	w.Driver = &world.Driver{W: w, Scope: s, Since: -1}
	deployment.SetUp(w)
	for _, p := range w.Procs {
		if slices.Contains(s.Down, p.Name) {
			p.Up, w.Driver.Since = false, 0
		}
	}
	w.Driver.Marks = make([]int, len(w.Names))
	return w.Driver
}

// enabled lists all that can happen next, but for what makes no difference to do later. The list is
// good until the next call.
func enabled(d *world.Driver) []world.Action {
	d.Acts = d.Acts[:0]
	if alone(d) {
		return d.Acts
	}
	handlers(d)
	messages(d)
	actors(d)
	// What goes wrong, what ends it and what people do can wait; everything else happens before time passes.
	quiet := !slices.ContainsFunc(d.Acts,
		func(a world.Action) bool { return !a.Costs() && !a.Lazy() && a.Kind != world.Orders })
	if quiet && len(d.W.Queues[port.Intake].Messages) == 0 {
		for i, o := range d.W.AllOrders {
			if !o.Acked && !o.Refused && o.Seen.Submitted { // it has received nothing for a long time
				can(d, world.Submits, 0, i)
				quiet = false
			}
		}
	}
	waits := still(d)
	if t := next(d); t >= 0 && (!waits || t <= d.Since+standstill(d)) {
		if quiet {
			can(d, world.Passes, 0, 0)
		}
	}
	return d.Acts
}

// alone looks for a handler that goes on by itself: what it does next changes nothing of what any other
// handler could do now, nor that by what any other does, or the others could have done it before it began.
// Where there is one it goes first; what can go wrong with it, and with the messages of the last action, is
// all that has to be looked at here. See driver.apart for the argument.
func alone(d *world.Driver) bool {
	if d.Scope.Entangled {
		return false
	}
	for n, p := range d.W.Procs {
		for _, iv := range p.Running {
			if iv.Frozen || iv.Driven.Turn == nil || !apart(d, iv) {
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

// apart: the next call of a handler need not be interleaved with what others do.
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
func apart(d *world.Driver, iv *world.Invocation) bool {
	t := iv.Driven.Turn
	if iv.Made == 0 || iv.Id == d.Thawed {
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

// shared: another handler touches the key of this agent's handler, or is about to.
func shared(d *world.Driver, iv *world.Invocation) bool {
	w, key := d.W, iv.Agency.Req.Key
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
		func(l world.Landing) bool { return strings.HasSuffix(l.What, " "+key) })
}

// there: the message can be brought without time passing.
func there(d *world.Driver, l *world.Letter) bool { return l.Late || l.Visible <= d.W.Now }

// contended: another handler is at work on the orders of this one, or could begin to be.
func contended(d *world.Driver, iv *world.Invocation) bool {
	w := d.W
	if sweeper(d) >= 0 || iv.Wrote && d.Done < len(d.Scope.People) {
		return true
	}
	about := func(l *world.Letter) bool {
		return iv.P.Role == world.ASupervisor || slices.ContainsFunc(iv.Mine, func(own *world.Letter) bool {
			return world.AboutOrder(own.Message) == world.AboutOrder(l.Message)
		})
	}
	for _, p := range w.Procs {
		if p.Role == world.AnAgent && !iv.Wrote {
			continue
		}
		for _, other := range p.Running {
			if other != iv && (other.P.Role == world.ASupervisor || slices.ContainsFunc(other.Mine, about)) {
				return true
			}
		}
	}
	for _, name := range w.Names {
		q := w.Queues[name]
		if slices.ContainsFunc(w.Agents, func(a string) bool {
			return name == port.Requests(a)
		}) && !iv.Wrote || idle(d, q.Consumers) == nil {
			continue
		}
		if slices.ContainsFunc(q.Messages, func(l *world.Letter) bool { return there(d, l) && about(l) }) {
			return true
		}
	}
	return false
}

// label names an action that goes wrong, by what it happens to.
func label(d *world.Driver, state uint64, a world.Action) uint64 {
	h := world.Digest(state)
	h.Number(int64(a.Kind))
	h.Number(int64(a.Nth))
	switch w := d.W; a.Kind {
	case world.Dies:
		h = world.Digest(state)
		h.Number(int64(a.Kind))
		h.Number(int64(process(d, w.Procs[a.Nth], w.Start+w.Now))) //nolint:gosec // a hash
	case world.Wrong, world.Freezes:
		h.Number(int64(handler(d, handlerOf(w, a.Id)))) //nolint:gosec // a hash
	default:
		q := w.Queues[w.Names[a.Nth]]
		i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
		h.Number(int64(letter(d, q.Messages[i]))) //nolint:gosec // a hash
	}
	return uint64(h)
}

func can(d *world.Driver, k world.Kind, nth, id int) {
	d.Acts = append(d.Acts, world.Action{Kind: k, Nth: uint8(nth), Id: int32(id)}) //nolint:gosec // small
}

// handlers: each one makes its call, or it goes wrong, or it dies before it, which is after the one
// before; or it stands still.
func handlers(d *world.Driver) {
	w := d.W
	for n, p := range w.Procs {
		if !p.Up {
			can(d, world.Boots, n, 0)
			continue
		}
		for _, iv := range p.Running {
			switch {
			case iv.Frozen:
				can(d, world.Thaws, 0, iv.Id)
			case iv.Driven.Turn != nil:
				steps(d, n, p, iv)
			case iv.Until <= w.Now:
				can(d, world.GoOn, 0, iv.Id)
			}
		}
	}
	for i := range d.Landings {
		can(d, world.Lands, 0, i)
	}
}

// steps are what a handler can do that is about to make a call.
func steps(d *world.Driver, n int, p *world.Process, iv *world.Invocation) {
	can(d, world.GoOn, 0, iv.Id)
	if iv.Id == d.MoveTask { // later is the same
		can(d, world.Dies, n, 0)
		can(d, world.Freezes, 0, iv.Id)
	}
	t := iv.Driven.Turn
	for i, a := range world.ActsAt[t.Call] {
		if _, everywhere := world.Find(world.Compute, a); !everywhere && d.W.Possible(p.Role, t.Call, a) {
			can(d, world.Wrong, i, iv.Id)
		}
	}
}

// fresh is what can go wrong with the messages of the last action; later it is the same.
func fresh(d *world.Driver, n int) {
	for _, l := range d.W.Queues[d.W.Names[n]].Messages {
		if l.Id > d.Marks[n] && !l.Late {
			can(d, world.ComesLate, n, l.Id)
			can(d, world.Loses, n, l.Id)
			if !l.Copied {
				can(d, world.Copies, n, l.Id)
			}
		}
	}
}

// messages: each one that is visible is brought, whatever its place; with others as a batch or alone.
func messages(d *world.Driver) {
	w := d.W
	for n, name := range w.Names {
		q := w.Queues[name]
		idle := idle(d, q.Consumers) != nil
		fresh(d, n)
		ready, late := 0, 0
		for _, l := range q.Messages {
			switch {
			case l.Late && idle:
				can(d, world.Releases, n, l.Id)
				late++
			case l.Visible <= w.Now && !l.Late:
				ready++
				if idle {
					can(d, world.Bring, n, l.Id)
				}
			}
		}
		if q.Batch == 1 || !idle {
			continue
		}
		if ready > 1 {
			can(d, world.BringAll, n, 0)
			can(d, world.BringAll, n, 1)
		}
		if late > 0 && ready+late > 1 {
			can(d, world.Releases, n, 0)
			can(d, world.Releases, n, -1)
		}
	}
}

// actors: a Supervisor sweeps where there is anything to find; people do what they have to do.
func actors(d *world.Driver) {
	w := d.W
	if n := sweeper(d); n >= 0 {
		can(d, world.Sweeps, n, 0)
	}
	for i, o := range w.AllOrders {
		if !o.Seen.Submitted {
			can(d, world.Submits, 0, i)
		}
	}
	if d.Done < len(d.Scope.People) && sensible(d, d.Scope.People[d.Done]) {
		can(d, world.Orders, 0, 0)
	}
}

// sweeper is a Supervisor that would find something to do in the index; -1: there is none.
func sweeper(d *world.Driver) int {
	w := d.W
	if first, any := deployment.Earliest(w.Store); !any || first.UnixMilli()-w.Start > w.Now ||
		d.Looked == looking(d) {
		return -1
	}
	return slices.IndexFunc(w.Procs, func(p *world.Process) bool {
		return p.Role == world.ASupervisor && p.Up && len(p.Running) == 0 && mayHold(w, p)
	})
}

// sensible: a command that would be refused whatever the course is not tried at every moment.
func sensible(d *world.Driver, k message.ControlKind) bool {
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

func looking(d *world.Driver) world.Look {
	l := world.Look{At: d.W.Now}
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
func idle(d *world.Driver, consumers []*world.Process) (found *world.Process) {
	least := world.Digest(0)
	for _, p := range consumers {
		if !p.Up || len(p.Running) > 0 {
			continue
		}
		if k := knows(d, p); found == nil || k < least {
			found, least = p, k
		}
	}
	return found
}

// next is the next time at which anything can be different; -1: none.
func next(d *world.Driver) int64 {
	w, next := d.W, int64(-1)
	at := func(t int64) {
		if t > w.Now && (next < 0 || t < next) {
			next = t
		}
	}
	for _, name := range w.Names {
		for _, l := range w.Queues[name].Messages {
			if !l.Late {
				at(l.Visible)
			}
		}
	}
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			if iv.Driven.Turn == nil && !iv.Frozen {
				at(iv.Until)
			}
		}
	}
	// which is refused before
	if d.Done < len(d.Scope.People) && (d.Scope.People[d.Done] == message.Resolve ||
		d.Scope.People[d.Done] == message.Close) {
		if t := w.Store.Task(w.AllOrders[0].Id); t != nil && t.ProcessState == core.Error {
			for i := range t.Steps {
				at(int64(t.Steps[i].LastStop()) - w.Start + 2*w.Skew() + 1)
			}
		}
	}
	if first, any := deployment.Earliest(w.Store); any {
		due := first.UnixMilli() - w.Start
		at(due)
		if due <= w.Now { // a Supervisor could not sweep, or has found nothing
			at(w.Now + world.Tick)
			for _, l := range w.Leases {
				at(l.Until.UnixMilli() - w.Start)
			}
		}
	}
	return next
}

// do carries out an action.
func do(d *world.Driver, a world.Action) {
	w := d.W
	if w.Tracing {
		say(d, a)
	}
	d.MoveTask, d.Thawed = 0, 0
	for n, name := range w.Names {
		d.Marks[n] = w.Queues[name].Next
	}
	switch a.Kind {
	case world.GoOn:
		deployment.Resume(w, handlerOf(w, a.Id))
	case world.Wrong:
		iv := handlerOf(w, a.Id)
		d.Call = iv.Driven.Turn.Call
		d.Chosen = world.ActsAt[d.Call][a.Nth]
		deployment.Resume(w, iv)
		d.Chosen = world.Act{}
	case world.Freezes:
		handlerOf(w, a.Id).Frozen = true
	case world.Thaws:
		handlerOf(w, a.Id).Frozen = false
		d.Thawed = int(a.Id)
	case world.Dies:
		deployment.Kill(w.Procs[a.Nth])
	case world.Boots:
		deployment.Boot(w.Procs[a.Nth])
	case world.Sweeps:
		d.Looked = looking(d)
		deployment.Equip(w.Procs[a.Nth])
		deployment.Invoke(w, w.Procs[a.Nth], "sweep",
			func(iv *world.Invocation) { _, _ = iv.P.Supervisor.Sweep(deployment.Ctx) })
	case world.Submits:
		o := w.AllOrders[a.Id]
		o.Seen.Submitted = true
		deployment.Submit(w, o)
	case world.Orders:
		command(d)
	case world.Passes:
		w.Now = next(d)
	case world.Lands:
		l := d.Landings[a.Id]
		d.Landings = slices.Delete(slices.Clone(d.Landings), int(a.Id), int(a.Id)+1)
		deployment.Lands(w, w.Services[l.Call.Key], l.Call)
	default:
		mail(d, a)
	}
	deployment.Bury(w)
	receive(d)
	check.Check(w)
	switch still := still(d); {
	case !still:
		d.Since = -1
	case d.Since < 0:
		d.Since = w.Now
	}
}

// standstill is for how long some work may be without a process that does it, in milliseconds: all that it
// could be too late for has happened by then. A process that comes late comes sooner, after a message that
// was taken is there again.
func standstill(d *world.Driver) int64 {
	if len(d.Scope.Down) > 0 {
		return world.Visibility + 5_000
	}
	return 4 * world.Visibility
}

// still: some work is not done, since all processes that could do it are down or stand still. That is
// bounded, for what waits for them could grow for ever. A message that is late, or a handler that stands
// still while others work, needs no bound: the others come to a rest.
func still(d *world.Driver) bool {
	for i, p := range d.W.Procs {
		if p.Role == world.AClient || slices.ContainsFunc(d.W.Procs[:i],
			func(o *world.Process) bool { return o.Role == p.Role && o.Agent == p.Agent }) {
			continue
		}
		if !slices.ContainsFunc(d.W.Procs,
			func(o *world.Process) bool {
				return o.Role == p.Role && o.Agent == p.Agent && o.Up && !frozen(o)
			}) {
			return true
		}
	}
	return false
}

func frozen(p *world.Process) bool {
	return slices.ContainsFunc(p.Running, func(iv *world.Invocation) bool { return iv.Frozen })
}

// mail is what happens to messages.
func mail(d *world.Driver, a world.Action) {
	q := d.W.Queues[d.W.Names[a.Nth]]
	i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
	switch a.Kind {
	case world.BringAll:
		batch(d, q, a.Id == 1)
	case world.Bring, world.Releases:
		if a.Id <= 0 {
			for _, l := range q.Messages {
				release(l, d.W.Now)
			}
			batch(d, q, a.Id < 0)
			return
		}
		l := q.Messages[i]
		if release(l, d.W.Now); deployment.Take(q, l) {
			deliver(d, q, []*world.Letter{l})
		}
	case world.Copies:
		q.Messages[i].Copied = true
		deployment.Put(q, q.Messages[i].Message, 0).Copied = true
	case world.ComesLate:
		q.Messages[i].Late = true
	case world.Loses:
		q.Messages = slices.Delete(q.Messages, i, i+1)
	}
}

// release: a message that was late is there.
func release(l *world.Letter, now int64) {
	if l.Late {
		l.Late, l.Visible = false, min(l.Visible, now)
	}
}

// batch brings all that is visible.
func batch(d *world.Driver, q *world.Queue, backwards bool) {
	var all []*world.Letter
	for _, l := range ordered(d, q, backwards) {
		if !l.Late && l.Visible <= d.W.Now && len(all) < q.Batch && deployment.Take(q, l) {
			all = append(all, l)
		}
	}
	if len(all) > 0 {
		deliver(d, q, all)
	}
}

// ordered lists the messages of a queue by what they are, and not by when they were sent: states that
// differ in that count as one. Two messages come in both orders.
func ordered(d *world.Driver, q *world.Queue, backwards bool) []*world.Letter {
	all := slices.Clone(q.Messages)
	slices.SortStableFunc(all,
		func(a, b *world.Letter) int { return cmp.Compare(letter(d, a), letter(d, b)) })
	if backwards {
		slices.Reverse(all)
	}
	return all
}

func deliver(d *world.Driver, q *world.Queue, letters []*world.Letter) {
	p := idle(d, q.Consumers)
	h := world.EmptyDigest
	for _, l := range letters {
		content(d, &h, l, 1)
		h.Number(int64(l.Received))
	}
	deployment.Equip(p)
	d.Input, d.Mine = uint64(h), letters
	deployment.Deliver(d.W, p, q, letters)
	d.Input, d.Mine = 0, nil
}

// command gives the next command of the people; it counts as done once it was given.
func command(d *world.Driver) {
	o := d.W.AllOrders[0]
	if c := deployment.Command(d.W, o, d.W.Store.Task(o.Id), d.Scope.People[d.Done]); c != nil {
		if c.Kind == message.Resubmit && d.Scope.Corrects != "" {
			c.Step, c.Input = d.Scope.Corrects, json.RawMessage(`{"given":1}`)
		}
		deployment.Instruct(d.W, o, *c, false)
	}
	d.Done++
}

// receive lets the application receive its statuses: what it does with it changes nothing else.
func receive(d *world.Driver) {
	for _, name := range []string{model.Shop, port.Quarantine} {
		q := d.W.Queues[name]
		for _, l := range q.Messages {
			deployment.Received(d.W, nil, q, l, q.Delivery(l))
		}
		q.Messages = nil
	}
}

func handlerOf(w *world.Simulation, id int32) *world.Invocation {
	for _, p := range w.Procs {
		for _, iv := range p.Running {
			if iv.Id == int(id) {
				return iv
			}
		}
	}
	panic(fmt.Sprintf("simulate: there is no handler %d", id)) // a path of another program
}

// atEnd: every order rests, and nothing is under way that would change that by itself.
func atEnd(d *world.Driver) bool {
	for _, o := range d.W.AllOrders {
		t := d.W.Store.Task(o.Id)
		if t == nil && !o.Refused || t != nil && (!t.AtRest() || t.ResendAt != 0) {
			return false
		}
	}
	return true
}

// say traces an action that traces nothing else.
func say(d *world.Driver, a world.Action) {
	w := d.W
	switch a.Kind {
	case world.Wrong:
		iv := handlerOf(w, a.Id)
		t := iv.Driven.Turn
		w.Trace(iv.P.Name, "", world.ActsAt[t.Call][a.Nth].String()+" at "+world.CallNames[t.Call]+" "+
			t.Subject)
	case world.Freezes, world.Thaws:
		w.Trace(handlerOf(w, a.Id).P.Name, "",
			map[world.Kind]string{world.Freezes: "stands still", world.Thaws: "goes on"}[a.Kind])
	case world.Boots:
		w.Trace(w.Procs[a.Nth].Name, "", "is there again")
	case world.Dies:
		w.Trace(w.Procs[a.Nth].Name, "", "dies")
	case world.Passes:
		w.Trace("world", "", fmt.Sprintf("time passes, %s", world.Seconds(next(d)-w.Now)))
	case world.Copies, world.ComesLate, world.Releases, world.Loses:
		q := w.Queues[w.Names[a.Nth]]
		if a.Id <= 0 {
			w.Trace("world", q.Name, "all late messages are there at last")
			return
		}
		i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
		word := map[world.Kind]string{world.Copies: "comes twice: ", world.ComesLate: "is late: ",
			world.Releases: "is there at last: ", world.Loses: "is lost: "}[a.Kind]
		w.Trace("world", q.Name, word+world.Describe(q.Messages[i].Message))
	}
}
