package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// NoContent is the content of every order if the scenario sets no content.
var NoContent = json.RawMessage(`{}`)

func people(w *Simulation) {
	if w.Sc.Begun != nil {
		begin(w, w.Sc.Begun.Task)
	} else {
		application(w)
	}
	// The operator may also work during the phase with faults.
	if !w.Sc.Alone && w.Choose("world", "operator", 2, 0.3) == 1 {
		w.Operating = true
		w.After(40_000, func() { operate(w) })
	}
	for range w.Choose("world", "disturbances", 5, 0.4) {
		w.After(w.Spread("disturbance", "world", 120_000), func() { disturb(w) })
	}
}

func application(w *Simulation) {
	most := w.Sc.Orders
	if most == 0 {
		most = 4
	}
	n := 1 + w.Choose("world", "orders", most, 0.6)
	burst := w.Sc.Orders == 0 && w.Choose("world", "burst", 2, 0.04) == 1
	if burst {
		// A burst has more orders than one batch of messages can hold (P13, delete after sending). It also
		// makes a backlog for slow agents (P32, queue time is not a failure).
		n += 8
	}
	for i := 1; i <= n; i++ {
		id := "o" + strconv.Itoa(i)
		o := w.NewOrder(id, message.SubmitOrder{Schema: message.Schema, Workflow: w.Def.Name, Order: content(w)})
		if i%2 == 0 && w.Room.Limit == 0 { // too large to be stored in the task
			o.Submit.Order = append(slices.Clip(o.Submit.Order),
				bytes.Repeat([]byte(" "), protocol.InlineOrder)...)
		}
		o.Api = w.Embedded || w.Choose("api", id, 2, 0.4) == 1
		if w.Choose("silent", id, 2, 0.2) == 0 {
			o.Submit.ReplyTo = Shop
		}
		w.Orders++
		if !w.Sc.Alone && w.Choose("deadline", id, 2, 0.08) == 1 {
			o.Submit.Deadline = core.Time(w.Start + w.Now + 1000 + w.Spread("deadline", id+"/at", 120_000))
		}
		if burst {
			o.Api = w.Embedded
			submit(w, o)
		} else {
			w.After(w.Spread("submit", id, 4000), func() { submit(w, o) })
		}
		commands(w, o)
	}
}

func commands(w *Simulation, o *Order) {
	if w.Sc.Alone {
		return
	}
	answering(w, o)
	passing(w, o)
	for range w.Choose("commands", o.Id, 3, 0.15) {
		w.After(500+w.Spread("command", o.Id, 200_000), func() { interfere(w, o) })
	}
	if w.Choose("late-command", o.Id, 2, 0.06) == 1 { // the command comes minutes or days later
		late := []int64{
			25 * 60_000, 5 * Day,
			11 * 60_000,
		}[w.Choose("late-command", o.Id+"/when", 3, 0.6)]
		w.After(late+w.Spread("command", o.Id+"/late", 200_000), func() { interfere(w, o) })
	}
	for range w.Choose("erasures", o.Id, 3, 0.12) { // the order may or may not be at rest
		w.After(500+w.Spread("erase", o.Id, 900_000), func() { erase(w, o) })
	}
	if w.Choose("other-content", o.Id, 2, 0.05) == 1 {
		w.After(100+w.Spread("other", o.Id, 100_000), func() { otherContent(w, o) })
	}
}

// client returns the process of the application, which is the last process.
func client(w *Simulation) *Process { return w.Procs[len(w.Procs)-1] }

func anyScheduler(w *Simulation, why string) *Process {
	var up []*Process
	for _, p := range w.Procs {
		if p.Role == AScheduler && p.Up {
			up = append(up, p)
		}
	}
	if len(up) == 0 {
		return nil
	}
	return up[w.Choose("edge", why, len(up), 0.4)]
}

// submit sends an order. It sends the order again every minute until the order is stored or refused.
func submit(w *Simulation, o *Order) {
	if o.Acked || o.Refused {
		return
	}
	if o.Submit.ReplyTo == "" && !o.Api && w.Store.Known(o.Id) {
		o.Acked = true // the application has looked up the order
		return
	}
	if o.Submit.Deadline != 0 && core.Time(w.Start+w.Now-w.Skew()) > o.Submit.Deadline && !w.Store.Known(o.Id) {
		o.Refused = true // the application stops submitting, and the Scheduler refuses the queued messages
		return
	}
	w.After(60_000, func() { submit(w, o) })
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
	invoke(w, p, func(iv *Invocation) {
		m := o.Submit
		iv.Direct = &m
		iv.About = o.Id
		r := p.Scheduler.Submit(ctx, []message.SubmitOrder{o.Submit})[0]
		if iv.Dead {
			return
		}
		switch {
		case r.Refusal != nil:
			o.Refused = true
		case r.Err == nil:
			acknowledged(w, o)
		}
	})
}

