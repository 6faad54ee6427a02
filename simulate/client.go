package simulate

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
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// order is one order as the application and the operator know it.
type order struct {
	id       string
	submit   message.SubmitOrder
	api      bool // submitted through the edge, and not through the intake queue
	acked    bool // an answer said that it is stored
	refused  bool
	early    bool // cancelled before it was submitted
	commands int
	seen     history
}

var noContent = json.RawMessage(`{}`)

// people sets the application and the operator to work.
func (w *simulation) people() {
	if w.sc.Begun != nil {
		w.begin(w.sc.Begun.Task)
	} else {
		w.application()
	}
	if !w.sc.Alone && w.choose("world", "operator", 2, 0.3) == 1 { // he is there while faults happen, too
		w.operating = true
		w.after(40_000, w.operate)
	}
	for range w.choose("world", "disturbances", 5, 0.4) {
		w.after(w.spread("disturbance", "world", 120_000), w.disturb)
	}
}

// application submits the orders.
func (w *simulation) application() {
	most := w.sc.Orders
	if most == 0 {
		most = 4
	}
	n := 1 + w.choose("world", "orders", most, 0.6)
	burst := w.sc.Orders == 0 && w.choose("world", "burst", 2, 0.04) == 1
	if burst {
		n += 8 // more than a batch of messages at once (P13), and a flood for who is slow (P32)
	}
	for i := 1; i <= n; i++ {
		id := "o" + strconv.Itoa(i)
		o := &order{id: id, seen: newHistory(), submit: message.SubmitOrder{Schema: message.Schema,
			OrderID: id, Workflow: w.def.Name, Order: w.content()}}
		if i%2 == 0 && w.driver == nil && w.room.Limit == 0 { // every second order is kept apart
			o.submit.Order = append(slices.Clip(o.submit.Order),
				bytes.Repeat([]byte(" "), core.InlineOrder(w.def))...)
		}
		o.api = w.embedded || w.choose("api", id, 2, 0.4) == 1
		if w.choose("silent", id, 2, 0.2) == 0 {
			o.submit.ReplyTo = model.Shop
		}
		w.orders, w.byID[id] = append(w.orders, o), o
		w.Orders++
		if !w.sc.Alone && w.choose("deadline", id, 2, 0.08) == 1 {
			o.submit.Deadline = core.Time(w.start + w.now + 1000 + w.spread("deadline", id+"/at", 120_000))
		}
		if burst {
			o.api = w.embedded
			w.submit(o)
		} else {
			w.after(w.spread("submit", id, 4000), func() { w.submit(o) })
		}
		w.commands(o)
	}
}

// commands are what people send about an order, beside what its course asks for.
func (w *simulation) commands(o *order) {
	if w.sc.Alone {
		return
	}
	w.answering(o)
	for range w.choose("commands", o.id, 3, 0.15) {
		w.after(500+w.spread("command", o.id, 200_000), func() { w.interfere(o) })
	}
	if w.choose("late-command", o.id, 2, 0.06) == 1 { // minutes later, or days
		late := []int64{25 * 60_000, 5 * day, 11 * 60_000}[w.choose("late-command", o.id+"/when", 3, 0.6)]
		w.after(late+w.spread("command", o.id+"/late", 200_000), func() { w.interfere(o) })
	}
	for range w.choose("erasures", o.id, 3, 0.12) { // at rest or not
		w.after(500+w.spread("erase", o.id, 900_000), func() { w.erase(o) })
	}
	if w.choose("other-content", o.id, 2, 0.05) == 1 {
		w.after(100+w.spread("other", o.id, 100_000), func() { w.otherContent(o) })
	}
}

// client is the process of the application.
func (w *simulation) client() *process { return w.procs[len(w.procs)-1] }

