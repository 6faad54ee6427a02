// Package eventbus sends statuses as events to an event bus of EventBridge.
//
// Authority: this package decides the form of an event. The detail type is the kind of the status, and the
// detail is the status message. Package core decides which statuses exist.
//
// States: none.
//
// Failures: if the bus refuses an event, or if a call fails, the error wraps port.ErrNotFound,
// port.ErrForbidden or port.ErrUnavailable. After a failed call, the bus may have accepted the event. The
// engine emits the status again (P12b, a status delays nothing else).
package eventbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Source is the source of all events that this package sends.
const Source = "stepkeeper"

// maxBytes limits the size of the entries in one call, in bytes. EventBridge accepts less than 256 KiB.
const maxBytes = 255 << 10

// overhead is the largest size of an entry without its detail, in bytes.
const overhead = 64

// Entry is one event. EventBusName may be the ARN of the bus.
type Entry struct{ EventBusName, Source, DetailType, Detail string }

// Refused is the error for an event that the bus refused.
type Refused struct{ Code, Text string }

func (r *Refused) Error() string { return r.Code + ": " + r.Text }

// Put sends the events in one call of a client for direct.EventBridge. It returns the ID of each event, and a
// *Refused in errs for each refused event.
func Put(ctx context.Context, c *direct.Client, entries ...Entry) (ids []string, errs []error, err error) {
	var out struct {
		Entries []struct{ EventID, ErrorCode, ErrorMessage string } // JSON reads EventId too
	}
	if err := c.JSON(ctx, "PutEvents", map[string][]Entry{"Entries": entries}, &out); err != nil {
		return nil, nil, err
	}
	if len(out.Entries) != len(entries) {
		return nil, nil, fmt.Errorf("the bus answered for %d events instead of %d", len(out.Entries),
			len(entries))
	}
	ids = make([]string, len(entries))
	errs = make([]error, len(entries))
	for i, e := range out.Entries {
		ids[i] = e.EventID
		if e.ErrorCode != "" {
			errs[i] = &Refused{e.ErrorCode, e.ErrorMessage}
		}
	}
	return ids, errs, nil
}

// Bus is an event bus that receives statuses. It implements port.Sender and is safe for concurrent use.
type Bus struct {
	client    *direct.Client
	name, arn string
}

// New returns a Bus with a client for the Region of the bus. It makes no network calls.
func New(c aws.Config, name string, bus arn.ARN) *Bus {
	c.Region = bus.Region
	return &Bus{direct.New(c, direct.EventBridge, wire.LimitAttempts(wire.AttemptTimeout)), name, bus.String()}
}

// Queues contains the queues and the buses that orders may name as reply-to.
type Queues struct {
	port.Queues
	Buses map[string]*Bus // buses by logical name
}

// ReplyTo returns the bus or the queue for a reply-to.
func (q Queues) ReplyTo(name string) (port.Sender, error) {
	if bus := q.Buses[name]; bus != nil {
		return bus, nil
	}
	return q.Queues.ReplyTo(name)
}

// Name returns the logical name of the bus.
func (b *Bus) Name() string { return b.name }

// Send sends each status as one event. The value of every message must be a *message.Status.
func (b *Bus) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	var entries []Entry
	var at []int // indexes of the messages in entries
	size := 0
	flush := func() {
		b.send(ctx, entries, at, errs)
		entries = nil
		at = nil
		size = 0
	}
	for i := range messages {
		entry, err := b.entry(messages[i])
		if err != nil {
			errs[i] = fmt.Errorf("bus %q: %w", b.name, err)
			continue
		}
		n := len(entry.Detail) + overhead
		if size+n > maxBytes || len(entries) == port.MaxBatch {
			flush()
		}
		entries = append(entries, entry)
		at = append(at, i)
		size = size + n
	}
	flush()
	return errs
}

func (b *Bus) send(ctx context.Context, entries []Entry, at []int, errs []error) {
	if len(entries) == 0 {
		return
	}
	_, refused, err := Put(ctx, b.client, entries...)
	for i, place := range at {
		cause := err
		if err == nil {
			cause = refused[i]
		}
		if cause != nil {
			errs[place] = fmt.Errorf("bus %q: put events: %w: %w", b.name, meaning(cause), cause)
		}
	}
}

// meaning returns the error of package port for a failed call or a refused event.
func meaning(err error) error {
	code := direct.Code(err)
	var refused *Refused
	if errors.As(err, &refused) {
		code = refused.Code
	}
	switch code {
	case "ResourceNotFoundException":
		return port.ErrNotFound
	case "AccessDeniedException", "NotAuthorizedForSourceException", "UnrecognizedClientException":
		return port.ErrForbidden
	}
	return port.ErrUnavailable
}

func (b *Bus) entry(m port.Message) (Entry, error) {
	status, ok := m.Value.(*message.Status)
	if !ok {
		return Entry{}, fmt.Errorf("it gets statuses only, not %T", m.Value)
	}
	if !status.Fits() {
		return Entry{}, fmt.Errorf("a status has more than %d bytes: %w", port.MaxMessage,
			port.ErrTooLarge)
	}
	detail, err := status.Encode()
	return Entry{EventBusName: b.arn, Source: Source, DetailType: string(status.Kind), Detail: string(detail)}, err
}
