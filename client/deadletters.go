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

// MissedSweeps is the name of a stack's queue for failed invocations of the Supervisor.
const MissedSweeps = "missed-sweeps"

// DeadLetterQueue describes a queue of dead letters or of quarantined messages.
type DeadLetterQueue struct {
	// Queue is the name of the queue from which the messages come, such as "replies" or "requests-mail". For
	// the quarantine, it is "quarantine". For the queue of missed sweeps, it is MissedSweeps.
	Queue    string `json:"queue"`
	Messages int    `json:"messages"` // number of messages, including hidden ones; on AWS an estimate
	// Oldest is the time at which a sender sent the oldest message that the client read. It is zero if no
	// message was visible.
	Oldest   time.Time `json:"oldest,omitzero"`
	LookedAt int       `json:"lookedAt"` // number of messages read for Oldest, at most ten
	// Problem is the reason why the client could not read the queue. All fields except Queue and Problem are
	// then zero.
	Problem string `json:"problem,omitempty"`
}

// KeptFor is the retention of dead letters and quarantined messages. The retention begins when a message is
// first sent.
const KeptFor = 14 * 24 * time.Hour

const (
	// lookHold is the visibility timeout of the messages that DeadLetters reads. Redrive and Discard add the
	// time that they need for their messages.
	lookHold   = 30 * time.Second
	lastPoll   = time.Second // wait of a receive; with a wait of 0, SQS asks only some of its servers
	mostLooked = 10_000      // maximum number of messages in a search by ID
	returnTime = 5 * time.Second
)

// DeadLetterQueues returns the quarantine and the queues of dead letters, with the number of messages in
// each. It reads at most ten messages of each queue to find the oldest message. The read hides these messages
// from other readers for at most a second.
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
	q, err := via.Queue(ctx, DeadName(d.Queue))
	if err != nil {
		return err
	}
	depth, err := q.Depth(ctx)
	if err != nil {
		return err
	}
	d.Messages = depth.Visible + depth.InFlight + depth.Delayed
	if d.Messages == 0 {
		return nil
	}
	seen, err := q.Receive(ctx, port.MaxBatch, 0, time.Second)
	if err != nil {
		return err
	}
	var ids []string
	receipts := map[string]string{}
	for _, m := range seen {
		ids = append(ids, m.ID)
		receipts[m.ID] = m.Receipt
		if d.Oldest.IsZero() || m.SentAt.Before(d.Oldest) {
			d.Oldest = m.SentAt.UTC()
		}
	}
	d.LookedAt = len(ids)
	makeVisible(ctx, q, ids, receipts)
	return nil
}

// CheckDeadLetters returns a check for each queue that contains messages or could not be read. If there is no
// such queue, it returns one successful check.
func CheckDeadLetters(all []DeadLetterQueue, now time.Time) []Check {
	var checks []Check
	for _, d := range all {
		if d.Problem == "" && d.Messages == 0 {
			continue
		}
		name := "dead letters of " + d.Queue
		if d.Queue == port.Quarantine || d.Queue == MissedSweeps {
			name = d.Queue
		}
		if d.Problem != "" {
			checks = append(checks, NotChecked(name, errors.New(d.Problem)))
			continue
		}
		text := view.Count(d.Messages, "message")
		if !d.Oldest.IsZero() {
			text += fmt.Sprintf("; the oldest of %d looked at was sent %s ago, and is deleted in %s", d.LookedAt,
				now.Sub(d.Oldest).Round(time.Minute), d.Oldest.Add(KeptFor).Sub(now).Round(time.Hour))
		}
		checks = append(checks, Checked(name, false, text,
			"look at them with `stepkeeper dead-letters list "+d.Queue+"`, then redrive or discard them"))
	}
	if len(checks) == 0 {
		checks = append(checks, Checked("dead letters", true, "none in "+view.Count(len(all), "queue"), ""))
	}
	return checks
}