// otherContent submits an order with the ID of a stored order and other content. The Scheduler must refuse it
// (P14, submit creates once).
func otherContent(w *Simulation, o *Order) {
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

// acknowledged records the acknowledgement of an order. It checks invariant 1: an acknowledged order is
// stored.
func acknowledged(w *Simulation, o *Order) {
	o.Acked = true
	w.never(!w.Store.Known(o.Id), "1", "order %s was acknowledged and is not stored", o.Id)
}

// received handles a status that the application has received.
func received(w *Simulation, q *Queue, d port.Delivery) {
	if q.Name != Shop {
		return
	}
	s, err := message.Of[message.Status](d)
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

// interfere sends one command of a person about an order. Most commands are valid. Some have a wrong number
// or run, or the ID of an earlier command.
func interfere(w *Simulation, o *Order) {
	t := w.Store.Task(o.Id)
	names := []string{core.Cancel, core.Resubmit, core.UndoCommand, core.Resolve, core.Close, core.Move}
	name := names[w.Choose("kind", o.Id, len(names), 0.5)]
	if t != nil && t.ProcessState == core.Compensated && name != core.Cancel && name != core.Move {
		name = core.Resubmit // no other command is useful for an undone order
	}
	c, ok := command(w, o, t, name)
	if !ok {
		return
	}
	number := c.Number
	switch w.Choose("variation", o.Id, 7, 0.35) {
	case 1:
		number = max(0, number-1)
	case 2:
		number++
	case 3: // the ID of the previous command, with the same or other content
		c.ID = fmt.Sprintf("%s-c%d", o.Id, max(1, o.Commands-1))
	case 4:
		c.Run = max(0, c.Run-1) // only a Cancel has a run
	case 5:
		if name == core.Resubmit {
			c.Deadline = core.Time(w.Start + w.Now + 1000 + w.Spread("deadline", o.Id, 120_000))
			if w.Choose("deadline", o.Id+"/passed", 2, 0.3) == 1 {
				c.Deadline -= 121_000
			}
		}
	case 6:
		if name == core.Resolve && t != nil && len(t.Steps) > 0 {
			if step := t.Steps[w.Choose("wrong", o.Id, len(t.Steps), 0.7)].Name; !believed(w, t, step) {
				c.Step = step
			}
		}
	}
	ev := core.Stamped(c, c.ID, c.Sender, number)
	direct := w.Choose("by", o.Id, 2, 0.5) == 1 || w.Embedded
	instruct(w, o, ev, direct)
	if w.Choose("insists", o.Id, 2, 0.05) == 0 {
		return
	}
	// The person repeats the command, with new IDs and the present number, and at the end the first one.
	after := int64(0)
	for range 8 + w.Choose("insists", o.Id+"/times", 12, 0.5) {
		id := nextID(o)
		after += 1 + w.Spread("insists", o.Id, 2_000)
		w.After(after, func() {
			now := number
			if t := w.Store.Task(o.Id); t != nil {
				now = t.Commands.Number
			}
			instruct(w, o, core.Stamped(ev, id, c.Sender, now), direct)
		})
	}
	w.After(after+1+w.Spread("insists", o.Id+"/first", 60_000), func() { instruct(w, o, ev, direct) })
}

func nextID(o *Order) string {
	o.Commands++
	return fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.Id, "~", "."), o.Commands)
}

// command returns a command for the task. It returns false if the operator has nothing to state in a Resolve.
func command(w *Simulation, o *Order, t *protocol.Task, name string) (core.Command, bool) {
	c := core.Command{Name: name, ID: nextID(o)}
	switch {
	case t != nil && name == core.Cancel:
		c.Run = t.Run
	case t != nil:
		c.Number = t.Commands.Number
	}
	switch name {
	case core.Close:
		c.Sender = core.Sender{By: "ann", Reason: "settled by hand"}
	case core.Erase:
		c.Sender = core.Sender{By: "ann", Reason: "asked to"}
	case core.Resolve:
		return c, resolve(w, o, t, &c)
	case core.Move:
		c.Definition = aim(w, o)
	case core.Resubmit:
		switch w.Choose("aims", o.Id, 3, 0.25) {
		case 1:
			c.Definition = aim(w, o)
		case 2:
			correct(w, o, t, &c)
		}
	}
	return c, true
}

