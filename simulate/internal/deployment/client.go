package deployment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

var NoContent = json.RawMessage(`{}`)

// people sets the application and the operator to work.
func people(w *world.Simulation) {
	if w.Sc.Begun != nil {
		begin(w, w.Sc.Begun.Task)
	} else {
		application(w)
	}
	if !w.Sc.Alone && w.Choose("world", "operator", 2, 0.3) == 1 { // he is there while faults happen, too
		w.Operating = true
		w.After(40_000, func() { operate(w) })
	}
	for range w.Choose("world", "disturbances", 5, 0.4) {
		w.After(w.Spread("disturbance", "world", 120_000), func() { disturb(w) })
	}
}

// application submits the orders.
func application(w *world.Simulation) {
	most := w.Sc.Orders
	if most == 0 {
		most = 4
	}
	n := 1 + w.Choose("world", "orders", most, 0.6)
	burst := w.Sc.Orders == 0 && w.Choose("world", "burst", 2, 0.04) == 1
	if burst {
		n += 8 // more than a batch of messages at once (P13), and a flood for who is slow (P32)
	}
	for i := 1; i <= n; i++ {
		id := "o" + strconv.Itoa(i)
		o := &world.Order{Id: id, Seen: world.NewHistory(),
			Submit: message.SubmitOrder{Schema: message.Schema,
				OrderID: id, Workflow: w.Def.Name, Order: content(w)}}
		if i%2 == 0 && w.Driver == nil && w.Room.Limit == 0 { // every second order is kept apart
			o.Submit.Order = append(slices.Clip(o.Submit.Order),
				bytes.Repeat([]byte(" "), core.InlineOrder(w.Def))...)
		}
		o.Api = w.Embedded || w.Choose("api", id, 2, 0.4) == 1
		if w.Choose("silent", id, 2, 0.2) == 0 {
			o.Submit.ReplyTo = model.Shop
		}
		w.AllOrders, w.ByID[id] = append(w.AllOrders, o), o
		w.Orders++
		if !w.Sc.Alone && w.Choose("deadline", id, 2, 0.08) == 1 {
			o.Submit.Deadline = core.Time(w.Start + w.Now + 1000 + w.Spread("deadline", id+"/at", 120_000))
		}
		if burst {
			o.Api = w.Embedded
			Submit(w, o)
		} else {
			w.After(w.Spread("submit", id, 4000), func() { Submit(w, o) })
		}
		commands(w, o)
	}
}

// commands are what people send about an order, beside what its course asks for.
func commands(w *world.Simulation, o *world.Order) {
	if w.Sc.Alone {
		return
	}
	answering(w, o)
	for range w.Choose("commands", o.Id, 3, 0.15) {
		w.After(500+w.Spread("command", o.Id, 200_000), func() { interfere(w, o) })
	}
	if w.Choose("late-command", o.Id, 2, 0.06) == 1 { // minutes later, or days
		late := []int64{25 * 60_000, 5 * world.Day,
			11 * 60_000}[w.Choose("late-command", o.Id+"/when", 3, 0.6)]
		w.After(late+w.Spread("command", o.Id+"/late", 200_000), func() { interfere(w, o) })
	}
	for range w.Choose("erasures", o.Id, 3, 0.12) { // at rest or not
		w.After(500+w.Spread("erase", o.Id, 900_000), func() { erase(w, o) })
	}
	if w.Choose("other-content", o.Id, 2, 0.05) == 1 {
		w.After(100+w.Spread("other", o.Id, 100_000), func() { otherContent(w, o) })
	}
}

// client is the process of the application.
func client(w *world.Simulation) *world.Process { return w.Procs[len(w.Procs)-1] }