// anyScheduler is one that is there, nil where none is.
func (w *simulation) anyScheduler(why string) *process {
	var up []*process
	for _, p := range w.procs {
		if p.role == aScheduler && p.up {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.choose("edge", why, len(up), 0.4)]
}

// submit sends an order, again and again until an answer says that it is stored.
func (w *simulation) submit(o *order) {
	if o.acked || o.refused {
		return
	}
	if o.submit.ReplyTo == "" && !o.api && w.store.rows[o.id].known() {
		o.acked = true // it looked the order up
		return
	}
	if o.submit.Deadline != 0 && core.Time(w.start+w.now-w.skew()) > o.submit.Deadline &&
		w.store.rows[o.id] == nil {
		o.refused = true // it gives up: what of it still lies in the queue is refused too
		return
	}
	w.after(60_000, func() { w.submit(o) })
	if !o.api {
		m := o.submit
		w.trace("application", port.Intake, "submits "+o.id)
		_ = w.send(w.client(), w.queues[port.Intake], port.Message{Value: &m})
		return
	}
	p := w.anyScheduler(o.id)
	if p == nil {
		return
	}
	w.trace("application", p.name, "submits "+o.id)
	w.invoke(p, "submit", func(iv *invocation) {
		m := o.submit
		iv.direct, iv.about = &m, o.id
		r := p.scheduler.Submit(ctx, []message.SubmitOrder{o.submit})[0]
		if iv.dead {
			return
		}
		switch r.Answer {
		case scheduler.Stored, scheduler.Known:
			w.acknowledged(o)
			iv.finished(func(string) bool { return true })
		case scheduler.Refused:
			o.refused = true
		}
	})
}

// otherContent submits something else under the same ID: it must be refused, or be first (P14).
func (w *simulation) otherContent(o *order) {
	if w.store.task(o.id) == nil {
		return
	}
	m := o.submit
	m.Order = json.RawMessage(`{"other":true}`)
	if string(o.submit.Order) == string(m.Order) {
		return
	}
	w.trace("application", port.Intake, "submits "+o.id+" with other content")
	_ = w.send(w.client(), w.queues[port.Intake], port.Message{Value: &m})
}

// acknowledged: an order that was answered as stored must be there (invariant 1).
func (w *simulation) acknowledged(o *order) {
	o.acked = true
	w.checks.did("1")
	if !w.store.rows[o.id].known() {
		w.violate("1", "order %s was acknowledged and is not stored", o.id)
	}
}

// received checks what the application receives.
func (w *simulation) received(iv *invocation, q *queue, l *letter, d port.Delivery) {
	if q.name != model.Shop {
		return
	}
	s, err := message.StatusOf(d)
	if err != nil {
		w.violate("18", "the application cannot read a status: %v", err)
		return
	}
	o := w.byID[s.OrderID]
	if o == nil {
		return
	}
	switch {
	case s.Kind == core.StatusRefused && !o.acked && s.Code != "other-content":
		o.refused = true
	case s.Kind != core.StatusRefused:
		w.acknowledged(o)
	}
	o.seen.received[s.Seq] = true
}

// interfere is a person who gives a command, or tries to: mostly one that fits, and now and then one
// with a number that is none any more, or with the ID of another.
func (w *simulation) interfere(o *order) {
	t := w.store.task(o.id)
	kinds := []message.ControlKind{message.Cancel, message.Resubmit, message.Undo, message.Resolve,
		message.Close, message.Move}
	kind := kinds[w.choose("kind", o.id, len(kinds), 0.5)]
	if t != nil && t.ProcessState == core.Compensated && kind != message.Cancel && kind != message.Move {
		kind = message.Resubmit // what else is there to do with it
	}
	if t == nil {
		o.early = true
	}
	c := w.command(o, t, kind)
	if c == nil {
		return
	}
	switch w.choose("variation", o.id, 7, 0.35) {
	case 1:
		c.Command = max(0, c.Command-1)
	case 2:
		c.Command++
	case 3: // the same command a second time, or another one with its ID
		c.ID = fmt.Sprintf("%s-c%d", o.id, max(1, o.commands-1))
	case 4:
		c.Run = max(0, c.Run-1)
	case 5:
		if kind == message.Resubmit {
			c.Deadline = core.Time(w.start + w.now + 1000 + w.spread("deadline", o.id, 120_000))
			if w.choose("deadline", o.id+"/passed", 2, 0.3) == 1 {
				c.Deadline -= 121_000
			}
		}
	case 6:
		if kind == message.Resolve && t != nil && len(t.Steps) > 0 {
			if step := t.Steps[w.choose("wrong", o.id, len(t.Steps), 0.7)].Name; !w.believed(t, step) {
				c.Step = step
			}
		}
	}
	direct := w.choose("by", o.id, 2, 0.5) == 1 || w.embedded
	w.instruct(o, *c, direct)
	if w.choose("insists", o.id, 2, 0.05) == 1 {
		w.insist(o, *c, direct)
	}
}

// insist is a person who sends a command again and again, each time under a new ID and with the number that
// stands then, and whose first message comes once more at the end.
func (w *simulation) insist(o *order, c message.Control, direct bool) {
	first, after := c, int64(0)
	for range 8 + w.choose("insists", o.id+"/times", 12, 0.5) {
		o.commands++
		c.ID = fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.id, "~", "."), o.commands)
		next := c
		after += 1 + w.spread("insists", o.id, 2_000)
		w.after(after, func() {
			if t := w.store.task(o.id); t != nil && next.Kind != message.Cancel {
				next.Command = t.Command
			}
			w.instruct(o, next, direct)
		})
	}
	w.after(after+1+w.spread("insists", o.id+"/first", 60_000), func() { w.instruct(o, first, direct) })
}