// DeadLetter is a message in a DeadLetterQueue.
type DeadLetter struct {
	ID       string    `json:"id"`       // message ID that the queue assigned
	Queue    string    `json:"queue"`    // original queue, to which Redrive sends the message
	Sent     time.Time `json:"sent"`     // time at which the message was first sent to any queue
	Received int       `json:"received"` // number of receives, including reads by this client
	Kind     string    `json:"kind,omitempty"`
	OrderID  string    `json:"orderId,omitempty"`
	Step     string    `json:"step,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	Reason   string    `json:"reason,omitempty"`  // reason for the quarantine
	SHA256   string    `json:"sha256"`            // hash of the body, in hexadecimal digits
	Refused  string    `json:"refused,omitempty"` // reason why Redrive would refuse the message, or ""
	// Body is the body of the message, which may contain data of an order. The quarantine keeps only the
	// first 40,000 bytes of a body.
	Body []byte `json:"-"`
}

// DeadLetters returns at most the given number of messages of a queue, oldest first. The argument queue is
// the field Queue of a DeadLetterQueue.
//
// A program can read the messages of an SQS queue only by receiving them. DeadLetters therefore hides the
// messages from other readers for at most 30 seconds, and each read counts as a receive. The result does not
// contain messages that another reader hides.
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

func (c *Client) deadQueue(ctx context.Context, name string) (port.Queue, error) {
	names, err := again(ctx, c, c.via.DeadQueues)
	if err != nil {
		return nil, err
	}
	if slices.Sort(names); !slices.Contains(names, name) {
		return nil, Errorf(http.StatusNotFound, "unknown-queue", "there are no dead letters of a queue "+
			"%.80q; there are those of %s", name, strings.Join(names, ", "))
	}
	return c.via.Queue(ctx, DeadName(name))
}

// DeadName returns the logical name of the queue for the field Queue of a DeadLetterQueue.
func DeadName(queue string) string {
	if queue == port.Quarantine || queue == MissedSweeps {
		return queue
	}
	return port.Dead(queue)
}

// walk receives at most the given number of messages, and hides each message for the duration hold. It calls
// f once for each message. The result taken reports whether f has deleted the message, and more reports
// whether walk continues. At its end, walk makes the other messages visible again.
func walk(ctx context.Context, q port.Queue, most int, hold time.Duration,
	f func(d *port.Delivery) (taken, more bool, err error),
) error {
	receipts := map[string]string{} // receipts by ID; "" if f has deleted the message
	var seen []string
	defer func() { makeVisible(ctx, q, seen, receipts) }()
	for more, again := true, 0; more && len(seen) < most && again <= len(seen); {
		got, err := q.Receive(ctx, min(port.MaxBatch, most-len(seen)), lastPoll,
			min(hold, port.MaxVisibility))
		if err != nil {
			return err
		}
		more = len(got) > 0
		for i := range got {
			d := &got[i]
			taken := false
			if _, known := receipts[d.ID]; known { // the message became visible and was received again
				again++
			} else {
				seen = append(seen, d.ID)
				again = 0
				if more && err == nil {
					taken, more, err = f(d)
				}
			}
			receipts[d.ID] = d.Receipt
			if taken {
				receipts[d.ID] = ""
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeVisible makes messages visible again, in the given sequence. If the call fails, the messages become
// visible at the end of their visibility timeout.
func makeVisible(ctx context.Context, q port.Queue, ids []string, receipts map[string]string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTime)
	defer cancel()
	var all []port.Extension
	for _, id := range ids {
		if receipts[id] != "" {
			all = append(all, port.Extension{Receipt: receipts[id]})
		}
	}
	q.Extend(ctx, all)
}

func (l *DeadLetter) identify() {
	var known struct {
		OrderID, Task, Kind, Step, Operation, Outcome string
		Attempt                                       int
	}
	if json.Unmarshal(l.Body, &known) != nil {
		return
	}
	switch {
	case known.Kind != "":
		l.Kind = known.Kind
	case known.Outcome != "":
		l.Kind = "reply"
	case known.Operation != "":
		l.Kind = "request"
	case known.OrderID != "":
		l.Kind = "submission"
	}
	l.OrderID = cmp.Or(known.OrderID, known.Task)
	l.Step = known.Step
	l.Attempt = known.Attempt
}

var errTicks = errors.New("it is a tick of the schedule, and the next one does the same work: discard it")
