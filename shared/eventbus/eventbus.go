// Package eventbus puts events on an event bus of EventBridge.
//
// Authority: only this package decides the form of a status as an event: the source, the status as the
// detail's type, and the message as the detail. Package core decides which statuses exist.
//
// States: none.
//
// Failures: an entry that the bus refused, and every entry of a failed call, is port.ErrUnavailable. The bus
// may have accepted it, and the engine sends it again (P12, effects are emitted again).
package eventbus

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Source is the source of the events of statuses.
const Source = "stepkeeper"

// maxBytes is the most bytes of the entries of one call. EventBridge accepts less than 256 KiB.
const maxBytes = 255 << 10

// overhead is the most bytes that an entry has besides its detail: its source, type and time.
const overhead = 64

// Put is the call of the SDK's client. An interface would make the linker keep all of the client's operations
// in programs that look up methods by name.
type Put func(ctx context.Context, in *eventbridge.PutEventsInput,
	options ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)

// Refused is the error of an entry that its bus refused.
type Refused struct{ Code, Text string }

func (r *Refused) Error() string { return r.Code + ": " + r.Text }

// Entries makes one call. It returns the ID of each event, and a *Refused for each refused entry.
func (p Put) Entries(ctx context.Context, entries ...types.PutEventsRequestEntry) (ids []string, errs []error,
	err error) {
	out, err := p(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return nil, nil, err
	}
	if len(out.Entries) != len(entries) {
		return nil, nil, fmt.Errorf("the bus answered for %d events instead of %d", len(out.Entries),
			len(entries))
	}
	ids, errs = make([]string, len(entries)), make([]error, len(entries))
	for i, e := range out.Entries {
		if ids[i] = aws.ToString(e.EventId); e.ErrorCode != nil {
			errs[i] = &Refused{*e.ErrorCode, aws.ToString(e.ErrorMessage)}
		}
	}
	return ids, errs, nil
}

// Bus is an event bus that gets statuses. It is safe for concurrent use.
type Bus struct {
	put       Put
	name, arn string
}

// New returns a Bus with its logical name and ARN, and a client's PutEvents for the bus's Region.
func New(put Put, name, arn string) *Bus { return &Bus{put, name, arn} }

// Open returns a Bus with a client for its Region.
func Open(c aws.Config, name string, bus arn.ARN) *Bus {
	c.Region = bus.Region
	client := eventbridge.NewFromConfig(c, func(o *eventbridge.Options) {
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(wire.AttemptTimeout))
	})
	return New(client.PutEvents, name, bus.String())
}

// Queues holds the queues and buses that orders may name.
type Queues struct {
	port.Queues
	Buses map[string]*Bus // keys are logical names
}

// ReplyTo returns a bus, or a queue that orders may name.
func (q Queues) ReplyTo(name string) (port.Sender, error) {
	if bus := q.Buses[name]; bus != nil {
		return bus, nil
	}
	return q.Queues.ReplyTo(name)
}

// Name returns the logical name.
func (b *Bus) Name() string { return b.name }

// Send puts each status on the bus as one event. The values of the messages must be statuses.
func (b *Bus) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	var entries []types.PutEventsRequestEntry
	var at []int // indexes of the entries' messages
	size := 0
	flush := func() {
		b.send(ctx, entries, at, errs)
		entries, at, size = nil, nil, 0
	}
	for i := range messages {
		entry, err := b.entry(messages[i])
		if err != nil {
			errs[i] = fmt.Errorf("bus %q: %w", b.name, err)
			continue
		}
		n := len(*entry.Detail) + overhead
		if size+n > maxBytes || len(entries) == port.MaxBatch {
			flush()
		}
		entries, at, size = append(entries, entry), append(at, i), size+n
	}
	flush()
	return errs
}

func (b *Bus) send(ctx context.Context, entries []types.PutEventsRequestEntry, at []int, errs []error) {
	if len(entries) == 0 {
		return
	}
	_, refused, err := b.put.Entries(ctx, entries...)
	for i, place := range at {
		cause := err
		if err == nil {
			cause = refused[i]
		}
		if cause != nil {
			errs[place] = fmt.Errorf("bus %q: put events: %w: %w", b.name, port.ErrUnavailable, cause)
		}
	}
}

func (b *Bus) entry(m port.Message) (types.PutEventsRequestEntry, error) {
	status, ok := m.Value.(*message.Status)
	if !ok {
		return types.PutEventsRequestEntry{}, fmt.Errorf("it gets statuses only, not %T", m.Value)
	}
	detail, err := status.Encode()
	if err == nil {
		err = port.CheckMessage(&port.Message{Body: detail})
	}
	return types.PutEventsRequestEntry{EventBusName: &b.arn, Source: aws.String(Source),
		DetailType: aws.String(string(status.Kind)), Detail: aws.String(string(detail))}, err
}