// command makes a command of what the person sees.
func (w *simulation) command(o *order, t *core.Task, kind message.ControlKind) *message.Control {
	if kind == message.Answer {
		return w.answer(o, t)
	}
	o.commands++
	c := &message.Control{Schema: message.Schema, Kind: kind, OrderID: o.id,
		ID: fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.id, "~", "."), o.commands)}
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
		if step := stillWaits(t); step != "" && w.choose("hasty", o.id+"/wait", 2, 0.5) == 1 {
			c.Step, c.Fact = step, core.Happened // nothing of it is in doubt (P33)
			break
		}
		if c.Step, c.Fact = w.fact(t); c.Step == "" {
			if w.quiescing || t == nil || len(t.Steps) == 0 || w.choose("hasty", o.id, 2, 0.5) == 0 {
				return nil
			}
			// Nothing is in doubt, or an agent may still be at work: it must be refused.
			c.Step, c.Fact = t.Steps[w.choose("hasty", o.id+"/step", len(t.Steps), 0.7)].Name, core.Happened
			if w.believed(t, c.Step) {
				return nil // that would be a lie
			}
		}
		if c.Fact == core.Happened && w.choose("output", o.id, 2, 0.4) == 1 {
			c.Output = json.RawMessage(fmt.Sprintf(`{"stated":%d}`, o.commands))
		}
	case message.Move:
		c.Run, c.Definition = 0, w.aim(o)
	case message.Resubmit:
		c.Run = 0
		switch w.choose("aims", o.id, 3, 0.25) {
		case 1:
			c.Definition = w.aim(o)
		case 2:
			w.correct(o, t, c)
		}
	default:
		c.Run = 0
	}
	return c
}

// correct gives a step another input: mostly one that has failed, now and then any other.
func (w *simulation) correct(o *order, t *core.Task, c *message.Control) {
	if t == nil || len(t.Steps) == 0 {
		return
	}
	i := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.State == core.Failed })
	if i < 0 || w.choose("corrects", o.id, 2, 0.3) == 1 {
		i = w.choose("corrects", o.id+"/step", len(t.Steps), 0.7)
	}
	c.Step, c.Input = t.Steps[i].Name, json.RawMessage(fmt.Sprintf(`{"given":%d}`, o.commands))
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
func (w *simulation) aim(o *order) string {
	defs := w.defs
	if t := w.store.task(o.id); t != nil && t.Parent != nil {
		defs = slices.DeleteFunc(slices.Clone(w.below),
			func(d *core.Definition) bool { return d.Name != t.Workflow })
	}
	n := len(defs)
	switch k := w.choose("definition", o.id, n+2, 0.8); {
	case k == n:
		return message.Latest
	case k < n && w.store.defs[defs[n-1-k].Hash] != nil: // no order has run another one yet
		return defs[n-1-k].Hash
	}
	return strings.Repeat("0", len(w.def.Hash))
}