// resolve adds a step and a fact to a Resolve command, which the Scheduler may have to refuse. It returns false if the
// operator can state no fact.
func resolve(w *Simulation, o *Order, t *protocol.Task, c *core.Command) bool {
	if step := stillWaits(t); step != "" && w.Choose("hasty", o.Id+"/wait", 2, 0.5) == 1 {
		// The command ends a wait for a time in an order that goes forward. Otherwise the Scheduler must refuse
		// it (P33, a waiting step asks no agent).
		c.Step = step
		c.Fact = core.Happened
		return true
	}
	c.Step, c.Fact = fact(w, t)
	if c.Step == "" {
		if w.Quiescing || t == nil || len(t.Steps) == 0 || w.Choose("hasty", o.Id, 2, 0.5) == 0 {
			return false
		}
		// The Scheduler must refuse this command. Either the result of the step is known, or an agent may
		// still work on the step.
		c.Step = t.Steps[w.Choose("hasty", o.Id+"/step", len(t.Steps), 0.7)].Name
		c.Fact = core.Happened
		if believed(w, t, c.Step) {
			return false // the Scheduler could accept the fact, which may be false
		}
	}
	if c.Fact == core.Happened && w.Choose("output", o.Id, 2, 0.4) == 1 {
		c.Output = json.RawMessage(fmt.Sprintf(`{"stated":%d}`, o.Commands))
	}
	return true
}

// correct adds another input for a step to a Resubmit command. It usually chooses a failed step, and
// sometimes any step.
func correct(w *Simulation, o *Order, t *protocol.Task, c *core.Command) {
	if t == nil || len(t.Steps) == 0 {
		return
	}
	i := slices.IndexFunc(t.Steps, func(s protocol.Step) bool { return s.State == core.Failed })
	if i < 0 || w.Choose("corrects", o.Id, 2, 0.3) == 1 {
		i = w.Choose("corrects", o.Id+"/step", len(t.Steps), 0.7)
	}
	c.Step = t.Steps[i].Name
	c.Input = json.RawMessage(fmt.Sprintf(`{"given":%d}`, o.Commands))
}

// stillWaits returns the name of a waiting step of an order in Error, or "" if no step waits.
func stillWaits(t *protocol.Task) string {
	if t != nil && t.ProcessState == core.Error {
		if i := slices.IndexFunc(t.Steps, func(s protocol.Step) bool { return s.State == core.Waiting }); i >= 0 {
			return t.Steps[i].Name
		}
	}
	return ""
}

// aim returns the definition for a Move or a Resubmit: the hash of a stored definition, message.Latest, or an
// unknown hash.
func aim(w *Simulation, o *Order) string {
	defs := w.Defs
	if t := w.Store.Task(o.Id); t != nil && t.Parent != nil {
		defs = slices.DeleteFunc(slices.Clone(w.Below),
			func(d *core.Definition) bool { return d.Name != t.Workflow })
	}
	n := len(defs)
	switch k := w.Choose("definition", o.Id, n+2, 0.8); {
	case k == n:
		return message.Latest
	case k < n:
		hash := defs[n-1-k].Hash
		if _, err := w.Store.Definition(context.Background(), hash); err == nil {
			return hash
		}
	}
	return strings.Repeat("0", len(w.Def.Hash))
}

// believed reports whether the Scheduler may accept a fact about the step. If so, the operator must not state
// a false fact.
func believed(w *Simulation, t *protocol.Task, step string) bool {
	s := t.Step(step)
	return t.ProcessState == core.Error && inDoubt(s) && core.Time(w.Start+w.Now+w.Skew()) > s.LastStop()
}

// byAnyWay sends a command to a Scheduler, or as a message.
func byAnyWay(w *Simulation, o *Order, ev core.Event) {
	instruct(w, o, ev, w.Embedded || w.Choose("by", o.Id, 2, 0.5) == 1)
}

// instruct sends a command. If direct is true and a Scheduler runs, instruct calls the Scheduler. Otherwise
// instruct sends a message. In embedded mode it sends no message.
func instruct(w *Simulation, o *Order, ev core.Event, direct bool) {
	c := message.Control{OrderID: o.Id, Event: ev}
	w.Trace("operator", "", fmt.Sprintf("%s %s %s %s", c.Kind(), c.OrderID, stepOf(ev), core.CommandOf(ev).Fact))
	if p := anyScheduler(w, o.Id); direct && p != nil {
		invoke(w, p, func(iv *Invocation) {
			iv.Direct = &c
			iv.About = c.OrderID
			_, _ = p.Scheduler.Command(ctx, c)
		})
		return
	}
	if !w.Embedded {
		_ = send(w, client(w), w.Queues[port.Control], port.Message{Value: &c})
	}
}
