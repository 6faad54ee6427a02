package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

const maxFurther = 50

// Deliver sends the answers and effects of all jobs that have not failed, and settles the ends of the tasks.
// Deliver returns the follow-up jobs. After Deliver, the caller may delete each message without Err (P13, delete
// after sending). A follow-up job changes the task if a message could not be sent:
//
//   - A request is too large for its queue: the step fails (P28, what is too large fails once).
//   - The agent of a request has no queue: the step waits (P45, "not now" is not a failure).
//   - A numbered status could not be sent: the task records this (P12b, a status delays nothing else).
func (e *Engine) Deliver(ctx context.Context, jobs []*Job) (followUps []*Job) {
	defer e.traced(jobs)
	for rounds := 0; len(jobs) > 0; rounds++ {
		further := e.deliver(ctx, jobs)
		e.settle(ctx, jobs)
		e.place(ctx, jobs)
		if rounds == maxFurther {
			for _, j := range further {
				j.Fail(errTooManyRounds)
			}
			return followUps
		}
		e.Decide(ctx, e.Load(ctx, further))
		followUps = append(followUps, further...)
		for _, j := range further {
			if j.Err() == nil {
				e.sending.sent(j.parent.effects)
			}
		}
		jobs = further
	}
	return followUps
}

// deliver sends the effects of the jobs once. It returns follow-up jobs for the messages that could not be
// sent.
func (e *Engine) deliver(ctx context.Context, jobs []*Job) (further []*Job) {
	var sent []*Job
	for _, j := range jobs {
		j.effects = nil
		j.unsent = nil
		for _, m := range j.Messages {
			j.effects = append(append(j.effects, m.Answer...), m.Decision.Effects...)
		}
		if j.err == nil && len(j.effects) > 0 {
			j.effects = slices.Insert(j.effects, 0, e.overtaken(j)...)
			sent = append(sent, j)
		}
	}
	if len(sent) > 0 {
		e.send(ctx, sent)
	}
	for _, j := range sent {
		if j.err != nil {
			j.Fail(j.err) // a redelivery sends the effects (P12, effects are emitted again)
			continue
		}
		if messages := j.followUps(); len(messages) > 0 {
			further = append(further, &Job{ID: j.ID, parent: j, Messages: messages})
			continue
		}
		e.sending.sent(j.effects)
	}
	return further
}

// overtaken returns the statuses that other handlings of this process have still to send, if the job is about
// to settle the end. A restart would not find the order at rest and these statuses (P27, the embedded runtime
// survives its queues).
func (e *Engine) overtaken(j *Job) (more []core.Effect) {
	t := j.Task
	if t == nil || t.ReplyTo == "" || t.Postponed(t.ReplyTo) || !protocol.Settles(j.Definition, t, j.effects) {
		return nil
	}
	for _, status := range t.StatusesSince(t.ReplyTo, e.sending.told(j.ID, t.StatusSeq)+1) {
		if !slices.ContainsFunc(j.effects, sameAs(status)) {
			more = append(more, status)
		}
	}
	return more
}

// settle marks an end as reported if all messages about the end were sent (P11, an end is reported until
// settled), and removes the records of undelivered statuses that were sent now (P12b). It ignores a failed
// commit, because an unsettled end stays due and is reported again.
func (e *Engine) settle(ctx context.Context, jobs []*Job) {
	var changes []state.Change
	for _, j := range jobs {
		if j.err != nil || len(j.unsendable) > 0 || j.Task == nil || j.Task.Damaged != "" ||
			j.Task.ResendTime() == 0 {
			continue
		}
		sent := j.reported()
		settled := j.Task
		if protocol.Settles(j.Definition, j.Task, sent) {
			settled = protocol.Settled(settled)
		}
		settled = protocol.Delivered(settled, sent)
		if settled == j.Task {
			continue
		}
		settled = settled.Clone()
		settled.Version = j.Task.Version + 1
		changes = append(changes, state.Change{Task: settled, Before: j.Task})
	}
	if len(changes) == 0 {
		return
	}
	for i, err := range e.State.Commit(ctx, changes) {
		if err != nil {
			e.Logger.Debug("not settled; its notifications will be sent again", "order",
				changes[i].Task.OrderID, "error", err)
		}
	}
}