// anyScheduler is one that is there, nil where none is.
func anyScheduler(w *world.Simulation, why string) *world.Process {
	var up []*world.Process
	for _, p := range w.Procs {
		if p.Role == world.AScheduler && p.Up {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.Choose("edge", why, len(up), 0.4)]
}

// Submit sends an order, again and again until an answer says that it is stored.
func Submit(w *world.Simulation, o *world.Order) {
	if o.Acked || o.Refused {
		return
	}
	if o.Submit.ReplyTo == "" && !o.Api && w.Store.Rows[o.Id].Known() {
		o.Acked = true // it looked the order up
		return
	}
	if o.Submit.Deadline != 0 && core.Time(w.Start+w.Now-w.Skew()) > o.Submit.Deadline &&
		w.Store.Rows[o.Id] == nil {
		o.Refused = true // it gives up: what of it still lies in the queue is refused too
		return
	}
	w.After(60_000, func() { Submit(w, o) })
	if !o.Api {
		m := o.Submit
		w.Trace("application", port.Intake, "submits "+o.Id)
		_ = send(w, client(w), w.Queues[port.Intake], port.Message{Value: &m})
		return
	}
	p := anyScheduler(w, o.Id)
	if p == nil {
		return
	}
	w.Trace("application", p.Name, "submits "+o.Id)
	Invoke(w, p, "submit", func(iv *world.Invocation) {
		m := o.Submit
		iv.Direct, iv.About = &m, o.Id
		r := p.Scheduler.Submit(Ctx, []message.SubmitOrder{o.Submit})[0]
		if iv.Dead {
			return
		}
		switch r.Answer {
		case scheduler.Stored, scheduler.Known:
			acknowledged(w, o)
			check.Finished(iv, func(string) bool { return true })
		case scheduler.Refused:
			o.Refused = true
		}
	})
}

// otherContent submits something else under the same ID: it must be refused, or be first (P14).
func otherContent(w *world.Simulation, o *world.Order) {
	if w.Store.Task(o.Id) == nil {
		return
	}
	m := o.Submit
	m.Order = json.RawMessage(`{"other":true}`)
	if string(o.Submit.Order) == string(m.Order) {
		return
	}
	w.Trace("application", port.Intake, "submits "+o.Id+" with other content")
	_ = send(w, client(w), w.Queues[port.Intake], port.Message{Value: &m})
}

// acknowledged: an order that was answered as stored must be there (invariant 1).
func acknowledged(w *world.Simulation, o *world.Order) {
	o.Acked = true
	w.Checks.Did("1")
	if !w.Store.Rows[o.Id].Known() {
		w.Violate("1", "order %s was acknowledged and is not stored", o.Id)
	}
}

// Received checks what the application receives.
func Received(w *world.Simulation, iv *world.Invocation, q *world.Queue, l *world.Letter, d port.Delivery) {
	if q.Name != model.Shop {
		return
	}
	s, err := message.StatusOf(d)
	if err != nil {
		w.Violate("18", "the application cannot read a status: %v", err)
		return
	}
	o := w.ByID[s.OrderID]
	if o == nil {
		return
	}
	switch {
	case s.Kind == core.StatusRefused && !o.Acked && s.Code != "other-content":
		o.Refused = true
	case s.Kind != core.StatusRefused:
		acknowledged(w, o)
	}
	o.Seen.Received[s.Seq] = true
}

// interfere is a person who gives a command, or tries to: mostly one that fits, and now and then one
// with a number that is none any more, or with the ID of another.
func interfere(w *world.Simulation, o *world.Order) {
	t := w.Store.Task(o.Id)
	kinds := []message.ControlKind{message.Cancel, message.Resubmit, message.Undo, message.Resolve,
		message.Close, message.Move}
	kind := kinds[w.Choose("kind", o.Id, len(kinds), 0.5)]
	if t != nil && t.ProcessState == core.Compensated && kind != message.Cancel && kind != message.Move {
		kind = message.Resubmit // what else is there to do with it
	}
	if t == nil {
		o.Early = true
	}
	c := Command(w, o, t, kind)
	if c == nil {
		return
	}
	switch w.Choose("variation", o.Id, 7, 0.35) {
	case 1:
		c.Command = max(0, c.Command-1)
	case 2:
		c.Command++
	case 3: // the same command a second time, or another one with its ID
		c.ID = fmt.Sprintf("%s-c%d", o.Id, max(1, o.Commands-1))
	case 4:
		c.Run = max(0, c.Run-1)
	case 5:
		if kind == message.Resubmit {
			c.Deadline = core.Time(w.Start + w.Now + 1000 + w.Spread("deadline", o.Id, 120_000))
			if w.Choose("deadline", o.Id+"/passed", 2, 0.3) == 1 {
				c.Deadline -= 121_000
			}
		}
	case 6:
		if kind == message.Resolve && t != nil && len(t.Steps) > 0 {
			if step := t.Steps[w.Choose("wrong", o.Id, len(t.Steps), 0.7)].Name; !believed(w, t, step) {
				c.Step = step
			}
		}
	}
	direct := w.Choose("by", o.Id, 2, 0.5) == 1 || w.Embedded
	Instruct(w, o, *c, direct)
	if w.Choose("insists", o.Id, 2, 0.05) == 1 {
		insist(w, o, *c, direct)
	}
}

// insist is a person who sends a command again and again, each time under a new ID and with the number that
// stands then, and whose first message comes once more at the end.
func insist(w *world.Simulation, o *world.Order, c message.Control, direct bool) {
	first, after := c, int64(0)
	for range 8 + w.Choose("insists", o.Id+"/times", 12, 0.5) {
		o.Commands++
		c.ID = fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.Id, "~", "."), o.Commands)
		next := c
		after += 1 + w.Spread("insists", o.Id, 2_000)
		w.After(after, func() {
			if t := w.Store.Task(o.Id); t != nil && next.Kind != message.Cancel {
				next.Command = t.Command
			}
			Instruct(w, o, next, direct)
		})
	}
	w.After(after+1+w.Spread("insists", o.Id+"/first", 60_000), func() { Instruct(w, o, first, direct) })
}

