package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// put adds a message to a queue. The message becomes visible after delay milliseconds.
func put(q *world.Queue, m port.Message, delay int64) *world.Letter {
	q.Next++
	l := &world.Letter{Id: q.Next, Message: m, Sent: q.W.Now, Visible: q.W.Now + delay}
	q.Messages = append(q.Messages, l)
	plan(q, l.Visible)
	return l
}

// plan schedules a poll of the queue at the time t, or at q.Stopped if q.Stopped is later.
func plan(q *world.Queue, t int64) {
	t = max(t, q.W.Now, q.Stopped)
	if q.PollAt >= 0 && q.PollAt <= t {
		return
	}
	q.PollAt = t
	q.W.At(t, func() {
		if q.PollAt == t {
			q.PollAt = -1
			poll(q)
		}
	})
}

func replan(q *world.Queue) {
	first := int64(-1)
	for _, l := range q.Messages {
		if first < 0 || l.Visible < first {
			first = l.Visible
		}
	}
	if first >= 0 {
		plan(q, first)
	}
}

func poll(q *world.Queue) {
	w := q.W
	defer replan(q)
	for {
		if !visible(q) || w.Now < q.Stopped {
			return
		}
		p := consumer(q)
		if p == nil { // no consumer is free, so try again in a second
			q.Stopped = w.Now + 1000
			return
		}
		if a := inject(w, p.Role, world.CallPoll, q.Name); a.Fault == world.Concurrency {
			w.Trace(p.Name, "", "takes nothing for a while: throttled")
			q.Stopped = w.Now + 5000 + w.Spread("throttled", q.Name, 60_000)
			return
		}
		most := q.Batch
		if most > 1 && !w.Quiescing {
			most = max(1, most-w.Choose("batch", q.Name, most, 0.3))
		}
		ds := receive(q, most)
		if len(ds) == 0 {
			return
		}
		deliver(w, p, q, ds)
	}
}

func visible(q *world.Queue) bool {
	return slices.ContainsFunc(q.Messages, func(l *world.Letter) bool { return l.Visible <= q.W.Now })
}

// consumer returns a free consumer of the queue, or nil. The usual choice is the consumer of the last poll.
func consumer(q *world.Queue) *world.Process {
	n := len(q.Consumers)
	first := q.Turn + q.W.Choose("consumer", q.Name, n, 0.2)
	for i := range n {
		p := q.Consumers[(first+i)%n]
		if p.Up && !(q.W.Traits[p.Agent].Serial && len(p.Running) > 0) {
			q.Turn = (first + i) % n
			return p
		}
	}
	return nil
}

// receive returns visible messages. The parameter most limits their number. A message that was received too
// often goes to the dead letters.
func receive(q *world.Queue, most int) []*world.Letter {
	var taken []*world.Letter
	for i := 0; i < len(q.Messages) && len(taken) < most; {
		l := q.Messages[i]
		if l.Visible > q.W.Now {
			i++
			continue
		}
		if !take(q, l) {
			continue
		}
		taken = append(taken, l)
		i++
	}
	return taken
}

// take receives a message. The message then stays invisible for the visibility timeout. If the message was
// received too often, take moves it to the dead letters and returns false.
func take(q *world.Queue, l *world.Letter) bool {
	l.Received++
	if l.Received > world.MaxReceive {
		q.Messages = slices.DeleteFunc(q.Messages, func(o *world.Letter) bool { return o == l })
		q.Dead = append(q.Dead, l)
		q.W.Trace(q.Name, "", "a message goes to the dead letters: "+world.Describe(l.Message))
		return false
	}
	l.Visible = q.W.Now + world.Visibility
	return true
}

type queuePort struct {
	p *world.Process
	q *world.Queue
}

func (q queuePort) Name() string { return q.q.Name }

func (q queuePort) Receive(context.Context, int, time.Duration, time.Duration) ([]port.Delivery, error) {
	return nil, fmt.Errorf("in a simulation messages are brought")
}

