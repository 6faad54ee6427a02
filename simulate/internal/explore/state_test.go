package explore

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// stateHash is the hash of everything that decides what can happen next: the store with its index, the
// queues, the services and ledgers, the processes, the handlers at work, the people, and what the
// checks remember. A handler is its input and the answers that its calls have got so far.
//
// What decides nothing any more is left out, so that paths meet again after a fault:
//   - when something happened, where no rule asks for it; of a moment that has passed, how long ago
//     that was (see digest.moment);
//   - the version of a document: it is only compared with the version that a handler has loaded, and
//     of each handler it is hashed whether that is the one that is stored;
//   - the names of processes: two of one kind are the same but for what they know, hold and do, and
//     the driver picks between them by that alone (see driver.idle);
//   - the number up to which statuses were sent: it decides only which statuses are sent twice (P12, P27);
//   - texts for people, and what was sent before and cannot be sent again (see driver.history).
//
// TestStatesWithOneHashGoOnAlike holds states of one hash against each other.
func stateHash(d *Driver) uint64 {
	w := d.W
	h := EmptyDigest
	now := w.Start + w.Now
	h.Number(int64(rowsOf(d, now))) //nolint:gosec // a hash
	for _, name := range w.Names {
		q := w.Queues[name]
		if len(q.Messages)+len(q.Dead) == 0 {
			h.Number(0)
			continue
		}
		sum := Digest(0)
		for _, l := range q.Messages {
			sum += letter(d, l) // whatever their order: any of them can be brought
		}
		h.Number(int64(sum)) //nolint:gosec // a hash
		h.Number(int64(len(q.Dead)))
	}
	for _, o := range w.AllOrders {
		h.Yes(o.Acked, o.Refused, o.Seen.Submitted)
		h.Number(int64(o.Commands))
		history(d, &h, o)
	}
	h.Number(int64(booksOf(d, now, ""))) //nolint:gosec // a hash
	sum := Digest(0)
	for _, p := range w.Procs {
		sum += process(d, p, now)
	}
	for _, l := range d.Landings {
		one := EmptyDigest
		one.Text(l.What)
		sum += one
	}
	h.Number(int64(sum)) //nolint:gosec // a hash
	h.Number(int64(d.Done))
	h.Yes(d.Looked == looking(d))
	if d.Since >= 0 {
		h.Number(w.Now - d.Since) // it goes on in time
	}
	return uint64(h)
}

// process is one instance, whatever its name.
func process(d *Driver, p *world.Process, now int64) Digest {
	h := EmptyDigest
	h.Number(int64(p.Role))
	h.Text(p.Agent)
	h.Yes(p.Up)
	h.Number(int64(knows(d, p)))   //nolint:gosec // a hash
	for _, l := range d.W.Leases { // there is one shard
		if l.Owner == p.Name {
			h.Number(max(l.Until.UnixMilli()-now, 0))
		}
	}
	sum := Digest(0)
	for _, iv := range p.Running {
		sum += handler(d, iv)
	}
	h.Number(int64(sum)) //nolint:gosec // a hash
	return h
}

// knows hashes a Scheduler's measured waits of the agents' queues, if they make a difference.
func knows(d *Driver, p *world.Process) (sum Digest) {
	if !p.Up {
		return 0
	}
	now := core.Time(d.W.Start + d.W.Now + p.Offset)
	for agent, w := range p.Known {
		least := weight(d, agent, scheduler.QueueTime{Least: w.Least, Before: w.Least, Began: w.Began}.At(now))
		before := weight(d, agent, scheduler.QueueTime{Least: w.Before, Before: w.Before, Began: w.Began}.At(now))
		if least != 0 || before != 0 {
			one := EmptyDigest
			one.Text(agent)
			one.Number(int64(least))
			one.Number(int64(before))
			one.Number(int64(now.Sub(w.Began) % core.Minute)) // when it is halved
			sum += one
		}
	}
	return sum
}