// Command makes a command of what the person sees.
func Command(w *world.Simulation, o *world.Order, t *core.Task, kind message.ControlKind) *message.Control {
	if kind == message.Answer {
		return answer(w, o, t)
	}
	o.Commands++
	c := &message.Control{Schema: message.Schema, Kind: kind, OrderID: o.Id,
		ID: fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.Id, "~", "."), o.Commands)}
	if t != nil {
		c.Run, c.Command = t.Run, t.Command
	}
	switch kind {
	case message.Cancel:
		c.Command = 0
	case message.Close:
		c.Run, c.By, c.Reason = 0, "ann", "settled by hand"
	case message.Erase:
		c.Run, c.By, c.Reason = 0, "ann", "asked to"
	case message.Resolve:
		c.Run = 0
		if step := stillWaits(t); step != "" && w.Choose("hasty", o.Id+"/wait", 2, 0.5) == 1 {
			c.Step, c.Fact = step, core.Happened // nothing of it is in doubt (P33)
			break
		}
		if c.Step, c.Fact = Fact(w, t); c.Step == "" {
			if w.Quiescing || t == nil || len(t.Steps) == 0 || w.Choose("hasty", o.Id, 2, 0.5) == 0 {
				return nil
			}
			// Nothing is in doubt, or an agent may still be at work: it must be refused.
			c.Step, c.Fact = t.Steps[w.Choose("hasty", o.Id+"/step", len(t.Steps), 0.7)].Name, core.Happened
			if believed(w, t, c.Step) {
				return nil // that would be a lie
			}
		}
		if c.Fact == core.Happened && w.Choose("output", o.Id, 2, 0.4) == 1 {
			c.Output = json.RawMessage(fmt.Sprintf(`{"stated":%d}`, o.Commands))
		}
	case message.Move:
		c.Run, c.Definition = 0, aim(w, o)
	case message.Resubmit:
		c.Run = 0
		switch w.Choose("aims", o.Id, 3, 0.25) {
		case 1:
			c.Definition = aim(w, o)
		case 2:
			correct(w, o, t, c)
		}
	default:
		c.Run = 0
	}
	return c
}

