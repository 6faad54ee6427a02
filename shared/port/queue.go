package port

import (
	"context"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// MaxMessage is the largest message that Stepkeeper sends, in bytes: one chunk of SQS's bill.
const MaxMessage = 64 << 10

// MaxDelay is the longest delay of a message, and of a visibility timeout: SQS's 900 s and 12 h.
const (
	MaxDelay      = 900 * time.Second
	MaxVisibility = 12 * time.Hour
	MaxBatch      = 10
)

// Value is a message that has not been encoded yet. A queue in memory passes it on unchanged, which saves
// encoding and decoding. Its receiver must not change it.
type Value interface {
	// Encode writes the message's JSON.
	Encode() ([]byte, error)
}

// Message is a message to send. The sender sets exactly one of Body and Value.
type Message struct {
	Body  []byte
	Value Value
	Delay time.Duration // 0 to MaxDelay
	// Group names the owner of the message. A queue with groups prevents the messages of one group from
	// delaying those of others. A queue may ignore it. At most 128 letters, digits and punctuation; "" means
	// no group.
	Group string
	// High usually lets the message overtake messages without High. A queue may ignore it (P46, priority
	// changes the order of requests only).
	High bool
}

// Bytes returns the body. It encodes the value if the message has no body.
func (m Message) Bytes() ([]byte, error) {
	if m.Value != nil && m.Body == nil {
		return m.Value.Encode()
	}
	return m.Body, nil
}

// Delivery is a received message.
type Delivery struct {
	Message
	ID       string // ID given by the queue; the same at each delivery
	Receipt  string // receipt of this delivery
	Received int    // number of receives, this one included
	SentAt   time.Time
	// Sender is the identity that sent the message, if the queue guarantees it: SQS's SenderId. "" means
	// unknown.
	Sender string
}

// Depth counts the messages of a queue, approximately.
type Depth struct {
	Visible  int
	InFlight int // received and hidden: being handled, or returned with a delay
	Delayed  int
	Oldest   time.Duration // age of the oldest visible message; 0 if it is unknown, or none is visible
}

// Sender takes messages. It is a queue, or an event bus for statuses.
type Sender interface {
	// Name returns the logical name: "intake", "requests-payment".
	Name() string
	// Send returns an error for each message: nil if the queue accepted it, ErrTooLarge, or ErrUnavailable if
	// it is full or throttled.
	Send(ctx context.Context, messages []Message) []error
}

// Queue is one queue. It delivers at least once, in any order. Batches hold 1 to MaxBatch entries, unless the
// adapter's suite states otherwise. Errors of entries have the order of the entries.
type Queue interface {
	Sender
	// Receive waits up to wait for the first message and returns at most max. An empty result is not an
	// error. The messages become visible again after visibility, unless they are deleted before.
	Receive(ctx context.Context, max int, wait, visibility time.Duration) ([]Delivery, error)
	// Delete returns ErrReceipt if the receipt is not that of the newest delivery. A second delete is not an
	// error.
	Delete(ctx context.Context, receipts []string) []error
	// Extend makes the delivery invisible for d from now on. 0 returns it at once. It returns ErrReceipt as
	// Delete does.
	Extend(ctx context.Context, receipt string, d time.Duration) error
	// Depth counts its messages.
	Depth(ctx context.Context) (Depth, error)
}

// Queues finds queues by their logical names.
type Queues interface {
	// Queue returns ErrNotFound for a name that the deployment does not have.
	Queue(name string) (Queue, error)
	// ReplyTo resolves an application's logical name from the list that the operator deployed. It returns
	// ErrNotFound for any other name, because an address in a message is never used.
	ReplyTo(name string) (Sender, error)
}

// Logical names of the queues.
const (
	Intake  = "intake"
	Replies = "replies"
	Control = "control"
	// Tasks holds messages between tasks of parents and children (P41, parent and child talk by messages).
	Tasks      = "tasks"
	Quarantine = "quarantine"
)

// Requests returns the name of an agent's queue.
func Requests(agent string) string { return "requests-" + agent }

// High returns the name of the queue for another queue's messages of high priority. A deployment may not have
// it (P46).
func High(queue string) string { return queue + "-high" }

// Dead returns the name of the queue that keeps the dead letters of another.
func Dead(queue string) string { return "dead-" + queue }

// Alerts notifies the operator.
type Alerts interface {
	// Raise returns nil once the operator will certainly see the alert, or an alert that counts its order.
	Raise(ctx context.Context, alert core.RaiseAlert) error
}

// Stopped counts the orders of a workflow that are in Error.
type Stopped struct {
	Orders int
	Oldest time.Duration // time that the oldest of them has been in Error
}
