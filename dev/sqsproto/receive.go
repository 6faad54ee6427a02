package sqsproto

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	maxWait           = 20 // seconds
	defaultVisibility = 30 // seconds
	maxVisibility     = int(port.MaxVisibility / time.Second)
)

type received struct {
	MessageID              string            `json:"MessageId"`
	ReceiptHandle          string            `json:"ReceiptHandle"`
	Body                   string            `json:"Body"`
	MD5OfBody              string            `json:"MD5OfBody"`
	Attributes             map[string]string `json:"Attributes,omitempty"`
	MessageAttributes      attributes        `json:"MessageAttributes,omitempty"`
	MD5OfMessageAttributes string            `json:"MD5OfMessageAttributes,omitempty"`
}

type receiveOutput struct {
	Messages []received `json:",omitempty"`
}

func receiveMessage(c *call) (any, error) {
	q, err := c.queue()
	if err != nil {
		return nil, err
	}
	count, errCount := within("MaxNumberOfMessages", c.MaxNumberOfMessages, 1, port.MaxBatch, 1)
	wait, errWait := within("WaitTimeSeconds", c.WaitTimeSeconds, 0, maxWait, 0)
	visibility, errVisibility := within("VisibilityTimeout", c.VisibilityTimeout, 0, maxVisibility,
		defaultVisibility)
	if err := cmp.Or(errCount, errWait, errVisibility); err != nil {
		return nil, err
	}
	ctx, cancel, err := c.h.LongPoll(c.ctx)
	if err != nil {
		return nil, err
	}
	defer cancel()
	deliveries, err := q.Receive(ctx, count, seconds(wait), seconds(visibility))
	if err != nil && (ctx.Err() == nil || len(deliveries) > 0) {
		return nil, err
	}
	if c.ctx.Err() != nil { // the receiver has disconnected, so make the messages visible again
		for _, d := range deliveries {
			// if this fails, the message becomes visible after its visibility timeout
			_ = q.Extend(context.WithoutCancel(c.ctx), []port.Extension{{Receipt: d.Receipt}})[0]
		}
		return receiveOutput{}, nil
	}
	var out receiveOutput
	for _, d := range deliveries {
		m, err := c.show(q.Name(), d)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func (c *call) show(queue string, d port.Delivery) (received, error) {
	body, err := d.Bytes()
	if err != nil {
		return received{}, err
	}
	m := received{
		MessageID: d.ID, ReceiptHandle: c.h.receiptHandle(queue, d.Receipt), Body: string(body),
		MD5OfBody: md5Of(body),
	}
	if v, ok := d.Value.(*envelope); ok {
		m.MessageID = v.id
		m.MessageAttributes = v.attributes.choose(c.MessageAttributeNames)
		m.MD5OfMessageAttributes = m.MessageAttributes.md5()
	}
	system := map[string]string{
		"ApproximateReceiveCount":          strconv.Itoa(d.Received),
		"SentTimestamp":                    millis(d.SentAt.UnixMilli()),
		"ApproximateFirstReceiveTimestamp": millis(c.h.firstReceived(d)),
		"SenderId":                         account,
	}
	if v, ok := d.Value.(*envelope); ok && v.trace != "" {
		system[traceHeader] = v.trace
	}
	m.Attributes = asked(system, slices.Concat(c.AttributeNames, c.MessageSystemAttributeNames))
	return m, nil
}

// firstReceived returns the approximate time of the first receive, in milliseconds. It returns the
// time of sending if the cache does not contain the message.
func (h *handler) firstReceived(d port.Delivery) int64 {
	if d.Received <= 1 {
		now := h.Clock.Now().UnixMilli()
		h.first.Add(d.ID, now)
		return now
	}
	if at, ok := h.first.Get(d.ID); ok {
		return at
	}
	return d.SentAt.UnixMilli()
}

// asked removes the attributes whose names are not in the list. The name "All" selects all attributes.
func asked(all map[string]string, names []string) map[string]string {
	if slices.Contains(names, "All") {
		return all
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return !slices.Contains(names, name) })
	return all
}

func millis(ms int64) string { return strconv.FormatInt(ms, 10) }

// remove deletes messages. It succeeds for a message that is already deleted, like SQS.
func (c *call) remove(q port.Queue, entries []entry) ([]sent, []error) {
	return identified(entries), some(entries,
		func(e entry) (string, error) { return c.receiptOf(q, &e) },
		func(receipts []string) []error { return q.Delete(c.ctx, receipts) })
}

func (c *call) extend(q port.Queue, entries []entry) ([]sent, []error) {
	return identified(entries), some(entries, func(e entry) (port.Extension, error) {
		if e.VisibilityTimeout == nil {
			return port.Extension{}, missing("VisibilityTimeout")
		}
		visibility, err := within("VisibilityTimeout", e.VisibilityTimeout, 0, maxVisibility, 0)
		if err != nil {
			return port.Extension{}, err
		}
		receipt, err := c.receiptOf(q, &e)
		return port.Extension{Receipt: receipt, For: seconds(visibility)}, err
	}, func(extensions []port.Extension) []error { return q.Extend(c.ctx, extensions) })
}

func identified(entries []entry) []sent {
	answers := make([]sent, len(entries))
	for i := range entries {
		answers[i].ID = entries[i].ID
	}
	return answers
}

func (c *call) receiptOf(q port.Queue, e *entry) (string, error) {
	if e.ReceiptHandle == "" && e.ID == "" { // SQS calls a missing receipt of a batch invalid; its entries have IDs
		return "", missing("ReceiptHandle")
	}
	return c.h.receiptOf(q.Name(), e.ReceiptHandle)
}