func (q queuePort) Send(_ context.Context, messages []port.Message) []error {
	w := q.p.W
	errs := make([]error, len(messages))
	if r, ok := messages[0].Value.(*message.Reply); ok && q.p.Role == world.AnAgent {
		check.Answers(w.Cur, r)
	}
	err := portCall(w.Cur, world.CallSend, q.q.Name, func(f world.Fault) error {
		for i := range messages {
			if f == world.PartialBatch && i == len(messages)/2 {
				errs[i] = port.ErrUnavailable
				continue
			}
			if f == world.ItemTooLarge && i == 0 && tooLarge(w, messages[i]) {
				errs[i] = port.ErrTooLarge
				continue
			}
			errs[i] = send(w, q.p, q.q, messages[i])
		}
		return nil
	})
	if err != nil {
		if r, ok := messages[0].Value.(*message.Reply); !ok || r.Outcome != message.Progress || r.Until != 0 {
			w.Cur.Agency.Unsent = true
		}
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// tooLarge reports whether the fault ItemTooLarge can affect a message (P28, what is too large fails once).
// The Scheduler commits the failure of a step whose request is too large.
func tooLarge(w *world.Simulation, m port.Message) bool {
	switch v := m.Value.(type) {
	case *message.Request:
		if w.Cur.TooBig == nil {
			w.Cur.TooBig = map[string]bool{}
		}
		w.Cur.TooBig[v.OrderID] = true
		return true
	case *message.Status:
		return v.Seq > 0 && v.Code != core.CodeOutputTooLarge
	}
	return false
}

// send adds a message to a queue. A fault may duplicate, delay or lose the message.
func send(w *world.Simulation, p *world.Process, q *world.Queue, m port.Message) error {
	if err := port.CheckMessage(&m); err != nil {
		return err
	}
	check.Sent(w, p, q, m)
	delay := m.Delay.Milliseconds()
	switch inject(w, p.Role, world.CallMessage, q.Name).Fault {
	case world.FreshCopy:
		w.Trace("world", q.Name, "sent twice: "+world.Describe(m))
		put(q, m, delay+1+w.Spread("copy", q.Name, 40_000))
	case world.Redelivery:
		w.Trace("world", q.Name, "will be delivered twice: "+world.Describe(m))
		put(q, m, delay+1+w.Spread("copy", q.Name, 40_000)).Received = 1
	case world.Reorder:
		delay += 5 + w.Spread("overtaken", q.Name, 1000)
	case world.LongDelay:
		w.Trace("world", q.Name, "late: "+world.Describe(m))
		delay += 20_000 + w.Spread("late", q.Name, 15*60_000)
	case world.Redriven:
		w.Trace("world", q.Name, "will be redriven days later: "+world.Describe(m))
		put(q, m, delay+world.Day+w.Spread("redriven", q.Name, 12*world.Day))
	case world.Retention:
		w.Trace("world", q.Name, "expires unread: "+world.Describe(m))
		if s, ok := m.Value.(*message.Status); ok && w.ByID[s.OrderID] != nil && q.Name == world.Shop {
			w.ByID[s.OrderID].Seen.Received[s.Seq] = true
		}
		return nil
	}
	put(q, m, delay)
	return nil
}

func (q queuePort) Delete(_ context.Context, receipts []string) []error {
	errs := make([]error, len(receipts))
	for i, r := range receipts {
		errs[i] = portCall(q.p.W.Cur, world.CallDelete, q.q.Name, func(f world.Fault) error {
			at := q.q.Find(r)
			switch {
			case f == world.DeleteLost:
				return errAnswer
			case at < 0:
				return port.ErrReceipt
			}
			q.q.Messages = slices.Delete(q.q.Messages, at, at+1)
			return nil
		})
	}
	return errs
}

func (q queuePort) Extend(_ context.Context, extensions []port.Extension) []error {
	errs := make([]error, len(extensions))
	for i, e := range extensions {
		errs[i] = q.hide(e.Receipt, e.For)
	}
	return errs
}

func (q queuePort) hide(receipt string, d time.Duration) error {
	return portCall(q.p.W.Cur, world.CallExtend, q.q.Name, func(world.Fault) error {
		at := q.q.Find(receipt)
		if at < 0 {
			return port.ErrReceipt
		}
		l := q.q.Messages[at]
		l.Visible = q.p.W.Now + d.Milliseconds()
		plan(q.q, l.Visible)
		return nil
	})
}

func (q queuePort) Depth(context.Context) (d port.Depth, err error) {
	err = portCall(q.p.W.Cur, world.CallDepth, q.q.Name, func(world.Fault) error {
		for _, l := range q.q.Messages {
			switch {
			case l.Visible <= q.p.W.Now:
				d.Visible++
			case l.Received > 0:
				d.InFlight++
			default:
				d.Delayed++
			}
		}
		if d.InFlight > 0 { // SQS's counts are approximate
			d.InFlight += []int{0, 1, -1, d.InFlight}[q.p.W.Choose("roughly", q.q.Name, 4, 0.1)]
		}
		return nil
	})
	return d, err
}

type queuesPort struct{ p *world.Process }

func (q queuesPort) Queue(name string) (port.Queue, error) {
	if found := q.p.W.Queues[name]; found != nil {
		return queuePort{q.p, found}, nil
	}
	return nil, fmt.Errorf("queue %s: %w", name, port.ErrNotFound)
}

func (q queuesPort) ReplyTo(name string) (port.Sender, error) {
	if name != world.Shop && name != core.Events {
		return nil, fmt.Errorf("reply-to %s: %w", name, port.ErrNotFound)
	}
	return q.Queue(name)
}

type alarm struct{ p *world.Process }

func (a alarm) Raise(_ context.Context, alert core.RaiseAlert) error {
	w := a.p.W
	return portCall(w.Cur, world.CallAlert, alert.OrderID, func(world.Fault) error {
		check.Alerted(w, a.p, alert)
		return nil
	})
}
