package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// MissedSweeps is the queue of a stack for failed ticks of the schedule.
const MissedSweeps = "missed-sweeps"

// DeadLetterQueue is a queue whose messages wait for the operator.
type DeadLetterQueue struct {
	// Queue is the name of the queue that the messages come from, such as "replies" or "requests-mail"; or it
	// is "quarantine" or MissedSweeps.
	Queue    string `json:"queue"`
	Messages int    `json:"messages"` // number of messages, including hidden ones; an estimate for a stack
	// time when the oldest of the messages read was sent; zero if no message was visible
	Oldest   time.Time `json:"oldest,omitzero"`
	LookedAt int       `json:"lookedAt"` // number of messages read, at most ten
	// reason why the queue could not be read; the other fields are then empty
	Problem string `json:"problem,omitempty"`
}

// KeptFor is the retention of dead letters and quarantined messages, from the time when they were first sent.
const KeptFor = 14 * 24 * time.Hour

const (
	// A message that was read stays hidden for this time unless it is returned to its queue earlier.
	lookHold   = 30 * time.Second
	lastPoll   = time.Second // a wait of 0 would make SQS look at only some of its servers
	mostLooked = 10_000      // largest number of messages in a search
	returnTime = 5 * time.Second
)

// DeadLetterQueues returns the queues of dead letters and the quarantine, with the number of messages and the
// age of the oldest of ten. It hides these ten messages from other readers for at most a second.
func (c *Client) DeadLetterQueues(ctx context.Context) ([]DeadLetterQueue, error) {
	names, err := again(ctx, c, c.via.DeadQueues)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	all := make([]DeadLetterQueue, len(names))
	for i, name := range names {
		all[i] = DeadLetterQueue{Queue: name}
		if err := all[i].look(ctx, c.via); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			all[i] = DeadLetterQueue{Queue: name, Problem: err.Error()}
		}
	}
	return all, nil
}

func (d *DeadLetterQueue) look(ctx context.Context, via Transport) error {
	q, err := via.DeadQueue(d.Queue)
	if err != nil {
		return via.QueueError(ctx, "GetQueueAttributes", d.Queue, err)
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return via.QueueError(ctx, "GetQueueAttributes", d.Queue, err)
	}
	if d.Messages = depth.Visible + depth.InFlight + depth.Delayed; d.Messages == 0 {
		return nil
	}
	seen, err := q.Receive(ctx, port.MaxBatch, 0, time.Second)
	if err != nil {
		return via.QueueError(ctx, "ReceiveMessage", d.Queue, err)
	}
	var ids []string
	receipts := map[string]string{}
	for _, m := range seen {
		ids, receipts[m.ID] = append(ids, m.ID), m.Receipt
		if d.Oldest.IsZero() || m.SentAt.Before(d.Oldest) {
			d.Oldest = m.SentAt.UTC()
		}
	}
	d.LookedAt = len(ids)
	(&operated{Queue: q}).makeVisible(ctx, ids, receipts)
	return nil
}

// CheckDeadLetters returns a check for each queue that holds messages or cannot be read, or one that reports
// that there are no such queues.
func CheckDeadLetters(all []DeadLetterQueue, now time.Time) []Check {
	var checks []Check
	for _, d := range all {
		c := Check{Name: "dead letters of " + d.Queue, Result: CheckUnknown,
			Text: "not checked: " + d.Problem}
		if d.Queue == port.Quarantine || d.Queue == MissedSweeps {
			c.Name = d.Queue
		}
		if d.Problem == "" && d.Messages == 0 {
			continue
		}
		if d.Problem == "" {
			c.Result, c.Text = CheckFailed, view.Count(d.Messages, "message")
			c.Fix = "look at them with `stepkeeper dead-letters look " + d.Queue +
				"`, then redrive or discard them"
		}
		if !d.Oldest.IsZero() {
			c.Text += fmt.Sprintf("; the oldest of %d looked at was sent %s ago, and is deleted in %s",
				d.LookedAt,
				now.Sub(d.Oldest).Round(time.Minute), d.Oldest.Add(KeptFor).Sub(now).Round(time.Hour))
		}
		checks = append(checks, c)
	}
	if len(checks) == 0 {
		checks = append(checks, Check{Name: "dead letters", Result: CheckOK,
			Text: "none in " + view.Count(len(all), "queue")})
	}
	return checks
}

