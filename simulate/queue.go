package simulate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// queue is a simulated queue: at least once, in any order.
type queue struct {
	w         *simulation
	name      string
	messages  []*letter // in the order of their sending
	consumers []*process
	next      int
	turn      int
	batch     int
	dead      []*letter
	pollAt    int64 // of the poll that is planned; -1: none
	stopped   int64 // nothing is taken before this time, although it is visible
}

// letter is a message in a queue.
type letter struct {
	id       int
	message  port.Message
	sent     int64
	visible  int64
	received int
	receipt  int
	late     bool // of an exploration: it is not there until it is released
	copied   bool // of an exploration: there is another one like it
}

// put makes a message visible after a while.
func (q *queue) put(m port.Message, delay int64) *letter {
	q.next++
	l := &letter{id: q.next, message: m, sent: q.w.now, visible: q.w.now + delay}
	q.messages = append(q.messages, l)
	q.plan(l.visible)
	return l
}

// plan has the queue looked at, at that time.
func (q *queue) plan(t int64) {
	t = max(t, q.w.now, q.stopped)
	if q.pollAt >= 0 && q.pollAt <= t {
		return
	}
	q.pollAt = t
	q.w.at(t, func() {
		if q.pollAt == t {
			q.pollAt = -1
			q.poll()
		}
	})
}

// replan plans the look at the first message that is not visible yet.
func (q *queue) replan() {
	first := int64(-1)
	for _, l := range q.messages {
		if first < 0 || l.visible < first {
			first = l.visible
		}
	}
	if first >= 0 {
		q.plan(first)
	}
}

// poll gives what is visible to a consumer.
func (q *queue) poll() {
	w := q.w
	defer q.replan()
	for {
		if !q.any() || w.now < q.stopped {
			return
		}
		p := q.consumer()
		if p == nil { // they come back, and look then
			q.stopped = w.now + 1000
			return
		}
		if a := w.inject(p.role, callPoll, q.name); a.fault == Concurrency {
			w.trace(p.name, "", "takes nothing for a while: throttled")
			q.stopped = w.now + 5000 + w.spread("throttled", q.name, 60_000)
			return
		}
		most := q.batch
		if most > 1 && !w.quiescing {
			most = max(1, most-w.choose("batch", q.name, most, 0.3))
		}
		ds := q.receive(most)
		if len(ds) == 0 {
			return
		}
		w.deliver(p, q, ds)
	}
}

func (q *queue) any() bool {
	return slices.ContainsFunc(q.messages, func(l *letter) bool { return l.visible <= q.w.now })
}

// consumer takes turns between those that are there.
func (q *queue) consumer() *process {
	n := len(q.consumers)
	first := q.turn + q.w.choose("consumer", q.name, n, 0.2)
	for i := range n {
		p := q.consumers[(first+i)%n]
		if p.up && p.paused <= q.w.now && !(q.w.traits[p.agent].serial && len(p.running) > 0) {
			q.turn = (first + i) % n
			return p
		}
	}
	return nil
}

// receive takes what is visible; a message that was taken too often goes to the dead letters.
func (q *queue) receive(most int) []*letter {
	var taken []*letter
	for i := 0; i < len(q.messages) && len(taken) < most; {
		l := q.messages[i]
		if l.visible > q.w.now {
			i++
			continue
		}
		if !q.take(l) {
			continue
		}
		taken = append(taken, l)
		i++
	}
	return taken
}

// take makes a message invisible for a while, or buries it.
func (q *queue) take(l *letter) bool {
	if l.received++; l.received > maxReceive {
		q.messages = slices.DeleteFunc(q.messages, func(o *letter) bool { return o == l })
		q.dead = append(q.dead, l)
		q.w.trace(q.name, "", "a message goes to the dead letters: "+describe(l.message))
		return false
	}
	l.receipt++
	l.visible = q.w.now + visibility
	return true
}

func (q *queue) delivery(l *letter) port.Delivery {
	return port.Delivery{
		Message: l.message, ID: strconv.Itoa(l.id), Receipt: strconv.Itoa(l.id) + "/" +
			strconv.Itoa(l.receipt),
		Received: l.received, SentAt: time.UnixMilli(q.w.start + l.sent).UTC(),
	}
}

// find answers the place of the message whose receipt is still good.
func (q *queue) find(receipt string) int {
	id, n, _ := strings.Cut(receipt, "/")
	for i, l := range q.messages {
		if strconv.Itoa(l.id) == id && strconv.Itoa(l.receipt) == n {
			return i
		}
	}
	return -1
}

// queuePort is a queue as one process sees it.
type queuePort struct {
	p *process
	q *queue
}

func (q queuePort) Name() string { return q.q.name }

func (q queuePort) Receive(context.Context, int, time.Duration, time.Duration) ([]port.Delivery, error) {
	return nil, fmt.Errorf("in a simulation messages are brought")
}