// traced ends the spans of the jobs. The span of a job is not the parent of the store's spans, because one
// commit stores the changes of several jobs.
func (e *Engine) traced(jobs []*Job) {
	for _, j := range jobs {
		if j.span == nil {
			continue
		}
		s := port.Span{OrderID: j.ID, Trace: core.Trace(j.ID, 0)}
		if j.Task != nil {
			s.Run = j.Task.Run
			s.State = string(j.Task.ProcessState)
			s.Trace = core.Trace(j.ID, j.Task.Run)
		}
		var errs []error
		for _, m := range j.Messages {
			errs = append(errs, m.Err)
		}
		j.span.End(s, errors.Join(errs...))
		j.span = nil
	}
}

// Send sends answers and other effects that belong to no task. The error is ErrUnsent if the receiver of an
// answer is gone.
func (e *Engine) Send(ctx context.Context, effects ...core.Effect) error {
	m := Message{Answer: effects}
	j := Job{effects: effects, Messages: []*Message{&m}}
	e.send(ctx, []*Job{&j})
	if err := j.Err(); err != nil || len(j.unsent) == 0 {
		return err
	}
	return ErrUnsent
}

// send sends the effects of jobs. It raises alerts and removes contents first, so that the alert about an end
// comes before the end's status. Then it sends the other effects, queue by queue.
func (e *Engine) send(ctx context.Context, jobs []*Job) {
	p := post{sender: e, jobs: jobs, now: e.Clock.Now()}
	for i := range jobs {
		p.direct(ctx, i)
	}
	for i := range jobs {
		for _, e := range jobs[i].effects {
			p.add(i, e)
		}
	}
	for i := range p.routes {
		p.send(ctx, &p.routes[i])
	}
}

type post struct {
	sender *Engine
	jobs   []*Job
	now    time.Time
	routes []route // one for each queue; a linear search is fast, because there are few queues
}

type route struct {
	key      string
	queue    port.Sender
	err      error    // error if the queue was not found
	origins  []origin // of the messages
	messages []port.Message
}

// origin is the job and the effect that a message comes from.
type origin struct {
	job    int
	effect core.Effect
}

// direct carries out the effects that need no queue. After a crash, a redelivered message repeats the removal of a
// content (P52, erase removes content, not identity).
func (p *post) direct(ctx context.Context, i int) {
	for _, e := range p.jobs[i].effects {
		var err error
		switch e := e.(type) {
		case core.RaiseAlert:
			err = p.sender.Alerts.Raise(ctx, e)
		case core.EraseContent:
			err = p.sender.State.Port().Erase(ctx, e.OrderID, e.Hash)
		}
		if err != nil {
			p.fail(i, fmt.Errorf("raise the alert, or erase the content, of order %q: %w", p.jobs[i].ID, err))
		}
	}
}

func (p *post) fail(i int, err error) {
	if p.jobs[i].err == nil {
		p.jobs[i].err = err
	}
}

func (p *post) add(i int, effect core.Effect) {
	switch e := effect.(type) {
	case core.SendRequest:
		request := &message.Request{Schema: message.Schema, SendRequest: e}
		if !request.Fits() {
			reply, _ := unsendable(e, port.ErrTooLarge)
			p.jobs[i].unsendable = append(p.jobs[i].unsendable, reply)
			return
		}
		m := port.Message{Value: request}
		if p.sender.FairQueues {
			m.Group = message.Tenant(e.OrderID)
		}
		if t := p.jobs[i].Task; t != nil {
			m.High = t.Priority == message.PriorityHigh
		}
		p.put(port.Requests(e.Agent), i, e, m)
	case core.SendWake:
		if delay, ok := p.delay(e); ok {
			wake := core.Wake{Run: e.Run, Step: e.Step, Attempt: e.Attempt, Early: e.Early}
			value := &message.Control{OrderID: e.OrderID, Event: wake}
			p.put(port.Control, i, e, port.Message{Delay: delay, Value: value})
		}
	case core.SendSettle:
		p.put(port.Control, i, e, port.Message{Value: &message.Control{OrderID: e.OrderID, Event: core.Settle{}}})
	case core.AskChild:
		p.put(port.Tasks, i, e, port.Message{Value: &message.Control{OrderID: e.OrderID, Event: e}})
	case core.ChildEnded:
		p.put(port.Tasks, i, e, port.Message{Value: &message.Control{OrderID: e.Parent.OrderID, Event: e}})
	case core.SendStatus:
		if p.jobs[i].err == nil { // a status must not come before its alert, so a failed alert stops it
			p.report(i, e)
		}
	}
}

