package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// RedriveRate is the default rate of Redrive and Discard, in messages per second.
const RedriveRate = 10

const (
	minRedriveRate = 0.001
	maxRedriveRate = 1000
)

// Handling selects dead letters for Redrive or Discard. It also names the responsible person and the reason.
type Handling struct {
	Queue string
	IDs   []string // IDs of messages; set IDs or All
	// All selects all messages that were sent before the call began.
	All bool
	// By is the person's name, of 1 to 128 bytes. Reason has 1 to 512 bytes.
	By, Reason string
	Rate       float64 // messages per second, 0.001 to 1000; 0 means RedriveRate
	// Record is called twice for each message that is sent or deleted: first with the Result Begun, then with
	// the outcome. Record must return only after it has made the record durable. If Record returns an error,
	// Redrive or Discard ends.
	Record func(Handled) error
	// If DryRun is true, Record gets the expected outcome of each message, and nothing changes.
	DryRun bool
}

// Handled is the record of one message in a Redrive or Discard.
type Handled struct {
	At      time.Time     `json:"at"`
	Action  string        `json:"action"` // "redrive" or "discard"
	Queue   string        `json:"queue"`  // Queue of the Handling
	ID      string        `json:"id"`     // message ID
	To      string        `json:"to,omitempty"`
	OrderID string        `json:"orderId,omitempty"`
	SHA256  string        `json:"sha256,omitempty"`
	By      string        `json:"by"`
	Reason  string        `json:"reason"`
	Result  HandledResult `json:"result"`
	Text    string        `json:"text,omitempty"` // reason if the result is not a success
	DryRun  bool          `json:"dryRun,omitempty"`
}

// HandledResult is the outcome of a Redrive or Discard for one message.
type HandledResult string

// Results of a Redrive or Discard. Record gets Begun before a message is sent or deleted. All other results
// are outcomes.
const (
	Begun     HandledResult = "begun"
	Redriven  HandledResult = "redriven" // sent to the original queue, and deleted as a dead letter
	Discarded HandledResult = "discarded"
	NotTaken  HandledResult = "refused" // not sent, because the original queue would refuse it; see Text
	Failed    HandledResult = "failed"  // a call failed, see Text; the message probably stays
	Missing   HandledResult = "missing" // the queue has no visible message with the ID
)

// Redrive sends each selected message to the original queue, and then deletes the message from the queue of
// dead letters.
//
// Redrive may send a message twice, but never loses a message. A copy does no harm, even if it is days old.
// If the original queue would refuse a message, the message stays where it is. Redrive receives messages in
// the same way as DeadLetters. If Redrive returns an error, some of the messages may not have been handled.
func (c *Client) Redrive(ctx context.Context, h Handling) error { return c.handle(ctx, "redrive", h) }

// Discard deletes the selected messages. It calls Record before and after each deletion.
func (c *Client) Discard(ctx context.Context, h Handling) error { return c.handle(ctx, "discard", h) }

func (h *Handling) check() error {
	what := ""
	switch signed := message.CheckSigned(core.Sender{By: h.By, Reason: h.Reason}); {
	case h.Record == nil:
		what = "it has no Record"
	case h.All == (len(h.IDs) > 0):
		what = "give the IDs of messages, or All, and not both"
	case signed != nil:
		what = message.Reason(signed)
	case h.Rate != 0 && !(h.Rate >= minRedriveRate && h.Rate <= maxRedriveRate):
		// this condition also rejects NaN
		what = fmt.Sprintf("rate is %v; it is %v to %v messages a second", h.Rate, minRedriveRate,
			maxRedriveRate)
	default:
		return nil
	}
	return Errorf(http.StatusBadRequest, message.CodeInvalid, "%s", what)
}

type handling struct {
	Handling
	c      *Client
	q      port.Queue
	action string
	began  time.Time
	left   map[string]bool // requested IDs of messages that were not handled yet
	pace   *time.Ticker
}

func (c *Client) handle(ctx context.Context, action string, h Handling) error {
	if err := h.check(); err != nil {
		return err
	}
	q, err := c.deadQueue(ctx, h.Queue)
	if err != nil {
		return err
	}
	h.Rate = cmp.Or(h.Rate, RedriveRate)
	apart := time.Duration(float64(time.Second) / h.Rate)
	x := &handling{
		Handling: h, c: c, q: q, action: action, began: time.Now(), left: map[string]bool{},
		pace: time.NewTicker(apart),
	}
	for _, id := range h.IDs {
		x.left[id] = true
	}
	most := mostLooked
	if h.All {
		most = math.MaxInt
	}
	// The messages of one batch must stay hidden until all of them are handled.
	hold := lookHold + apart*time.Duration(max(len(h.IDs), port.MaxBatch))
	if err := walk(ctx, q, most, hold,
		func(d *port.Delivery) (bool, bool, error) { return x.each(ctx, d) }); err != nil {
		return err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(h.IDs))) {
		if x.left[id] {
			missing := Handled{Queue: h.Queue, ID: id}
			if err := x.report(missing, Missing,
				"it is not there, or hidden because another one looks at it: then try "+
					"again in half a minute"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *handling) report(r Handled, result HandledResult, text string) error {
	r.At = time.Now().UTC()
	r.Action = x.action
	r.By = x.By
	r.Reason = x.Reason
	r.DryRun = x.DryRun
	r.Result = result
	r.Text = text
	if err := x.Record(r); err != nil {
		return fmt.Errorf("the record of message %s could not be written: %w", r.ID, err)
	}
	return nil
}

func (x *handling) each(ctx context.Context, d *port.Delivery) (taken, more bool, err error) {
	if x.All && !d.SentAt.Before(x.began) || !x.All && !x.left[d.ID] {
		return false, true, nil
	}
	delete(x.left, d.ID)
	more = x.All || len(x.left) > 0
	l := x.c.letter(ctx, x.Queue, d)
	r := Handled{Queue: x.Queue, ID: d.ID, OrderID: l.OrderID, SHA256: l.SHA256}
	done := Discarded
	if x.action == "redrive" {
		done = Redriven
		r.To = l.Queue
		if l.Refused != "" {
			return false, more, x.report(r, NotTaken, l.Refused)
		}
	}
	if x.DryRun {
		return false, more, x.report(r, done, "")
	}
	select {
	case <-x.pace.C:
	case <-ctx.Done():
		return false, false, ctx.Err()
	}
	if err := x.report(r, Begun, ""); err != nil {
		return false, false, err
	}
	text, failure := x.carryOut(ctx, &l, d)
	if failure != nil {
		err = x.report(r, Failed, text+failure.Error())
		// The failure would also affect the next message.
		if errors.Is(failure, ErrForbidden) || errors.Is(failure, ErrConnection) || ctx.Err() != nil {
			err = errors.Join(failure, err)
		}
		return false, more, err
	}
	return true, more, x.report(r, done, "")
}

func (x *handling) carryOut(ctx context.Context, l *DeadLetter, d *port.Delivery) (text string, err error) {
	if x.action == "redrive" {
		m := port.Message{Body: l.Body, Group: message.Tenant(l.OrderID)}
		to, err := x.c.via.Queue(ctx, l.Queue)
		if err == nil {
			err = to.Send(ctx, []port.Message{m})[0]
		}
		if err != nil {
			return "it was not sent: ", err
		}
		text = "it was sent to " + l.Queue +
			" and is here still, where it may be discarded; a copy does no harm: "
	}
	return text, x.q.Delete(ctx, []string{d.Receipt})[0]
}
