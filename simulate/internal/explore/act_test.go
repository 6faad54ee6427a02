package explore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// next returns the next time at which anything can be different, or -1.
func next(d *Driver) int64 {
	w := d.W
	next := int64(-1)
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
			if on(iv).Turn == nil && !on(iv).Frozen {
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
func do(d *Driver, a Action) {
	w := d.W
	if w.Tracing {
		say(d, a)
	}
	d.MoveTask = 0
	d.Thawed = 0
	for n, name := range w.Names {
		d.Marks[n] = w.Queues[name].Next
	}
	switch a.Kind {
	case GoOn:
		deployment.Resume(w, handlerOf(w, a.Id))
	case Wrong:
		iv := handlerOf(w, a.Id)
		d.Call = on(iv).Turn.Call
		d.Chosen = world.ActsAt[d.Call][a.Nth]
		deployment.Resume(w, iv)
		d.Chosen = world.Act{}
	case Freezes:
		on(handlerOf(w, a.Id)).Frozen = true
	case Thaws:
		on(handlerOf(w, a.Id)).Frozen = false
		d.Thawed = int(a.Id)
	case Dies:
		deployment.Kill(w.Procs[a.Nth])
	case Boots:
		deployment.Boot(w.Procs[a.Nth])
	case Sweeps:
		d.Looked = looking(d)
		deployment.Invoke(w, w.Procs[a.Nth], "sweep",
			func(iv *world.Invocation) { _, _ = iv.P.Supervisor.Sweep(deployment.Ctx) })
	case Submits:
		o := w.AllOrders[a.Id]
		o.Seen.Submitted = true
		deployment.Submit(w, o)
	case Orders:
		command(d)
	case Passes:
		w.Now = next(d)
	case Lands:
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
func standstill(d *Driver) int64 {
	if len(d.Scope.Down) > 0 {
		return world.Visibility + 5_000
	}
	return 4 * world.Visibility
}

// still reports whether some work waits because all processes that could do it are down or stand still. That
// is bounded, because the messages that wait for them could grow for ever. A late message, or a handler that
// stands still while others work, needs no bound: the others come to a rest.
func still(d *Driver) bool {
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
	return slices.ContainsFunc(p.Running, func(iv *world.Invocation) bool { return on(iv).Frozen })
}

// mail is what happens to messages.
func mail(d *Driver, a Action) {
	q := d.W.Queues[d.W.Names[a.Nth]]
	i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
	switch a.Kind {
	case BringAll:
		batch(d, q, a.Id == 1)
	case Bring, Releases:
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
	case Copies:
		q.Messages[i].Copied = true
		deployment.Put(q, q.Messages[i].Message, 0).Copied = true
	case ComesLate:
		q.Messages[i].Late = true
	case Loses:
		q.Messages = slices.Delete(q.Messages, i, i+1)
	}
}

// release makes a late message visible.
func release(l *world.Letter, now int64) {
	if l.Late {
		l.Late = false
		l.Visible = min(l.Visible, now)
	}
}

// batch brings all that is visible.
func batch(d *Driver, q *world.Queue, backwards bool) {
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
func ordered(d *Driver, q *world.Queue, backwards bool) []*world.Letter {
	all := slices.Clone(q.Messages)
	slices.SortStableFunc(all,
		func(a, b *world.Letter) int { return cmp.Compare(letter(d, a), letter(d, b)) })
	if backwards {
		slices.Reverse(all)
	}
	return all
}

func deliver(d *Driver, q *world.Queue, letters []*world.Letter) {
	p := idle(d, q.Consumers)
	h := EmptyDigest
	for _, l := range letters {
		content(d, &h, l, 1)
		h.Number(int64(l.Received))
	}
	d.Input = uint64(h)
	d.Mine = letters
	deployment.Deliver(d.W, p, q, letters)
	d.Input = 0
	d.Mine = nil
}

// command sends the next command of the people. The command counts as done once it was sent.
func command(d *Driver) {
	o := d.W.AllOrders[0]
	if c := deployment.Command(d.W, o, d.W.Store.Task(o.Id), d.Scope.People[d.Done]); c != nil {
		if e := core.CommandOf(c); e.Name == core.Resubmit && d.Scope.Corrects != "" {
			e.Step = d.Scope.Corrects
			e.Input = json.RawMessage(`{"given":1}`)
			c = e
		}
		deployment.Instruct(d.W, o, c, false)
	}
	d.Done++
}

// receive lets the application receive its statuses: what it does with it changes nothing else.
func receive(d *Driver) {
	for _, name := range []string{world.Shop, port.Quarantine, core.Events} {
		q := d.W.Queues[name]
		if q == nil { // no workflow has events
			continue
		}
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

// atEnd reports whether every order rests and no message or handler can change that by itself.
func atEnd(d *Driver) bool {
	for _, o := range d.W.AllOrders {
		t := d.W.Store.Task(o.Id)
		if t == nil && !o.Refused || t != nil && (!t.AtRest() && !waitsForOperator(t) || t.End.ResendAt != 0) {
			return false
		}
	}
	return true
}

// waitsForOperator reports whether the order waits for a child that has stopped in Error. It asks for ever.
func waitsForOperator(t *protocol.Task) bool {
	return slices.ContainsFunc(t.Steps, func(s protocol.Step) bool {
		return s.Children != nil && slices.ContainsFunc(s.Children.Open, func(c protocol.OpenChild) bool {
			return c.State == string(core.ChildError)
		})
	})
}

// say traces an action that traces nothing else.
func say(d *Driver, a Action) {
	w := d.W
	switch a.Kind {
	case Wrong:
		iv := handlerOf(w, a.Id)
		t := on(iv).Turn
		w.Trace(iv.P.Name, "", world.ActsAt[t.Call][a.Nth].String()+" at "+world.CallNames[t.Call]+" "+
			t.Subject)
	case Freezes, Thaws:
		w.Trace(handlerOf(w, a.Id).P.Name, "",
			map[Kind]string{Freezes: "stands still", Thaws: "goes on"}[a.Kind])
	case Boots:
		w.Trace(w.Procs[a.Nth].Name, "", "is there again")
	case Dies:
		w.Trace(w.Procs[a.Nth].Name, "", "dies")
	case Passes:
		w.Trace("world", "", fmt.Sprintf("time passes, %s", world.Seconds(next(d)-w.Now)))
	case Copies, ComesLate, Releases, Loses:
		q := w.Queues[w.Names[a.Nth]]
		if a.Id <= 0 {
			w.Trace("world", q.Name, "all late messages are there at last")
			return
		}
		i := slices.IndexFunc(q.Messages, func(l *world.Letter) bool { return l.Id == int(a.Id) })
		word := map[Kind]string{
			Copies: "comes twice: ", ComesLate: "is late: ",
			Releases: "is there at last: ", Loses: "is lost: ",
		}[a.Kind]
		w.Trace("world", q.Name, word+world.Describe(q.Messages[i].Message))
	}
}