// correct gives a step another input: mostly one that has failed, now and then any other.
func correct(w *world.Simulation, o *world.Order, t *core.Task, c *message.Control) {
	if t == nil || len(t.Steps) == 0 {
		return
	}
	i := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.State == core.Failed })
	if i < 0 || w.Choose("corrects", o.Id, 2, 0.3) == 1 {
		i = w.Choose("corrects", o.Id+"/step", len(t.Steps), 0.7)
	}
	c.Step, c.Input = t.Steps[i].Name, json.RawMessage(fmt.Sprintf(`{"given":%d}`, o.Commands))
}

// stillWaits is a step that waits in an order that has stopped; "" where there is none.
func stillWaits(t *core.Task) string {
	if t != nil && t.ProcessState == core.Error {
		if i := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.State == core.Waiting }); i >= 0 {
			return t.Steps[i].Name
		}
	}
	return ""
}

// aim is a definition to move an order to: one of those that there are, or what is deployed, or none.
func aim(w *world.Simulation, o *world.Order) string {
	defs := w.Defs
	if t := w.Store.Task(o.Id); t != nil && t.Parent != nil {
		defs = slices.DeleteFunc(slices.Clone(w.Below),
			func(d *core.Definition) bool { return d.Name != t.Workflow })
	}
	n := len(defs)
	switch k := w.Choose("definition", o.Id, n+2, 0.8); {
	case k == n:
		return message.Latest
	case k < n && w.Store.Defs[defs[n-1-k].Hash] != nil: // no order has run another one yet
		return defs[n-1-k].Hash
	}
	return strings.Repeat("0", len(w.Def.Hash))
}

// believed: a fact about the step may be taken, so that it must be true.
func believed(w *world.Simulation, t *core.Task, step string) bool {
	s := t.Step(step)
	return t.ProcessState == core.Error && inDoubt(s) && core.Time(w.Start+w.Now+w.Skew()) > s.LastStop()
}

// Instruct sends a command.
func Instruct(w *world.Simulation, o *world.Order, c message.Control, direct bool) {
	w.Trace("operator", "", fmt.Sprintf("%s %s %s %s", c.Kind, c.OrderID, c.Step, c.Fact))
	if p := anyScheduler(w, o.Id); direct && p != nil {
		Invoke(w, p, string(c.Kind), func(iv *world.Invocation) {
			iv.Direct, iv.About = &c, c.OrderID
			if _, err := p.Scheduler.Command(Ctx, c); err == nil {
				check.Finished(iv, func(string) bool { return true })
			}
		})
		return
	}
	if !w.Embedded {
		_ = send(w, client(w), w.Queues[port.Control], port.Message{Value: &c})
	}
}

// Fact is the truth about the first step in doubt: the operator asks the service before he speaks.
func Fact(w *world.Simulation, t *core.Task) (string, core.Fact) {
	if t == nil || t.ProcessState != core.Error {
		return "", ""
	}
	now, def := core.Time(w.Start+w.Now-w.Skew()), w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		svc := w.Services[core.Key(t.OrderID, t.Run, s.Name)]
		doubtful := inDoubt(s)
		// What was stated since the last claim needs no repetition.
		stated := s.Resolved != nil && s.Resolved.At > s.ClaimedAt
		if !doubtful || stated || svc != nil && svc.Pending > 0 ||
			now <= s.LastStop().Add(def.Agents[d.Agent].ClockSkew) {
			continue
		}
		switch {
		case svc != nil && svc.Net > 0 && (t.Phase == core.Undoing || s.State == core.UndoWait) &&
			w.Conf(d.Agent).NoUndo:
			w.Trace("operator", "", "undoes "+svc.Key+" by hand")
			svc.Net, svc.Undone = 0, true
			return s.Name, core.Undone
		case svc != nil && (svc.Net > 0 || check.NoEffect(w, t, s.Name) && svc.Applied > 0):
			return s.Name, core.Happened
		case t.Phase == core.Undoing || s.State == core.UndoWait:
			return s.Name, core.Undone
		}
		return s.Name, core.NotHappened
	}
	return "", ""
}