// delay returns the delay of a Wake in the queue. It returns false if the delay is too long for a queue. In
// this case the Supervisor sends the Wake later.
func (p *post) delay(e core.SendWake) (time.Duration, bool) {
	if e.WakeAt == 0 {
		return 0, true
	}
	d := max(e.WakeAt.Std().Sub(p.now), 0) + p.sender.WakeSlack
	return d, d <= port.MaxDelay
}

// report adds a status to the messages to send. It drops an event if no bus is deployed, because deployment
// and dev have already reported this.
func (p *post) report(i int, e core.SendStatus) {
	if r := p.route(replyTo + e.ReplyTo); e.ReplyTo == core.Events && errors.Is(r.err, port.ErrNotFound) {
		p.sender.Logger.Info("event not sent: no bus is deployed", "order", e.Status.OrderID, "status", e.Status.Kind)
		return
	}
	status := &message.Status{Schema: message.Schema, Status: e.Status}
	if !status.Fits() {
		status.Status = short(e.Status)
	}
	p.put(replyTo+e.ReplyTo, i, e, port.Message{Value: status})
}

func (p *post) put(key string, i int, effect core.Effect, m port.Message) {
	r := p.route(key)
	r.origins = append(r.origins, origin{i, effect})
	r.messages = append(r.messages, m)
}

// replyTo begins the key of the route to an application's queue or bus.
const replyTo = "reply-to:"

// route returns the route to a queue. The next call makes it invalid.
func (p *post) route(key string) *route {
	for i := range p.routes {
		if p.routes[i].key == key {
			return &p.routes[i]
		}
	}
	r := route{key: key}
	if name, is := strings.CutPrefix(key, replyTo); is {
		r.queue, r.err = p.sender.Queues.ReplyTo(name)
	} else {
		r.queue, r.err = p.sender.Queues.Queue(key)
	}
	p.routes = append(p.routes, r)
	return &p.routes[len(p.routes)-1]
}

func (p *post) send(ctx context.Context, r *route) {
	for start := 0; start < len(r.messages); start += port.MaxBatch {
		end := min(start+port.MaxBatch, len(r.messages))
		var errs []error
		if r.err == nil {
			errs = r.queue.Send(ctx, r.messages[start:end])
		}
		for j := start; j < end; j++ {
			err := r.err
			if err == nil && j-start < len(errs) {
				err = errs[j-start]
			}
			if err != nil {
				p.unsent(ctx, r, r.origins[j], err)
			}
		}
	}
}

// unsent handles a message that a queue refused. It shortens a status that is too large. For a request that
// no queue takes, and for a status, deliver creates a follow-up job. Every other error makes the job fail.
func (p *post) unsent(ctx context.Context, r *route, from origin, err error) {
	switch e := from.effect.(type) {
	case core.SendRequest:
		if reply, is := unsendable(e, err); is {
			p.jobs[from.job].unsendable = append(p.jobs[from.job].unsendable, reply)
			return
		}
	case core.SendStatus:
		if errors.Is(err, port.ErrTooLarge) {
			m := port.Message{Value: &message.Status{Schema: message.Schema, Status: short(e.Status)}}
			err = r.queue.Send(ctx, []port.Message{m})[0]
		}
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			p.undelivered(from.job, e, err)
			return
		}
	}
	p.fail(from.job, fmt.Errorf("send: %w", err))
}