// weight is how long a request has waited, as far as it makes a difference: twice that is allowed to
// the next one, but no less than its agent's allowance and no more than the step's maxQueueTime (P32).
func weight(d *Driver, agent string, waited core.Duration) core.Duration {
	least := d.W.Def.Agents[agent].QueueAllowance
	most := core.Duration(0)
	for _, def := range append([]*core.Definition{d.W.Def}, d.W.Below...) {
		for i := range def.Steps {
			if s := &def.Steps[i]; slices.Contains(s.AllAgents(), agent) {
				most = max(most, s.MaxQueueTime, least)
			}
		}
	}
	if 2*waited <= least {
		return 0
	}
	return min(waited, most)
}

// history is what the checks remember of an order and will ask for again: what was sent for the claims that
// stand and for the present end, and the statuses of what a message that is still there has led to (P12).
func history(d *Driver, h *Digest, o *world.Order) {
	s := &o.Seen
	t := d.W.Store.Task(o.Id)
	for _, def := range d.W.Known() {
		for i := range def.Steps {
			h.Number(int64(s.Counted[def.Steps[i].Name]))
		}
	}
	if t == nil {
		return
	}
	h.Yes(t.End.Seq > 0 && s.Reported[t.End.Seq] != "", t.ProcessState == core.Error &&
		s.Alerts[check.AlertID(t.End.At, t.Run, t.End.Command)])
	if t.Start.Seq > 0 && s.Reported[t.Start.Seq] == "" {
		h.Yes(around(d, func(v port.Value) bool {
			switch m := v.(type) {
			case *message.SubmitOrder:
				return m.OrderID == o.Id
			case *message.Control:
				return m.OrderID == o.Id && m.ID() != ""
			}
			return false
		}))
	}
	for i := range t.Steps {
		st := &t.Steps[i]
		h.Yes(st.InFlight() && s.Requests[st.Name+"/"+strconv.Itoa(st.Attempt)] != "")
		if st.FailureCode != "" {
			h.Yes(s.Alone[st.Name+"/"+strconv.Itoa(st.Attempt)])
		}
		if st.Finish.Seq > 0 && s.Reported[st.Finish.Seq] == "" {
			h.Yes(around(d, func(v port.Value) bool {
				switch m := v.(type) {
				case *message.Request:
					return m.OrderID == o.Id && m.Step == st.Name
				case *message.Reply:
					return m.OrderID == o.Id && m.Step == st.Name
				}
				return false
			}))
		}
	}
}

// around reports whether such a message is in a queue or is being handled.
func around(d *Driver, is func(port.Value) bool) bool {
	for _, name := range d.W.Names {
		for _, l := range d.W.Queues[name].Messages {
			if is(l.Message.Value) {
				return true
			}
		}
	}
	for _, p := range d.W.Procs {
		for _, iv := range p.Running {
			for _, l := range on(iv).Mine {
				if is(l.Message.Value) {
					return true
				}
			}
		}
	}
	return false
}

func letter(d *Driver, l *world.Letter) Digest {
	h := EmptyDigest
	if !l.Late {
		h.Number(max(l.Visible-d.W.Now, 0))
	}
	h.Number(int64(l.Received))
	h.Yes(l.Late)
	content(d, &h, l, 0)
	return h
}

// content is what a message says. taken is how often it was taken when the Scheduler could learn from
// a reply: it does from one that it takes for the first time (P32).
func content(d *Driver, h *Digest, l *world.Letter, taken int) {
	now := d.W.Start + d.W.Now
	switch m := l.Message.Value.(type) {
	case *message.Request:
		h.Text(m.OrderID)
		h.Text(m.Step)
		if now >= int64(m.StopBy.Add(-m.ClockSkew)) {
			h.Text("late") // its agent drops it, whatever else it says (P25)
			return
		}
		for _, n := range [...]int64{
			int64(m.Run), int64(m.Attempt), int64(m.StopBy) - now,
			int64(m.ClaimedAt) - now, int64(m.Timeout),
		} {
			h.Number(n)
		}
		h.Text(string(m.Operation))
		h.Text(string(m.Input))
		h.Yes(m.PointOfNoReturn)
		if m.Resolved != nil {
			h.Text(string(m.Resolved.Fact))
			h.Number(int64(m.Resolved.Command))
		}
	case *message.Reply:
		waited := m.Waited
		if l.Received == taken {
			waited += core.Duration(d.W.Now - l.Sent)
		}
		reply(d, h, m, waited)
	case *message.Control:
		h.Text(m.OrderID)
		h.Text(string(m.Kind()))
		h.Value(reflect.ValueOf(m.Event), now)
		h.Number(int64(m.Tries))
	case *message.SubmitOrder: // One ID always has the same content.
		h.Text(m.OrderID)
	case nil:
		h.Text(string(l.Message.Body))
	default:
		v := reflect.ValueOf(m)
		h.Text(v.Type().String())
		h.Value(v, now)
	}
}