// operate is the operator after the faults: every little while he looks after what has stopped.
func operate(w *world.Simulation) {
	if w.Operating = restless(w) && (!w.Quiescing || stopped(w)); !w.Operating {
		return // the next commit, if there is one, has him look again
	}
	for _, o := range w.AllOrders {
		t := w.Store.Task(o.Id)
		if halfErased(w, o) {
			erase(w, o)
			continue
		}
		if t == nil || t.ProcessState != core.Error || !t.AtRest() || t.ResendAt != 0 {
			continue
		}
		kind := message.Resubmit
		if doubt(w, t) && w.Choose("careless", o.Id, 2, 0.1) == 0 {
			kind = message.Resolve
		} else if triedInVain(w, o, t) {
			if kind = message.Undo; past(w, t) || undoFails(t) {
				kind = message.Close
			}
		} else if w.Choose("decides", o.Id, 2, 0.4) == 1 && !past(w, t) {
			kind = message.Undo
		} else if w.Choose("closes", o.Id, 2, 0.1) == 1 {
			kind = message.Close
		} else if w.Choose("moves", o.Id, 2, 0.15) == 1 {
			kind = message.Move
		}
		// its parent could not undo it any more: see the stories child-*
		if kind == message.Close && t.Parent != nil {
			kind = message.Undo
		}
		if c := Command(w, o, t, kind); c != nil {
			Instruct(w, o, *c, w.Embedded || w.Choose("by", o.Id, 2, 0.5) == 1)
		}
	}
	if w.Quiescing {
		w.After(30_000, func() { operate(w) })
	} else {
		w.After(10*60_000, func() { operate(w) })
	}
}

// erase has an order erased, whatever it is doing. A child is left alone: see the tests of the Scheduler.
func erase(w *world.Simulation, o *world.Order) {
	if t := w.Store.Task(o.Id); t == nil || t.Parent == nil {
		Instruct(w, o, *Command(w, o, t, message.Erase), w.Embedded || w.Choose("by", o.Id, 2, 0.5) == 1)
	}
}

// halfErased reports an erased order whose content is still there, because the handling died between the two.
func halfErased(w *world.Simulation, o *world.Order) bool {
	r := w.Store.Rows[o.Id]
	return r != nil && r.Task != nil && r.Task.Erased != nil && r.Content != nil
}

// undoFails: the input of an undo cannot be computed, however often it is tried.
func undoFails(t *core.Task) bool {
	return slices.ContainsFunc(t.Steps, func(s core.Step) bool {
		return s.State == core.UndoWait && s.Error != nil && s.Error.Code == "expression"
	})
}

// triedInVain reports that one more round might go on for ever: after many commands an answer, the end of its
// time, a rule, the children, an input, or an output that does not fit has stopped the task again.
func triedInVain(w *world.Simulation, o *world.Order, t *core.Task) bool {
	switch {
	case !w.Quiescing || o.Commands < 12:
		return false
	case undoFails(t):
		return true
	case t.Phase != core.Forward:
		return false
	}
	def := w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == core.Failed && (def.Steps[i].Agent == "" || s.Error != nil &&
			slices.Contains([]string{"expression", check.Short}, s.Error.Code)) {
			return true
		}
	}
	return false
}

// inDoubt: the agent was asked, and the outcome is unknown.
func inDoubt(s *core.Step) bool {
	return s.Attempted() && (s.State == core.Failed || s.State == core.UndoWait || s.State == core.Pending)
}

// doubt reports a step that the operator has to look at before he lets the task go on.
func doubt(w *world.Simulation, t *core.Task) bool {
	def := w.DefOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		if d.PointOfNoReturn && inDoubt(s) {
			if s.NoEffect == 0 {
				return true // the way back opens with the fact (P22a)
			}
			continue
		}
		if d.Grade == core.Plain && def.Agents[d.Agent].KeyRetention == 0 &&
			w.Ledgers[d.Agent].Entries[core.Key(t.OrderID, t.Run, s.Name)].State == worker.StateFailed {
			continue // refused, and proven without effect: it can be tried again
		}
		if inDoubt(s) && (s.Resolved == nil || s.Resolved.At <= s.ClaimedAt) &&
			(d.Grade == core.Plain || s.State == core.Failed && s.Error != nil &&
				s.Error.Code == check.Short ||
				w.Conf(d.Agent).NoUndo && (t.Phase == core.Undoing || s.State == core.UndoWait) ||
				def.Agents[d.Agent].KeyRetention > 0) {
			return true
		}
	}
	return false
}

