package simulate

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func disturb(w *Simulation) {
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

func jump(w *Simulation) {
	p := w.Procs[w.Choose("whose", "clock", len(w.Procs)-1, 0.9)]
	if inject(w, p.Role, CallClock, p.Name).Fault == ClockJump {
		p.Offset = skewed(w, p.Name)
		w.Trace("world", p.Name, "its clock jumps")
	}
}

// expire removes the records of some ended orders, as the time to live (TTL) of a table does.
func expire(w *Simulation) {
	if len(w.Below) > 0 { // the stories shared/protocol/testdata/stories/child-* cover the expiry of a child
		return
	}
	for _, r := range w.Store.Rows {
		id := r.ID
		if r.Task == nil || !r.Task.Terminal() || !r.Task.AtRest() {
			continue
		}
		if inject(w, AClient, CallExpire, id).Fault == TTL {
			w.Trace("world", "", "the record of "+id+" expires; its ID stays (P26)")
			w.Store.Expire(r)
			// The application may send a late copy of the expired order.
			if o := w.ByID[id]; o != nil && w.Choose("resubmits", id, 2, 0.5) == 1 {
				m := o.Submit
				w.After(w.Spread("resubmits", id+"/when", 60_000),
					func() { _ = send(w, client(w), w.Queues[port.Intake], port.Message{Value: &m}) })
			}
		}
	}
}

// redeploy deploys a newer version of the workflow to the first Scheduler. The other processes keep the old
// version.
func redeploy(w *Simulation) {
	p := w.Procs[0]
	if w.Newer() == nil || len(p.Running) > 0 || inject(w, AScheduler, CallDeploy, p.Name).Fault != MixedCode {
		return
	}
	w.Trace("world", p.Name, "runs a newer version of the workflow")
	p.Deploy = 1
}

func forge(w *Simulation) {
	if inject(w, AClient, CallForge, "replies").Fault != Poison {
		return
	}
	v := w.Choose("forged", "replies", 12, 0.9)
	if v < 2 {
		q := w.Queues[w.Names[w.Choose("forged", "queue", len(w.Names), 0.6)]]
		if q.Name == Shop || q.Name == core.Events || q.Name == port.Quarantine {
			return // the application reads these queues
		}
		w.Trace("world", q.Name, "an unreadable message")
		put(q, port.Message{Body: []byte([]string{"{", NewerBody}[v])}, 0)
		return
	}
	if v == 11 { // the order names a reply-to queue that does not exist (P14, submit creates once)
		w.Trace("world", port.Intake, "an order that is to be answered to a queue that is not there")
		put(w.Queues[port.Intake], port.Message{Value: &message.SubmitOrder{
			Schema:  message.Schema,
			OrderID: "stray", Workflow: w.Def.Name, Order: NoContent, ReplyTo: "nowhere",
		}}, 0)
		return
	}
	o := w.AllOrders[w.Choose("forged", "order", len(w.AllOrders), 0.7)]
	t := w.Store.Task(o.Id)
	if t == nil || len(t.Steps) == 0 {
		return
	}
	s := &t.Steps[w.Choose("forged", "step", len(t.Steps), 0.7)]
	if v > 7 {
		c := &message.Control{OrderID: o.Id, Event: core.Wake{Run: t.Run, Step: s.Name, Attempt: s.Attempt}}
		switch {
		case v == 10:
			c.Event = core.Settle{}
		case s.Attempt == 0:
			return
		}
		w.Trace("world", port.Control, "a message that no actor should send: "+
			Describe(port.Message{Value: c}))
		put(w.Queues[port.Control], port.Message{Value: c}, 0)
		return
	}
	if r := forged(t, s, v); r != nil {
		w.Trace("world", port.Replies, "a reply that no agent should send: "+Describe(port.Message{Value: r}))
		put(w.Queues[port.Replies], port.Message{Value: r}, 0)
	}
}

// forged returns a reply that no agent should send, or nil if no such reply fits the step. The parameter v
// selects the reply:
//   - 3: a failure of an older attempt
//   - 4: a success of an earlier run
//   - 5: a failure of a future attempt
//   - 6: a failure of a step that is no longer Processing
//   - 7: a failed undo of an earlier run
//
// Any other v gives the success of the operation that was not claimed. So does a v that does not fit the
// task.
func forged(t *protocol.Task, s *protocol.Step, v int) *message.Reply {
	r := &message.Reply{
		Schema: message.Schema, OrderID: t.OrderID, Run: t.Run, Step: s.Name,
		Attempt: s.Attempt, Operation: core.UndoOp, Outcome: core.OutcomeDone,
	}
	if s.Claim.Undo {
		r.Operation = core.Do
	}
	switch {
	case s.Attempt == 0 || s.First.Nth == 0:
		return nil
	case v == 2 && s.State == core.Waiting:
		// The step waits and has never had a request (P33, a waiting step asks no agent).
		r.Operation = core.Do
	case v == 3 && s.Attempt > 1:
		r.Operation = core.Do
		r.Outcome = core.OutcomeFailed
		r.Attempt = s.Attempt - 1
	case v == 4 && t.Run > 0:
		r.Operation = core.Do
		r.Run = t.Run - 1
	case v == 5:
		r.Outcome = core.OutcomeFailed
		r.Attempt = s.Attempt + 1
	case v == 6 && s.State != core.Processing:
		r.Outcome = core.OutcomeFailed
		r.Operation = core.Do
		if s.Claim.Undo {
			r.Operation = core.UndoOp
		}
	case v == 7 && t.Run > 0:
		r.Outcome = core.OutcomeFailed
		r.Run = t.Run - 1
		r.Operation = core.UndoOp
		r.Attempt = max(1, s.Attempt-1)
	case s.Claim.Undo:
		return nil // a late "done" of the do could be accepted
	}
	if r.Outcome != core.OutcomeDone {
		r.Error = &message.ReplyError{Code: "forged", Message: "never answered"}
	}
	return r
}

// rooms lists possible sizes of the space for outputs, in bytes. sizes lists JSON members that make an output
// larger.
var (
	rooms = [...]int{0, 60, 400, 2500}
	sizes = [...]string{"", fill(200), fill(1200), fill(2600)}
)

func fill(n int) string { return `,"data":"` + strings.Repeat("x", n) + `"` }

// drawRoom chooses the size limit of all documents. The usual choice is no limit. Otherwise the limit is the
// smallest size with which the definitions can run, plus some space for outputs.
func drawRoom(w *Simulation) Room {
	v := 0
	if w.Enabled[ItemTooLarge] && len(w.Below) == 0 && w.Sc.Begun == nil {
		v = w.Choose("world", "room", len(rooms), 0.2)
	}
	if v == 0 {
		return Room{}
	}
	r := Room{Failing: w.Choose("world", "failing", 2, 0.5) == 1}
	for _, d := range w.Defs {
		// The limit includes the newer definition, because a Move is accepted only if the new document fits
		// (P49, move pins another definition).
		if d == w.Def || d == w.Newer() {
			r.Limit = max(r.Limit, protocol.Reserve(d)+rooms[v])
		}
	}
	return r
}

func content(w *Simulation) json.RawMessage {
	if w.Sc.Order == nil {
		return NoContent
	}
	return w.Sc.Order
}

// complaint returns an error of a service. If the run has a size limit, the error has the longest text that a
// document stores.
func complaint(w *Simulation, text string) error {
	if w.Room.Limit > 0 {
		text += strings.Repeat("\x01", core.MaxMessage)
	}
	return errors.New(text)
}