// believed: a fact about the step may be taken, so that it must be true.
func (w *simulation) believed(t *core.Task, step string) bool {
	s := t.Step(step)
	return t.ProcessState == core.Error && inDoubt(s) && core.Time(w.start+w.now+w.skew()) > s.LastStop()
}

// instruct sends a command.
func (w *simulation) instruct(o *order, c message.Control, direct bool) {
	w.trace("operator", "", fmt.Sprintf("%s %s %s %s", c.Kind, c.OrderID, c.Step, c.Fact))
	if p := w.anyScheduler(o.id); direct && p != nil {
		w.invoke(p, string(c.Kind), func(iv *invocation) {
			iv.direct, iv.about = &c, c.OrderID
			if _, err := p.scheduler.Command(ctx, c); err == nil {
				iv.finished(func(string) bool { return true })
			}
		})
		return
	}
	if !w.embedded {
		_ = w.send(w.client(), w.queues[port.Control], port.Message{Value: &c})
	}
}

// fact is the truth about the first step in doubt: the operator asks the service before he speaks.
func (w *simulation) fact(t *core.Task) (string, core.Fact) {
	if t == nil || t.ProcessState != core.Error {
		return "", ""
	}
	now, def := core.Time(w.start+w.now-w.skew()), w.defOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		d := &def.Steps[i]
		svc := w.services[core.Key(t.OrderID, t.Run, s.Name)]
		doubtful := inDoubt(s)
		// What was stated since the last claim needs no repetition.
		stated := s.Resolved != nil && s.Resolved.At > s.ClaimedAt
		if !doubtful || stated || svc != nil && svc.pending > 0 ||
			now <= s.LastStop().Add(def.Agents[d.Agent].ClockSkew) {
			continue
		}
		switch {
		case svc != nil && svc.net > 0 && (t.Phase == core.Undoing || s.State == core.UndoWait) &&
			w.conf(d.Agent).NoUndo:
			w.trace("operator", "", "undoes "+svc.key+" by hand")
			svc.net, svc.undone = 0, true
			return s.Name, core.Undone
		case svc != nil && (svc.net > 0 || w.noEffect(t, s.Name) && svc.applied > 0):
			return s.Name, core.Happened
		case t.Phase == core.Undoing || s.State == core.UndoWait:
			return s.Name, core.Undone
		}
		return s.Name, core.NotHappened
	}
	return "", ""
}

// operate is the operator after the faults: every little while he looks after what has stopped.
func (w *simulation) operate() {
	if w.operating = w.restless() && (!w.quiescing || w.stopped()); !w.operating {
		return // the next commit, if there is one, has him look again
	}
	for _, o := range w.orders {
		t := w.store.task(o.id)
		if w.halfErased(o) {
			w.erase(o)
			continue
		}
		if t == nil || t.ProcessState != core.Error || !t.AtRest() || t.ResendAt != 0 {
			continue
		}
		kind := message.Resubmit
		if w.doubt(t) && w.choose("careless", o.id, 2, 0.1) == 0 {
			kind = message.Resolve
		} else if w.triedInVain(o, t) {
			if kind = message.Undo; w.past(t) || undoFails(t) {
				kind = message.Close
			}
		} else if w.choose("decides", o.id, 2, 0.4) == 1 && !w.past(t) {
			kind = message.Undo
		} else if w.choose("closes", o.id, 2, 0.1) == 1 {
			kind = message.Close
		} else if w.choose("moves", o.id, 2, 0.15) == 1 {
			kind = message.Move
		}
		// its parent could not undo it any more: see the stories child-*
		if kind == message.Close && t.Parent != nil {
			kind = message.Undo
		}
		if c := w.command(o, t, kind); c != nil {
			w.instruct(o, *c, w.embedded || w.choose("by", o.id, 2, 0.5) == 1)
		}
	}
	if w.quiescing {
		w.after(30_000, w.operate)
	} else {
		w.after(10*60_000, w.operate)
	}
}

