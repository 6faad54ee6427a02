package port

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// MaxMessage is the largest message that Stepkeeper sends, in bytes: SQS bills 64 KiB as one request. A step
// with a larger request fails with `input-too-large`. A larger status is sent without its output.
const MaxMessage = 64 << 10

// Limits of SQS, which apply to every queue.
const (
	// MaxBody is the largest body of a message that a queue accepts, in bytes. A program that is not
	// Stepkeeper's may write a message with more escapes than necessary.
	MaxBody       = 1 << 20
	MaxDelay      = 900 * time.Second // longest delay of a message
	MaxVisibility = 12 * time.Hour    // longest visibility timeout
	MaxBatch      = 10                // largest number of messages in one call
)

// Value is a message that is not encoded. A queue in memory delivers the value itself, which saves encoding
// and decoding. The receiver must not change the value.
type Value interface {
	// Encode returns the message as JSON.
	Encode() ([]byte, error)
}

// Message is a message to send. The sender sets Body or Value. The sender sets both fields if the value holds
// data beyond the body, such as attributes. A queue that stores bytes keeps only the body.
type Message struct {
	Body  []byte
	Value Value
	Delay time.Duration // 0 to MaxDelay
	// Group names the owner of the message, in at most 128 letters, digits and punctuation characters. The
	// value "" means no group. In a queue with groups, many messages of one group do not delay the messages
	// of other groups. A queue may ignore Group.
	Group string
	// High permits the message to overtake messages without High (P46, priority changes the order of requests
	// only). A queue may ignore High.
	High bool
}

// Bytes returns the body. If the message has a value and no body, Bytes encodes the value.
func (m Message) Bytes() ([]byte, error) {
	if m.Value != nil && m.Body == nil {
		return m.Value.Encode()
	}
	return m.Body, nil
}

// Delivery is a received message.
type Delivery struct {
	Message
	ID       string // ID from the queue; all deliveries of a message have the same ID
	Receipt  string // argument for Delete and Extend
	Received int    // number of receives of the message, including this receive
	SentAt   time.Time
	// Sender is the identity that sent the message, such as the SenderId of SQS. The value "" means that the
	// queue does not guarantee an identity.
	Sender string
}

// Depth counts the messages of a queue, approximately.
type Depth struct {
	Visible  int
	InFlight int // hidden messages, which a receiver handles or has returned with a delay
	Delayed  int
	Oldest   time.Duration // age of the oldest visible message; 0 if unknown or if no message is visible
}

// Sender accepts messages. Each Queue is a Sender. An event bus for statuses is a Sender too.
type Sender interface {
	// Name returns the logical name, such as "intake" or "requests-payment".
	Name() string
	// Send sends the messages and returns an error for each message:
	//
	//   - nil: the queue has accepted the message.
	//   - ErrTooLarge: the message is too large.
	//   - ErrNotFound: the queue or bus was deleted.
	//   - ErrForbidden: the caller may not send to the queue or bus, or may not use its key.
	//   - ErrUnavailable: the queue is full or throttled, or the result of the call is unknown.
	Send(ctx context.Context, messages []Message) []error
}

// Extension is a request to hide the message of one delivery for the duration For, from now on. If For is 0,
// the message becomes visible at once.
type Extension struct {
	Receipt string
	For     time.Duration
}

// Queue is one queue. It delivers each message at least once. It can deliver messages in any order. A
// caller passes at most MaxBatch entries in one call. Each error has the index of its entry.
type Queue interface {
	Sender
	// Receive blocks until a message is visible, but not longer than wait. It returns at most max messages.
	// An empty result is not an error. A message that is not deleted becomes visible again after the
	// visibility timeout.
	Receive(ctx context.Context, max int, wait, visibility time.Duration) ([]Delivery, error)
	// Delete deletes the messages with these receipts. The error of a receipt is ErrReceipt if a newer
	// delivery of the message exists, or if the receipt is invalid. Deleting a message twice is not an error.
	Delete(ctx context.Context, receipts []string) []error
	// Extend hides each message for its duration from now on. The error of an extension is ErrReceipt if the
	// message is visible, deleted or received again, or if the receipt is invalid.
	Extend(ctx context.Context, extensions []Extension) []error
	// Depth counts the messages of the queue.
	Depth(ctx context.Context) (Depth, error)
}

