package worker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

type deferral struct{ within time.Duration }

func (*deferral) Error() string { return "the reply comes later" }

// Deferred returns the error for an operation that continues elsewhere. A program sends the reply later, with
// Replies (P43, long work reports progress). If neither a reply nor progress comes within the given time, the
// step becomes overdue and is called again with the same key. The value 0 means the time until the call's
// StopBy.
//
// Only the do of a step with a maxDuration may return this error. For any other call, the error is a
// permanent failure.
func Deferred(within time.Duration) error { return &deferral{max(0, within)} }

// long reports whether the operation may run longer than the step's timeout and defer its reply.
func (h *handling) long() bool {
	return h.req.MaxDuration > h.req.Timeout && h.req.Operation == core.Do
}

var errNotDeferred = Permanent(WithCode(
	errors.New("the operation deferred its reply, and its step has no maxDuration; give it one"), "deferred"))

// report returns the report that the reply comes later. It extends the step's time.
func (h *handling) report(d *deferral) *message.Reply {
	report := h.replyTo(message.Progress)
	report.Until = core.TimeOf(h.stop())
	if d.within > 0 {
		report.Until = min(report.Until, core.TimeOf(h.w.Clock.Now().Add(d.within)))
	}
	return report
}

type replyID struct {
	OrderID string    `json:"task"`
	Run     int       `json:"run"`
	Step    string    `json:"step"`
	Attempt int       `json:"attempt"`
	StopBy  core.Time `json:"stopBy"`
}

// ReplyID returns the ID with which Replies sends the reply to this call. The ID is not secret. It has at
// most 512 characters: letters, digits, - and _.
func (c Call) ReplyID() string {
	text, _ := json.Marshal(replyID{c.OrderID, c.Run, c.Step, c.Attempt, core.TimeOf(c.StopBy)})
	return base64.RawURLEncoding.EncodeToString(text)
}

func readReplyID(text string) (id replyID, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err != nil || id.OrderID == "" || id.Step == "" || id.Attempt < 1 {
		return id, fmt.Errorf("%.80q is no reply ID; take it from Call.ReplyID", text)
	}
	return id, nil
}

// ErrTooLate means that the call's StopBy has passed. The reply no longer counts, and the step is called
// again or undone.
var ErrTooLate = errors.New("the call's stopBy has passed, and its reply counts no more")

// Replies sends the replies of calls that were Deferred. It is safe for concurrent use.
type Replies struct {
	Agent string // name of the agent that deferred the calls
	Queue port.Queue
	Clock port.Clock
}

// Done reports to the Scheduler that the operation was done. It returns ErrTooLate, an error for an invalid
// reply ID or output, or an error of the queue. After an error of the queue, call Done again: a repeated
// reply counts once.
func (r *Replies) Done(ctx context.Context, replyID string, output any) error {
	data, err := encode(output)
	if err != nil {
		return err
	}
	return r.send(ctx, replyID, message.Reply{Outcome: core.OutcomeDone, Output: data})
}

// Failed reports to the Scheduler why the operation was not done. Failed classifies the error in the same way
// as an error that an operation returns. It returns the same errors as Done.
func (r *Replies) Failed(ctx context.Context, replyID string, why error) error {
	f := classify(why)
	// The operation has begun, so this failure counts, whatever its code (P45, "not now" is not a failure).
	if !f.Permanent && core.Uncounted(f.Code) {
		f.Code = "failed"
	}
	var m message.Reply
	f.describe(&m)
	return r.send(ctx, replyID, m)
}

// Progress reports to the Scheduler that the operation still runs. The next progress, or the reply, must come
// within the given time; 0 means the step's timeout. Call Progress at most every 40 s, because the Scheduler
// does not store more frequent reports. Progress returns the same errors as Done.
func (r *Replies) Progress(ctx context.Context, replyID string, percent int, note string,
	within time.Duration,
) error {
	m := message.Reply{
		Outcome: message.Progress, Percent: min(max(percent, 0), 100), Note: core.ShortNote(core.RedactText(note)),
	}
	if within > 0 {
		m.Until = core.TimeOf(r.Clock.Now().Add(within))
	}
	return r.send(ctx, replyID, m)
}

// send sends a reply, and adds the identity of the request.
func (r *Replies) send(ctx context.Context, text string, m message.Reply) error {
	id, err := readReplyID(text)
	if err != nil {
		return err
	}
	if !r.Clock.Now().Before(id.StopBy.Std()) {
		return fmt.Errorf("order %s, step %s, attempt %d: %w", id.OrderID, id.Step, id.Attempt, ErrTooLate)
	}
	m.Schema = message.Schema
	m.OrderID = id.OrderID
	m.Run = id.Run
	m.Step = id.Step
	m.Attempt = id.Attempt
	m.Agent = r.Agent
	m.Operation = core.Do
	return r.Queue.Send(ctx, []port.Message{{Value: &m}})[0]
}
