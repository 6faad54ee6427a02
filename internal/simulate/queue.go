package simulate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// NewerBody is a message with a newer schema, which no process can read.
const NewerBody = `{"schema":9,"task":"o1","run":0,"step":"x","attempt":1,"operation":"do","outcome":"done","waited":0}`

// Queue is a simulated queue. It delivers each message at least once, in any order.
type Queue struct {
	W         *Simulation
	Name      string
	Messages  []*Letter // messages in the order in which they were sent
	Consumers []*Process
	Next      int
	Turn      int
	Batch     int
	Dead      []*Letter
	PollAt    int64 // time of the scheduled poll; -1 if no poll is scheduled
	Stopped   int64 // time before which no consumer receives messages
}

// Letter is one message in a queue, with its delivery state.
type Letter struct {
	Id       int
	Message  port.Message
	Sent     int64
	Visible  int64
	Received int
}

// receipt names the last delivery of the message.
func (l *Letter) receipt() string { return strconv.Itoa(l.Id) + "/" + strconv.Itoa(l.Received) }

// Find returns the index of the message with the receipt, or -1 if the receipt is no longer valid.
func (q *Queue) Find(receipt string) int {
	return slices.IndexFunc(q.Messages, func(l *Letter) bool { return l.receipt() == receipt })
}

// Delivery returns a message in the form that a consumer gets.
func (q *Queue) Delivery(l *Letter) port.Delivery {
	return port.Delivery{
		Message: l.Message, ID: strconv.Itoa(l.Id), Receipt: l.receipt(), Received: l.Received,
		SentAt: time.UnixMilli(q.W.Start + l.Sent).UTC(),
	}
}

// put adds a message to a queue. The message becomes visible after delay milliseconds.
func put(q *Queue, m port.Message, delay int64) *Letter {
	q.Next++
	l := &Letter{Id: q.Next, Message: m, Sent: q.W.Now, Visible: q.W.Now + delay}
	q.Messages = append(q.Messages, l)
	plan(q, l.Visible)
	return l
}

// plan schedules a poll of the queue at the time t, or at q.Stopped if q.Stopped is later.
func plan(q *Queue, t int64) {
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

func replan(q *Queue) {
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

func poll(q *Queue) {
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
		if a := inject(w, p.Role, CallPoll, q.Name); a.Fault == Concurrency {
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

func visible(q *Queue) bool {
	return slices.ContainsFunc(q.Messages, func(l *Letter) bool { return l.Visible <= q.W.Now })
}

// consumer returns a free consumer of the queue, or nil. The usual choice is the consumer of the last poll.
func consumer(q *Queue) *Process {
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
func receive(q *Queue, most int) []*Letter {
	var taken []*Letter
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
func take(q *Queue, l *Letter) bool {
	l.Received++
	if l.Received > MaxReceive {
		q.Messages = slices.DeleteFunc(q.Messages, func(o *Letter) bool { return o == l })
		q.Dead = append(q.Dead, l)
		q.W.Trace(q.Name, "", "a message goes to the dead letters: "+Describe(l.Message))
		return false
	}
	l.Visible = q.W.Now + Visibility
	return true
}

type queuePort struct {
	p *Process
	q *Queue
}

func (q queuePort) Name() string { return q.q.Name }

func (q queuePort) Receive(context.Context, int, time.Duration, time.Duration) ([]port.Delivery, error) {
	return nil, fmt.Errorf("in a simulation messages are brought")
}

func (q queuePort) Send(_ context.Context, messages []port.Message) []error {
	w := q.p.W
	errs := make([]error, len(messages))
	if r, ok := messages[0].Value.(*message.Reply); ok && q.p.Role == AnAgent {
		answers(w.Cur, r)
	}
	err := portCall(q.p, CallSend, q.q.Name, func(f Fault) error {
		for i := range messages {
			if f == PartialBatch && i == len(messages)/2 {
				errs[i] = port.ErrUnavailable
				continue
			}
			if f == ItemTooLarge && i == 0 && tooLarge(w, messages[i]) {
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
func tooLarge(w *Simulation, m port.Message) bool {
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
func send(w *Simulation, p *Process, q *Queue, m port.Message) error {
	if err := port.CheckMessage(&m); err != nil {
		return err
	}
	sent(w, p, q, m)
	delay := m.Delay.Milliseconds()
	switch inject(w, p.Role, CallMessage, q.Name).Fault {
	case FreshCopy:
		w.Trace("world", q.Name, "sent twice: "+Describe(m))
		put(q, m, delay+1+w.Spread("copy", q.Name, 40_000))
	case Redelivery:
		w.Trace("world", q.Name, "will be delivered twice: "+Describe(m))
		put(q, m, delay+1+w.Spread("copy", q.Name, 40_000)).Received = 1
	case Reorder:
		delay += 5 + w.Spread("overtaken", q.Name, 1000)
	case LongDelay:
		w.Trace("world", q.Name, "late: "+Describe(m))
		delay += 20_000 + w.Spread("late", q.Name, 15*60_000)
	case Redriven:
		w.Trace("world", q.Name, "will be redriven days later: "+Describe(m))
		put(q, m, delay+Day+w.Spread("redriven", q.Name, 12*Day))
	case Retention:
		w.Trace("world", q.Name, "expires unread: "+Describe(m))
		if s, ok := m.Value.(*message.Status); ok && w.ByID[s.OrderID] != nil && q.Name == Shop {
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
		errs[i] = portCall(q.p, CallDelete, q.q.Name, func(f Fault) error {
			at := q.q.Find(r)
			switch {
			case f == DeleteLost:
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
	return portCall(q.p, CallExtend, q.q.Name, func(Fault) error {
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

func (q queuePort) Depth(context.Context) (port.Depth, error) {
	return called(q.p, CallDepth, q.q.Name, func(Fault) (d port.Depth, _ error) {
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
		return d, nil
	})
}

type queuesPort struct{ p *Process }

func (q queuesPort) Queue(name string) (port.Queue, error) {
	if found := q.p.W.Queues[name]; found != nil {
		return queuePort{q.p, found}, nil
	}
	return nil, fmt.Errorf("queue %s: %w", name, port.ErrNotFound)
}

func (q queuesPort) ReplyTo(name string) (port.Sender, error) {
	if name != Shop && name != core.Events {
		return nil, fmt.Errorf("reply-to %s: %w", name, port.ErrNotFound)
	}
	return q.Queue(name)
}

type alarm struct{ p *Process }

func (a alarm) Raise(_ context.Context, alert core.RaiseAlert) error {
	w := a.p.W
	return portCall(a.p, CallAlert, alert.OrderID, func(Fault) error {
		alerted(w, a.p, alert)
		return nil
	})
}