// undelivered handles a status that could not be sent. It never makes the job fail (P12b, a status delays
// nothing else). A numbered status gets a follow-up job, and any other status is lost. But no refusal is lost
// without a trace: if the receiver is unavailable, the refused message comes again. If the receiver is gone,
// the message loses its answer, and so goes to quarantine.
func (p *post) undelivered(i int, e core.SendStatus, err error) {
	j := p.jobs[i]
	reason := reasonOf(err)
	p.sender.Logger.Warn("status not sent", "order", e.Status.OrderID, "replyTo", e.ReplyTo, "status",
		e.Status.Kind, "seq", e.Status.Seq, "reason", reason, "error", err)
	p.sender.count(StatusNotSent, e.ReplyTo)
	j.unsent = append(j.unsent, e)
	j.reason = reason
	for _, m := range j.Messages {
		switch {
		case e.Status.Kind == core.StatusReceived || !slices.ContainsFunc(m.Answer, sameAs(e)):
		case errors.Is(err, port.ErrUnavailable):
			m.Err = fmt.Errorf("send: %w", err)
		default:
			m.Answer = nil
		}
	}
}

// sameAs reports whether an effect is the status.
func sameAs(status core.SendStatus) func(e core.Effect) bool {
	return func(e core.Effect) bool {
		s, ok := e.(core.SendStatus)
		return ok && s.ReplyTo == status.ReplyTo && s.Status.Kind == status.Status.Kind &&
			s.Status.Seq == status.Status.Seq && s.Status.CommandID == status.Status.CommandID
	}
}

// reasonOf returns a stable text for an error of a receiver, for the order's document.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, port.ErrNotFound):
		return "it does not exist, or is not deployed as a reply-to"
	case errors.Is(err, port.ErrForbidden):
		return "access is denied to it, or to its KMS key"
	case errors.Is(err, port.ErrUnavailable):
		return "it is unavailable or throttled"
	}
	return "it refuses the message"
}

// short returns a status without its output, because the output is too large for a message (P28).
func short(s core.Status) core.Status {
	s.Output = nil
	s.Code = core.CodeOutputTooLarge
	s.Message = "the output is too large for a message; look the order up by its ID"
	return s
}

// sending holds the numbers of the statuses that this process has to send, by order. A number is in it from
// before the commit until the status is sent or recorded as undelivered. If the handling fails, the number
// stays until a redelivery of the message sends the status. The zero value is ready for use.
//
// A process with durable queues needs no record: the message of a failed handling comes again. A process whose
// queues are in memory stores the number up to which everything was sent with the next commit of the order,
// and sends the later statuses again when it restarts (P27, the embedded runtime survives its queues).
type sending struct {
	mu      sync.Mutex
	numbers map[string][]int
}

// begin adds the numbers of the statuses among the effects of a decision, before its commit. Two decisions that
// compete for a commit can have the same number.
func (s *sending) begin(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int { return append(all, n) })
}

// refused removes the numbers of a decision whose commit was refused.
func (s *sending) refused(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int {
		if i := slices.Index(all, n); i >= 0 {
			return slices.Delete(all, i, i+1)
		}
		return all
	})
}

// sent removes the numbers of statuses that were sent, or are recorded as undelivered.
func (s *sending) sent(effects []core.Effect) {
	s.each(effects, func(all []int, n int) []int {
		return slices.DeleteFunc(all, func(of int) bool { return of == n })
	})
}

func (s *sending) each(effects []core.Effect, change func(all []int, n int) []int) {
	for _, e := range effects {
		status, ok := e.(core.SendStatus)
		if !ok || status.Status.Seq == 0 {
			continue
		}
		s.mu.Lock()
		id := status.Status.OrderID
		if all := change(s.numbers[id], status.Status.Seq); len(all) > 0 {
			if s.numbers == nil {
				s.numbers = map[string][]int{}
			}
			s.numbers[id] = all
		} else {
			delete(s.numbers, id)
		}
		s.mu.Unlock()
	}
}

// told returns the number up to which the statuses of an order are known to be sent. last is the number of the
// last status in the stored task.
func (s *sending) told(id string, last int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.numbers[id] {
		last = min(last, n-1)
	}
	return last
}