// past reports a task that is past its point of no return.
func past(w *world.Simulation, t *core.Task) bool { return model.PastReturn(w.DefOf(t), t) }

// restless reports an order that has not come to its end.
func restless(w *world.Simulation) bool {
	return slices.ContainsFunc(w.AllOrders, func(o *world.Order) bool { return !rests(w, o) })
}

// stopped reports an order that waits for the operator.
func stopped(w *world.Simulation) bool {
	return slices.ContainsFunc(w.AllOrders, func(o *world.Order) bool {
		t := w.Store.Task(o.Id)
		return t != nil && t.ProcessState == core.Error || halfErased(w, o)
	})
}

func rests(w *world.Simulation, o *world.Order) bool {
	t := w.Store.Task(o.Id)
	switch {
	case t == nil:
		return o.Refused || w.Store.Rows[o.Id].Known() // expired after its end
	case !o.Acked && !o.Refused:
		return false
	}
	return t.Terminal() && t.AtRest() && !halfErased(w, o)
}

// Unended lists the orders that have not come to their end, for a report.
func Unended(w *world.Simulation) string {
	text := ""
	for _, o := range w.AllOrders {
		if rests(w, o) {
			continue
		}
		t := w.Store.Task(o.Id)
		if t == nil {
			text += fmt.Sprintf("%s is not stored (acknowledged %v, refused %v); ", o.Id, o.Acked, o.Refused)
			continue
		}
		text += fmt.Sprintf("%s is %s %s (reported %v)", o.Id, t.ProcessState, t.Phase, t.ResendAt == 0)
		for i := range t.Steps {
			text += fmt.Sprintf(" %s=%s/%d", t.Steps[i].Name, t.Steps[i].State, t.Steps[i].Attempt)
		}
		text += "; "
	}
	return text
}

// disturb is what happens to the deployment itself.
func disturb(w *world.Simulation) {
	if w.Quiescing {
		return
	}
	switch w.Choose("disturb", "world", 4, 0.75) {
	case 0:
		jump(w)
	case 1:
		forge(w)
	case 2:
		expire(w)
	case 3:
		redeploy(w)
	}
}

// jump moves a clock, within what the workflow declares.
func jump(w *world.Simulation) {
	p := w.Procs[w.Choose("whose", "clock", len(w.Procs)-1, 0.9)]
	if inject(w, p.Role, world.CallClock, p.Name).Fault == world.ClockJump {
		p.Offset = skewed(w, p.Name)
		w.Trace("world", p.Name, "its clock jumps")
	}
}

// expire is the TTL of a record, early or late.
func expire(w *world.Simulation) {
	if len(w.Below) > 0 { // a child that is gone is in doubt: see the stories child-*
		return
	}
	for _, id := range w.Store.Ids {
		r := w.Store.Rows[id]
		if r.Record == nil || !r.Task.Terminal() || !r.Task.AtRest() {
			continue
		}
		if inject(w, world.AClient, world.CallExpire, id).Fault == world.TTL {
			w.Trace("world", "", "the record of "+id+" expires; its ID stays (P26)")
			r.Expire()
			// an old copy of the order comes
			if o := w.ByID[id]; o != nil && w.Choose("resubmits", id, 2, 0.5) == 1 {
				m := o.Submit
				w.After(w.Spread("resubmits", id+"/when", 60_000),
					func() { _ = send(w, client(w), w.Queues[port.Intake], port.Message{Value: &m}) })
			}
		}
	}
}

// redeploy gives one instance a newer version of the workflow: old and new run side by side.
func redeploy(w *world.Simulation) {
	p := w.Procs[0]
	if w.Newer == nil || len(p.Running) > 0 ||
		inject(w, world.AScheduler, world.CallDeploy, p.Name).Fault != world.MixedCode {
		return
	}
	w.Trace("world", p.Name, "runs a newer version of the workflow")
	p.Deploy = 1
}