// Queues finds queues by their logical names.
type Queues interface {
	// Queue returns the queue with this name. If the deployment has no such queue, Queue returns ErrNotFound.
	Queue(name string) (Queue, error)
	// ReplyTo returns the queue or event bus for an application's statuses. The operator deploys a list of
	// permitted logical names. For any other name, such as an address in a message, ReplyTo returns
	// ErrNotFound.
	ReplyTo(name string) (Sender, error)
}

// Logical names of the queues.
const (
	Intake  = "intake"
	Replies = "replies"
	Control = "control"
	// Tasks is the queue of messages between a parent task and its child tasks (P41, parent and child talk by
	// messages).
	Tasks      = "tasks"
	Quarantine = "quarantine"
)

// Requests returns the name of the queue for an agent's requests.
func Requests(agent string) string { return "requests-" + agent }

// High returns the name of the queue that holds the high-priority messages of the given queue. Not every
// deployment has queues for high priority (P46).
func High(queue string) string { return queue + "-high" }

// Dead returns the name of the queue that keeps the dead letters of the given queue.
func Dead(queue string) string { return "dead-" + queue }

// Alerts notifies the operator.
type Alerts interface {
	// Raise records the alert of an order. It returns nil only if the operator will certainly get an alert
	// that covers the order.
	Raise(ctx context.Context, alert core.RaiseAlert) error
}

// Outage is a period in which an agent does not call an operation, for example because its circuit breaker is
// open. The steps of the operation wait meanwhile (P45, "not now" is not a failure).
type Outage struct {
	Agent     string
	Operation string // "" means that the agent is not deployed
	Code      string // code of the latest reply, such as core.CodeBreakerOpen
	Message   string
	Since     core.Time
	// Ended is the time of the first call after the outage. It is zero while the outage lasts. The steps that
	// waited are woken, and then the outage is forgotten.
	Ended core.Time
}

// Check returns the name and the text of a health check that finds the outage.
func (o Outage) Check() (name, text string) {
	return strings.TrimSpace("agent " + o.Agent + " " + o.Operation),
		fmt.Sprintf("%s since %s, its steps wait, uncounted: %s", o.Code, o.Since, o.Message)
}

// Stopped counts the orders of one workflow that wait for an operator: in Error, or damaged.
type Stopped struct {
	Orders int
	Oldest time.Duration // time for which the oldest of these orders has been in Error
}

const firstBackoff = 2 * time.Second

// Backoff returns how long the message of a failed delivery stays hidden. The time is 2 s after the first
// receive, and doubles with each further receive. Backoff makes the time longer by up to 50 %, depending on a
// hash of the message's ID and count. Messages that failed together therefore return at different times. The
// result is at most visibility.
func (d *Delivery) Backoff(visibility time.Duration) time.Duration {
	wait := firstBackoff << min(max(d.Received-1, 0), 20)
	sum := fnv.New32a()
	_, _ = sum.Write(strconv.AppendInt([]byte(d.ID), int64(d.Received), 10))
	wait += wait / 2 * time.Duration(sum.Sum32()%1000) / 1000
	return min(wait, visibility)
}

// Finish ends the handling of a batch from a queue. It returns the messages whose receipts are in failed to the queue,
// each with its Backoff, and deletes the others. After an error, messages come again, which is harmless.
func Finish(ctx context.Context, q Queue, batch []Delivery, failed []string, visibility time.Duration) error {
	var back []Extension
	var done []string
	for i := range batch {
		d := &batch[i]
		if slices.Contains(failed, d.Receipt) {
			back = append(back, Extension{Receipt: d.Receipt, For: d.Backoff(visibility)})
		} else {
			done = append(done, d.Receipt)
		}
	}
	var errs []error
	if len(back) > 0 {
		errs = q.Extend(ctx, back)
	}
	if len(done) > 0 {
		errs = append(errs, q.Delete(ctx, done)...)
	}
	return errors.Join(errs...)
}