// reply hashes a reply, and the queue wait that it reports.
func reply(d *Driver, h *Digest, m *message.Reply, waited core.Duration) {
	h.Text(m.OrderID)
	h.Text(m.Step)
	h.Text(string(m.Operation))
	h.Text(string(m.Outcome))
	h.Yes(m.NoEffect)
	h.Moment(m.Until, d.W.Start+d.W.Now, 0)
	h.Number(int64(m.Percent))
	h.Text(m.Note)
	h.Text(string(m.Output))
	agent := ""
	if t := d.W.Store.Task(m.OrderID); t != nil && t.Step(m.Step) != nil {
		_, step := d.W.StepOf(t, m.Step)
		agent = t.Step(m.Step).AskedAgent(step)
	}
	for _, n := range [...]int64{
		int64(m.Run), int64(m.Attempt), int64(m.RetryAfter),
		int64(weight(d, agent, waited)),
	} {
		h.Number(n)
	}
	if m.Error != nil {
		h.Text(m.Error.Code)
	}
}

// handler is one at work. Its answers were hashed with the times at which they came, as they lie to
// its beginning; so lies the present. What it will not ask for again is left out.
func handler(d *Driver, iv *world.Invocation) Digest {
	h := EmptyDigest
	h.Text(iv.What)
	h.Number(int64(on(iv).Input)) //nolint:gosec // a hash
	trail, age := remembers(d, iv)
	h.Number(int64(trail)) //nolint:gosec // a hash
	h.Number(age)
	h.Yes(on(iv).Frozen, on(iv).Turn == nil, iv.Id == d.Thawed, on(iv).Wrote)
	if t := on(iv).Turn; t != nil {
		h.Number(int64(t.Call))
		h.Text(t.Subject)
	} else {
		h.Number(max(iv.Until-d.W.Now, 0))
	}
	for i, l := range on(iv).Mine {
		h.Yes(l.Receipt == on(iv).Receipts[i], l.Late)
	}
	sum := Digest(0)
	for id, v := range on(iv).Versions {
		if d.W.Store.Version(id) != v {
			one := EmptyDigest
			one.Text(id)
			sum += one
		}
	}
	h.Number(int64(sum)) //nolint:gosec // a hash
	return h
}

// remembers is what a handler knows of the answers it got, and of how long ago that was:
//   - one that deletes its message, or returns it, asks for nothing more than its receipt;
//   - a Scheduler that loads, or whose commit will fail for its document is not the one that is stored
//     any more, decides anew, by the clock as it is then;
//   - an agent that sends its answer asks for no time, and to one that is too late it is all the same by how
//     much.
func remembers(d *Driver, iv *world.Invocation) (trail Digest, age int64) {
	trail = on(iv).Trail
	age = d.W.Now - on(iv).Began
	t := on(iv).Turn
	switch {
	case t == nil:
		return trail, age
	case t.Call == world.CallDelete, t.Call == world.CallExtend,
		iv.P.Role == world.AScheduler && (t.Call == world.CallLoad || t.Call == world.CallCommit &&
			doomed(d, iv, t.Subject)):
		return on(iv).Course, 0
	case iv.P.Role == world.AnAgent && t.Call == world.CallSend:
		return trail, 0
	case iv.P.Role == world.AnAgent && iv.Agency.Req != nil &&
		d.W.Start+d.W.Now >= int64(iv.Agency.Req.StopBy):
		return trail, -1
	}
	return trail, age
}

// doomed reports whether the version on which a handler's next write depends is no longer the latest.
func doomed(d *Driver, iv *world.Invocation, id string) bool {
	v, loaded := on(iv).Versions[id]
	return loaded && v != d.W.Store.Version(id)
}