// erase has an order erased, whatever it is doing. A child is left alone: see the tests of the Scheduler.
func (w *simulation) erase(o *order) {
	if t := w.store.task(o.id); t == nil || t.Parent == nil {
		w.instruct(o, *w.command(o, t, message.Erase), w.embedded || w.choose("by", o.id, 2, 0.5) == 1)
	}
}

// halfErased reports an erased order whose content is still there, because the handling died between the two.
func (w *simulation) halfErased(o *order) bool {
	r := w.store.rows[o.id]
	return r != nil && r.task != nil && r.task.Erased != nil && r.content != nil
}

// undoFails: the input of an undo cannot be computed, however often it is tried.
func undoFails(t *core.Task) bool {
	return slices.ContainsFunc(t.Steps, func(s core.Step) bool {
		return s.State == core.UndoWait && s.Error != nil && s.Error.Code == "expression"
	})
}

// triedInVain reports that one more round might go on for ever: after many commands an answer, the end of its
// time, a rule, the children, an input, or an output that does not fit has stopped the task again.
func (w *simulation) triedInVain(o *order, t *core.Task) bool {
	switch {
	case !w.quiescing || o.commands < 12:
		return false
	case undoFails(t):
		return true
	case t.Phase != core.Forward:
		return false
	}
	def := w.defOf(t)
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == core.Failed && (def.Steps[i].Agent == "" || s.Error != nil &&
			slices.Contains([]string{"expression", short}, s.Error.Code)) {
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
func (w *simulation) doubt(t *core.Task) bool {
	def := w.defOf(t)
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
			w.ledgers[d.Agent].entries[core.Key(t.OrderID, t.Run, s.Name)].State == worker.StateFailed {
			continue // refused, and proven without effect: it can be tried again
		}
		if inDoubt(s) && (s.Resolved == nil || s.Resolved.At <= s.ClaimedAt) &&
			(d.Grade == core.Plain || s.State == core.Failed && s.Error != nil && s.Error.Code == short ||
				w.conf(d.Agent).NoUndo && (t.Phase == core.Undoing || s.State == core.UndoWait) ||
				def.Agents[d.Agent].KeyRetention > 0) {
			return true
		}
	}
	return false
}

// past reports a task that is past its point of no return.
func (w *simulation) past(t *core.Task) bool { return model.PastReturn(w.defOf(t), t) }

// restless reports an order that has not come to its end.
func (w *simulation) restless() bool {
	return slices.ContainsFunc(w.orders, func(o *order) bool { return !w.rests(o) })
}

// stopped reports an order that waits for the operator.
func (w *simulation) stopped() bool {
	return slices.ContainsFunc(w.orders, func(o *order) bool {
		t := w.store.task(o.id)
		return t != nil && t.ProcessState == core.Error || w.halfErased(o)
	})
}

func (w *simulation) rests(o *order) bool {
	t := w.store.task(o.id)
	switch {
	case t == nil:
		return o.refused || w.store.rows[o.id].known() // expired after its end
	case !o.acked && !o.refused:
		return false
	}
	return t.Terminal() && t.AtRest() && !w.halfErased(o)
}

// unended lists the orders that have not come to their end, for a report.
func (w *simulation) unended() string {
	text := ""
	for _, o := range w.orders {
		if w.rests(o) {
			continue
		}
		t := w.store.task(o.id)
		if t == nil {
			text += fmt.Sprintf("%s is not stored (acknowledged %v, refused %v); ", o.id, o.acked, o.refused)
			continue
		}
		text += fmt.Sprintf("%s is %s %s (reported %v)", o.id, t.ProcessState, t.Phase, t.ResendAt == 0)
		for i := range t.Steps {
			text += fmt.Sprintf(" %s=%s/%d", t.Steps[i].Name, t.Steps[i].State, t.Steps[i].Attempt)
		}
		text += "; "
	}
	return text
}

// disturb is what happens to the deployment itself.
func (w *simulation) disturb() {
	if w.quiescing {
		return
	}
	switch w.choose("disturb", "world", 4, 0.75) {
	case 0:
		w.jump()
	case 1:
		w.forge()
	case 2:
		w.expire()
	case 3:
		w.redeploy()
	}
}

// jump moves a clock, within what the workflow declares.
func (w *simulation) jump() {
	p := w.procs[w.choose("whose", "clock", len(w.procs)-1, 0.9)]
	if w.inject(p.role, callClock, p.name).fault == ClockJump {
		p.offset = w.skewed(p.name)
		w.trace("world", p.name, "its clock jumps")
	}
}

// expire is the TTL of a record, early or late.
func (w *simulation) expire() {
	if len(w.below) > 0 { // a child that is gone is in doubt: see the stories child-*
		return
	}
	for _, id := range w.store.ids {
		r := w.store.rows[id]
		if r.record == nil || !r.task.Terminal() || !r.task.AtRest() {
			continue
		}
		if w.inject(aClient, callExpire, id).fault == TTL {
			w.trace("world", "", "the record of "+id+" expires; its ID stays (P26)")
			r.expire()
			// an old copy of the order comes
			if o := w.byID[id]; o != nil && w.choose("resubmits", id, 2, 0.5) == 1 {
				m := o.submit
				w.after(w.spread("resubmits", id+"/when", 60_000),
					func() { _ = w.send(w.client(), w.queues[port.Intake], port.Message{Value: &m}) })
			}
		}
	}
}

// redeploy gives one instance a newer version of the workflow: old and new run side by side.
func (w *simulation) redeploy() {
	p := w.procs[0]
	if w.newer == nil || len(p.running) > 0 || w.inject(aScheduler, callDeploy, p.name).fault != MixedCode {
		return
	}
	w.trace("world", p.name, "runs a newer version of the workflow")
	p.deploy = 1
}

// newerBody is a message of a version of the program that is not deployed here.
const newerBody = `{"schema":9,"task":"o1","run":0,"step":"x","attempt":1,"operation":"do","outcome":"done","waited":0}`

// forge is a message that no actor should send, or that is unreadable.
func (w *simulation) forge() {
	if w.inject(aClient, callForge, "replies").fault != Poison {
		return
	}
	v := w.choose("forged", "replies", 12, 0.9)
	if v < 2 {
		q := w.queues[w.names[w.choose("forged", "queue", len(w.names), 0.6)]]
		if q.name == model.Shop || q.name == port.Quarantine {
			return // the application's own
		}
		w.trace("world", q.name, "an unreadable message")
		q.put(port.Message{Body: []byte([]string{"{", newerBody}[v])}, 0)
		return
	}
	if v == 11 { // to a queue that is not deployed (P14)
		w.trace("world", port.Intake, "an order that is to be answered to a queue that is not there")
		w.queues[port.Intake].put(port.Message{Value: &message.SubmitOrder{Schema: message.Schema,
			OrderID: "stray", Workflow: w.def.Name, Order: noContent, ReplyTo: "nowhere"}}, 0)
		return
	}
	o := w.orders[w.choose("forged", "order", len(w.orders), 0.7)]
	t := w.store.task(o.id)
	if t == nil || len(t.Steps) == 0 {
		return
	}
	s := &t.Steps[w.choose("forged", "step", len(t.Steps), 0.7)]
	if v > 7 {
		c := &message.Control{Schema: message.Schema, Kind: message.Wake, OrderID: o.id, Run: t.Run,
			Step: s.Name, Attempt: s.Attempt}
		switch {
		case v == 9:
			c.Step, c.Attempt = "", 0
		case v == 10:
			c = &message.Control{Schema: message.Schema, Kind: message.Settle, OrderID: o.id}
		case s.Attempt == 0:
			return
		}
		w.trace("world", port.Control, "a message that no actor should send: "+
			describe(port.Message{Value: c}))
		w.queues[port.Control].put(port.Message{Value: c}, 0)
		return
	}
	if r := w.forged(t, s, v); r != nil {
		w.trace("world", port.Replies, "a reply that no agent should send: "+describe(port.Message{Value: r}))
		w.queues[port.Replies].put(port.Message{Value: r}, 0)
	}
}

// forged is a reply of the other operation, of an older attempt that says failed, of an earlier run,
// of an attempt that has not been made yet, or one that contradicts what was answered before.
func (w *simulation) forged(t *core.Task, s *core.Step, v int) *message.Reply {
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