// DeadLetter is a message of a DeadLetterQueue.
type DeadLetter struct {
	ID       string    `json:"id"`       // ID given by the queue
	Queue    string    `json:"queue"`    // queue that it was sent to, and would be redriven to
	Sent     time.Time `json:"sent"`     // time when it was first sent to any queue
	Received int       `json:"received"` // number of receives, including reads by DeadLetters
	Kind     string    `json:"kind,omitempty"`
	OrderID  string    `json:"orderId,omitempty"`
	Step     string    `json:"step,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // reason why it is in quarantine
	SHA256   string    `json:"sha256"`            // hash of its body, in hexadecimal digits
	Refused  string    `json:"refused,omitempty"` // reason why it would not be redriven; "" if it would
	// Body is the message as it was sent. The quarantine keeps only its first 40,000 bytes. It may contain
	// the data of an order.
	Body []byte `json:"-"`
}

// DeadLetters reads up to most messages of one of the DeadLetterQueues, oldest first.
//
// A queue can only be read by receiving. So the messages are hidden from other readers for 30 seconds at
// most, and each read counts as a receive. Messages that another reader holds are missing.
func (c *Client) DeadLetters(ctx context.Context, queue string, most int) ([]DeadLetter, error) {
	q, err := c.deadQueue(ctx, queue)
	if err != nil {
		return nil, err
	}
	all := []DeadLetter{}
	err = walk(ctx, q, most, lookHold, func(d *port.Delivery) (bool, bool, error) {
		all = append(all, c.letter(ctx, queue, d))
		return false, len(all) < most, nil
	})
	slices.SortFunc(all, func(a, b DeadLetter) int {
		return cmp.Or(a.Sent.Compare(b.Sent), strings.Compare(a.ID, b.ID))
	})
	return all, err
}

// deadQueue finds a queue by its name. The error of an unknown name lists the queues.
func (c *Client) deadQueue(ctx context.Context, name string) (*operated, error) {
	names, err := again(ctx, c, c.via.DeadQueues)
	if err != nil {
		return nil, err
	}
	if slices.Sort(names); !slices.Contains(names, name) {
		return nil, Errorf(http.StatusNotFound, "unknown-queue", "there are no dead letters of a queue "+
			"%.80q; there are those of %s", name, strings.Join(names, ", "))
	}
	found, err := c.via.DeadQueue(name)
	if err != nil {
		return nil, c.via.QueueError(ctx, "ReceiveMessage", name, err)
	}
	return &operated{found, name, c.via}, nil
}

// operated is a queue of dead letters, with the transport that translates its errors.
type operated struct {
	port.Queue
	name string
	via  Transport
}

// walk receives each message once, and hides it for a time. f reports whether it has taken the message out of
// the queue, and whether to continue. At the end walk returns the other messages to the queue.
func walk(ctx context.Context, q *operated, most int, hold time.Duration,
	f func(d *port.Delivery) (taken, more bool, err error)) error {
	receipts := map[string]string{} // receipts by ID; "" if the message was taken
	var seen []string
	defer func() { q.makeVisible(ctx, seen, receipts) }()
	for more, again := true, 0; more && len(seen) < most && again <= len(seen); {
		got, err := q.Receive(ctx, min(port.MaxBatch, most-len(seen)), lastPoll,
			min(hold, port.MaxVisibility))
		if err != nil {
			return q.via.QueueError(ctx, "ReceiveMessage", q.name, err)
		}
		more = len(got) > 0
		for i := range got {
			d, taken := &got[i], false
			if _, known := receipts[d.ID]; known { // the message became visible again
				again++
			} else {
				seen, again = append(seen, d.ID), 0
				if more && err == nil {
					taken, more, err = f(d)
				}
			}
			if receipts[d.ID] = d.Receipt; taken {
				receipts[d.ID] = ""
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeVisible makes messages visible again, in their order. If that fails, they become visible when their
// time is over.
func (q *operated) makeVisible(ctx context.Context, ids []string, receipts map[string]string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	var all []port.Extension
	for _, id := range ids {
		if receipts[id] != "" {
			all = append(all, port.Extension{Receipt: receipts[id]})
		}
	}
	port.Extend(ctx, q.Queue, all)
}

// known holds the fields that identify a message of any kind.
type known struct {
	OrderID   string `json:"orderId"`
	Task      string `json:"task"`
	Kind      string `json:"kind"`
	Step      string `json:"step"`
	Attempt   int    `json:"attempt"`
	Operation string `json:"operation"`
	Outcome   string `json:"outcome"`
}

func (k *known) kind() string {
	switch {
	case k.Kind != "":
		return k.Kind
	case k.Outcome != "":
		return "reply"
	case k.Operation != "":
		return "request"
	case k.OrderID != "":
		return "submission"
	}
	return ""
}

// identify fills in the fields that can be read from the body.
func (l *DeadLetter) identify() {
	var k known
	if json.Unmarshal(l.Body, &k) != nil {
		return
	}
	l.Kind, l.OrderID = k.kind(), cmp.Or(k.OrderID, k.Task)
	l.Step, l.Attempt = k.Step, k.Attempt
}

var errTicks = errors.New("it is a tick of the schedule, and the next one does the same work: discard it")
