package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// RedriveRate is the default number of messages per second that are redriven or discarded.
const RedriveRate = 10

const (
	minRedriveRate = 0.001
	maxRedriveRate = 1000
)

// Handling selects messages of one of the DeadLetterQueues to redrive or discard, and names the person and
// the reason.
type Handling struct {
	Queue string
	IDs   []string // IDs of messages; set this or All
	// selects all messages that were sent before the call began
	All bool
	// By is the person's name, in 1 to 128 bytes. Reason has 1 to 512.
	By, Reason string
	Rate       float64 // messages per second, 0.001 to 1000; 0 means RedriveRate
	// Record gets each message twice: with the Result Begun before it is sent or deleted, and then with the
	// outcome. When Record returns, the record must be durable. An error ends the handling, and the message
	// stays.
	Record func(Handled) error
	// DryRun sends and deletes nothing. Record gets the expected outcome of each message.
	DryRun bool
}

// Handled is the handling of one message.
type Handled struct {
	At      time.Time     `json:"at"`
	Action  string        `json:"action"` // redrive or discard
	Queue   string        `json:"queue"`  // queue that keeps the message, as in Handling
	ID      string        `json:"id"`     // ID of the message
	To      string        `json:"to,omitempty"`
	OrderID string        `json:"orderId,omitempty"`
	SHA256  string        `json:"sha256,omitempty"`
	By      string        `json:"by"`
	Reason  string        `json:"reason"`
	Result  HandledResult `json:"result"`
	Text    string        `json:"text,omitempty"` // reason of a result that is not a success
	DryRun  bool          `json:"dryRun,omitempty"`
}

// HandledResult is the outcome for a message.
type HandledResult string

// Results of a Handling. A message that is sent or deleted gets Begun first.
const (
	Begun     HandledResult = "begun"
	Redriven  HandledResult = "redriven"  // sent to its original queue, and deleted from this one
	Discarded HandledResult = "discarded" // deleted
	NotTaken  HandledResult = "refused"   // its queue would not accept it, see Text; it stays
	Failed    HandledResult = "failed"    // the call failed; the message most likely stays; Text states why
	Missing   HandledResult = "missing"   // no message of that ID was seen
)

// Redrive sends messages to their original queue, and then deletes each one from the queue of dead letters.
//
// A message may be sent twice, but is never lost. A copy does no harm, even if it is days old. A message that
// its queue would not accept stays. Redrive reads the whole queue, as DeadLetters does. An error means that
// it ended early.
func (c *Client) Redrive(ctx context.Context, h Handling) error { return c.handle(ctx, "redrive", h) }

// Discard deletes messages. It records each one before.
func (c *Client) Discard(ctx context.Context, h Handling) error { return c.handle(ctx, "discard", h) }

func (h *Handling) check() error {
	what := ""
	switch {
	case h.Record == nil:
		what = "it has no Record"
	case h.All == (len(h.IDs) > 0):
		what = "give the IDs of messages, or All, and not both"
	case strings.TrimSpace(h.By) == "" || len(h.By) > message.MaxBy:
		what = fmt.Sprintf("by has %d bytes; name in 1 to %d bytes who does it", len(h.By), message.MaxBy)
	case strings.TrimSpace(h.Reason) == "" || len(h.Reason) > core.MaxMessage:
		what = fmt.Sprintf("reason has %d bytes; give it in 1 to %d bytes", len(h.Reason), core.MaxMessage)
	case h.Rate != 0 && !(h.Rate >= minRedriveRate && h.Rate <= maxRedriveRate): // NaN is out of range too
		what = fmt.Sprintf("rate is %v; it is %v to %v messages a second", h.Rate, minRedriveRate,
			maxRedriveRate)
	default:
		return nil
	}
	return Errorf(http.StatusBadRequest, message.CodeInvalid, "%s", what)
}

// handling is the state of a Handling in progress.
type handling struct {
	Handling
	c      *Client
	q      *operated
	action string
	began  time.Time
	left   map[string]bool // IDs of the messages still to be handled
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
	x := &handling{Handling: h, c: c, q: q, action: action, began: time.Now(), left: map[string]bool{},
		pace: time.NewTicker(apart)}
	for _, id := range h.IDs {
		x.left[id] = true
	}
	most := mostLooked
	if h.All {
		most = math.MaxInt
	}
	// hide the messages of a batch until it is handled
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

// report completes the record of an outcome and passes it on.
func (x *handling) report(r Handled, result HandledResult, text string) error {
	r.At = time.Now().UTC()
	r.Action = x.action
	r.By = x.By
	r.Reason = x.Reason
	r.DryRun = x.DryRun
	r.Result, r.Text = result, text
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
		done, r.To = Redriven, l.Queue
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
		// the next message would fail too
		if errors.Is(failure, ErrForbidden) || errors.Is(failure, ErrConnection) || ctx.Err() != nil {
			err = errors.Join(failure, err)
		}
		return false, more, err
	}
	return true, more, x.report(r, done, "")
}

// carryOut sends the message, if it is redriven, and then deletes it.
func (x *handling) carryOut(ctx context.Context, l *DeadLetter, d *port.Delivery) (text string, err error) {
	if x.action == "redrive" {
		m := port.Message{Body: l.Body, Group: message.Tenant(l.OrderID)}
		if err := x.q.via.Resend(ctx, l.Queue, m); err != nil {
			return "it was not sent: ", err
		}
		text = "it was sent to " + l.Queue +
			" and is here still, where it may be discarded; a copy does no harm: "
	}
	if err := x.q.Delete(ctx, []string{d.Receipt})[0]; err != nil {
		return text, x.q.via.QueueError(ctx, "DeleteMessage", x.Queue, err)
	}
	return "", nil
}