// forge is a message that no actor should send, or that is unreadable.
func forge(w *world.Simulation) {
	if inject(w, world.AClient, world.CallForge, "replies").Fault != world.Poison {
		return
	}
	v := w.Choose("forged", "replies", 12, 0.9)
	if v < 2 {
		q := w.Queues[w.Names[w.Choose("forged", "queue", len(w.Names), 0.6)]]
		if q.Name == model.Shop || q.Name == port.Quarantine {
			return // the application's own
		}
		w.Trace("world", q.Name, "an unreadable message")
		Put(q, port.Message{Body: []byte([]string{"{", world.NewerBody}[v])}, 0)
		return
	}
	if v == 11 { // to a queue that is not deployed (P14)
		w.Trace("world", port.Intake, "an order that is to be answered to a queue that is not there")
		Put(w.Queues[port.Intake], port.Message{Value: &message.SubmitOrder{Schema: message.Schema,
			OrderID: "stray", Workflow: w.Def.Name, Order: NoContent, ReplyTo: "nowhere"}}, 0)
		return
	}
	o := w.AllOrders[w.Choose("forged", "order", len(w.AllOrders), 0.7)]
	t := w.Store.Task(o.Id)
	if t == nil || len(t.Steps) == 0 {
		return
	}
	s := &t.Steps[w.Choose("forged", "step", len(t.Steps), 0.7)]
	if v > 7 {
		c := &message.Control{Schema: message.Schema, Kind: message.Wake, OrderID: o.Id, Run: t.Run,
			Step: s.Name, Attempt: s.Attempt}
		switch {
		case v == 9:
			c.Step, c.Attempt = "", 0
		case v == 10:
			c = &message.Control{Schema: message.Schema, Kind: message.Settle, OrderID: o.Id}
		case s.Attempt == 0:
			return
		}
		w.Trace("world", port.Control, "a message that no actor should send: "+
			world.Describe(port.Message{Value: c}))
		Put(w.Queues[port.Control], port.Message{Value: c}, 0)
		return
	}
	if r := forged(w, t, s, v); r != nil {
		w.Trace("world", port.Replies, "a reply that no agent should send: "+
			world.Describe(port.Message{Value: r}))
		Put(w.Queues[port.Replies], port.Message{Value: r}, 0)
	}
}

// forged is a reply of the other operation, of an older attempt that says failed, of an earlier run,
// of an attempt that has not been made yet, or one that contradicts what was answered before.
func forged(w *world.Simulation, t *core.Task, s *core.Step, v int) *message.Reply {
	r := &message.Reply{Schema: message.Schema, OrderID: t.OrderID, Run: t.Run, Step: s.Name,
		Attempt: s.Attempt, Operation: core.UndoOp, Outcome: core.OutcomeDone}
	if s.Undo {
		r.Operation = core.Do
	}
	switch {
	case s.Attempt == 0 || s.First == 0:
		return nil
	case v == 2 && s.State == core.Waiting: // which asks no agent (P33)
		r.Operation = core.Do
	case v == 3 && s.Attempt > 1:
		r.Operation, r.Outcome, r.Attempt = core.Do, core.OutcomeFailed, s.Attempt-1
	case v == 4 && t.Run > 0:
		r.Operation, r.Run = core.Do, t.Run-1
	case v == 5:
		r.Outcome, r.Attempt = core.OutcomeFailed, s.Attempt+1
	case v == 6 && s.State != core.Processing:
		r.Outcome, r.Operation = core.OutcomeFailed, core.Do
		if s.Undo {
			r.Operation = core.UndoOp
		}
	case v == 7 && t.Run > 0:
		r.Outcome, r.Run, r.Operation, r.Attempt = core.OutcomeFailed, t.Run-1, core.UndoOp,
			max(1, s.Attempt-1)
	case s.Undo:
		return nil // a late "done" of the do may count
	}
	if r.Outcome != core.OutcomeDone {
		r.Error = &message.ReplyError{Code: "forged", Message: "never answered"}
	}
	return r
}