func (q queuePort) Send(_ context.Context, messages []port.Message) []error {
	w := q.p.w
	errs := make([]error, len(messages))
	if r, ok := messages[0].Value.(*message.Reply); ok && q.p.role == anAgent {
		w.cur.answers(r)
	}
	err := w.cur.io(callSend, q.q.name, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		for i := range messages {
			if f == PartialBatch && i == len(messages)/2 {
				w.cur.trouble, w.cur.broken = true, true
				errs[i] = port.ErrUnavailable
				continue
			}
			if f == ItemTooLarge && i == 0 && w.tooLarge(messages[i]) {
				errs[i] = port.ErrTooLarge
				continue
			}
			errs[i] = w.send(q.p, q.q, messages[i])
		}
		if f == SendAnswerLost {
			return errAnswer
		}
		return nil
	})
	if err != nil {
		if r, ok := messages[0].Value.(*message.Reply); !ok || r.Outcome != message.Progress || r.Until != 0 {
			w.cur.agency.unsent = true
		}
		for i := range errs {
			errs[i] = err
		}
	}
	return errs
}

// tooLarge: a request or a status may be more than a message can hold (P28). A request that no queue
// takes is a failure of its step, decided in the same handling.
func (w *simulation) tooLarge(m port.Message) bool {
	switch v := m.Value.(type) {
	case *message.Request:
		s := w.cur.sight(v.OrderID)
		s.refused = append(s.refused, &message.Reply{Schema: message.Schema, OrderID: v.OrderID, Run: v.Run,
			Step: v.Step, Attempt: v.Attempt,
			Operation: v.Operation, Outcome: core.OutcomeFailed,
			Error: &message.ReplyError{Code: "input-too-large"}})
		return true
	case *message.Status:
		return v.Seq > 0 && v.Code != short
	}
	return false
}

// send puts one message into a queue; on its way it can be doubled, delayed or lost.
func (w *simulation) send(p *process, q *queue, m port.Message) error {
	if err := port.CheckMessage(&m); err != nil {
		return err
	}
	w.sent(p, q, m)
	delay := m.Delay.Milliseconds()
	switch w.inject(p.role, callMessage, q.name).fault {
	case FreshCopy:
		w.trace("world", q.name, "sent twice: "+describe(m))
		q.put(m, delay+1+w.spread("copy", q.name, 40_000))
	case Redelivery:
		w.trace("world", q.name, "will be delivered twice: "+describe(m))
		q.put(m, delay+1+w.spread("copy", q.name, 40_000)).received = 1
	case Reorder:
		delay += 5 + w.spread("overtaken", q.name, 1000)
	case LongDelay:
		w.trace("world", q.name, "late: "+describe(m))
		delay += 20_000 + w.spread("late", q.name, 15*60_000)
	case Redriven:
		w.trace("world", q.name, "will be redriven days later: "+describe(m))
		q.put(m, delay+day+w.spread("redriven", q.name, 12*day))
	case Retention:
		w.trace("world", q.name, "expires unread: "+describe(m))
		return nil
	}
	q.put(m, delay)
	return nil
}

func (q queuePort) Delete(_ context.Context, receipts []string) []error {
	errs := make([]error, len(receipts))
	for i, r := range receipts {
		errs[i] = q.p.w.cur.io(callDelete, q.q.name, func(f Fault) error {
			at := q.q.find(r)
			switch {
			case f == DeleteLost:
				return errAnswer
			case at < 0:
				return port.ErrReceipt
			}
			q.q.messages = slices.Delete(q.q.messages, at, at+1)
			return nil
		})
	}
	return errs
}

func (q queuePort) Extend(_ context.Context, receipt string, d time.Duration) error {
	return q.p.w.cur.io(callExtend, q.q.name, func(f Fault) error {
		at := q.q.find(receipt)
		switch {
		case f == Throttle:
			return port.ErrUnavailable
		case at < 0:
			return port.ErrReceipt
		}
		l := q.q.messages[at]
		l.visible = q.p.w.now + d.Milliseconds()
		q.q.plan(l.visible)
		return nil
	})
}

func (q queuePort) Depth(context.Context) (d port.Depth, err error) {
	err = q.p.w.cur.io(callDepth, q.q.name, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		for _, l := range q.q.messages {
			switch {
			case l.visible <= q.p.w.now:
				d.Visible++
			case l.received > 0:
				d.InFlight++
			default:
				d.Delayed++
			}
		}
		if d.InFlight > 0 { // SQS counts roughly
			d.InFlight += []int{0, 1, -1, d.InFlight}[q.p.w.choose("roughly", q.q.name, 4, 0.1)]
		}
		q.p.w.cur.counted(q.q.name, d)
		return nil
	})
	return d, err
}

// queuesPort finds queues for one process.
type queuesPort struct{ p *process }

func (q queuesPort) Queue(name string) (port.Queue, error) {
	if found := q.p.w.queues[name]; found != nil {
		return queuePort{q.p, found}, nil
	}
	return nil, fmt.Errorf("queue %s: %w", name, port.ErrNotFound)
}

func (q queuesPort) ReplyTo(name string) (port.Queue, error) {
	if name != model.Shop {
		return nil, fmt.Errorf("reply-to %s: %w", name, port.ErrNotFound)
	}
	return q.Queue(name)
}

// alarm notifies the operator.
type alarm struct{ p *process }

func (a alarm) Raise(_ context.Context, alert core.RaiseAlert) error {
	w := a.p.w
	return w.cur.io(callAlert, alert.OrderID, func(f Fault) error {
		if f == Throttle {
			return port.ErrUnavailable
		}
		w.alerted(a.p, alert)
		if f == SendAnswerLost {
			return errAnswer
		}
		return nil
	})
}
