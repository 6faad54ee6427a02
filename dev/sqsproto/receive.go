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

type receiveInput struct {
	QueueURL                    string   `json:"QueueUrl"`
	MaxNumberOfMessages         *int     `json:"MaxNumberOfMessages"`
	WaitTimeSeconds             *int     `json:"WaitTimeSeconds"`
	VisibilityTimeout           *int     `json:"VisibilityTimeout"`
	MessageAttributeNames       []string `json:"MessageAttributeNames"`
	AttributeNames              []string `json:"AttributeNames"`
	MessageSystemAttributeNames []string `json:"MessageSystemAttributeNames"`
}

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
	Messages []received `json:"Messages,omitempty"`
}

func receiveMessage(c *call) (any, error) {
	var in receiveInput
	if err := c.read(&in); err != nil {
		return nil, err
	}
	q, err := c.queue(in.QueueURL)
	if err != nil {
		return nil, err
	}
	count, errCount := within("MaxNumberOfMessages", in.MaxNumberOfMessages, 1, port.MaxBatch, 1)
	wait, errWait := within("WaitTimeSeconds", in.WaitTimeSeconds, 0, maxWait, 0)
	visibility, errVisibility := within("VisibilityTimeout", in.VisibilityTimeout, 0, maxVisibility,
		defaultVisibility)
	if err := cmp.Or(errCount, errWait, errVisibility); err != nil {
		return nil, err
	}
	ctx, cancel := c.h.LongPoll(c.ctx)
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
		m, err := c.h.show(q.Name(), d, &in)
		if err != nil {
			return nil, err
		}
		out.Messages = append(out.Messages, m)
	}
	return out, nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func (h *handler) show(queue string, d port.Delivery, in *receiveInput) (received, error) {
	body, err := d.Bytes()
	if err != nil {
		return received{}, err
	}
	m := received{
		MessageID: d.ID, ReceiptHandle: h.receiptHandle(queue, d.Receipt), Body: string(body),
		MD5OfBody: md5Of(body),
	}
	if v, ok := d.Value.(*envelope); ok {
		m.MessageID = v.id
		m.MessageAttributes = v.attributes.choose(in.MessageAttributeNames)
		m.MD5OfMessageAttributes = m.MessageAttributes.md5()
	}
	system := map[string]string{
		"ApproximateReceiveCount":          strconv.Itoa(d.Received),
		"SentTimestamp":                    millis(d.SentAt.UnixMilli()),
		"ApproximateFirstReceiveTimestamp": millis(h.firstReceived(d)),
		"SenderId":                         account,
	}
	if v, ok := d.Value.(*envelope); ok && v.trace != "" {
		system[traceHeader] = v.trace
	}
	m.Attributes = asked(system, slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames))
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

type receiptEntry struct {
	ID                string `json:"Id"`
	ReceiptHandle     string `json:"ReceiptHandle"`
	VisibilityTimeout *int   `json:"VisibilityTimeout"`
}

type receiptInput struct {
	QueueURL string `json:"QueueUrl"`
	receiptEntry
	Entries []receiptEntry `json:"Entries"`
}

// handled deletes messages or changes their visibility timeouts. It returns one error for each entry,
// in the order of the entries.
type handled func(*call, port.Queue, []receiptEntry) []error

func (c *call) readReceipts(in *receiptInput) (port.Queue, error) {
	if err := c.read(in); err != nil {
		return nil, err
	}
	q, err := c.queue(in.QueueURL)
	if _, sink := q.(sinkQueue); sink { // a sink delivers no messages, so no receipt handle is valid
		return nil, noQueue(q.Name())
	}
	return q, err
}

func one(work handled) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var in receiptInput
		q, err := c.readReceipts(&in)
		if err == nil && in.ReceiptHandle == "" {
			err = missing("ReceiptHandle")
		}
		if err != nil {
			return nil, err
		}
		return struct{}{}, work(c, q, []receiptEntry{in.receiptEntry})[0]
	}
}

func many(work handled) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var in receiptInput
		q, err := c.readReceipts(&in)
		if err != nil {
			return nil, err
		}
		ids := make([]string, len(in.Entries))
		for i, e := range in.Entries {
			ids[i] = e.ID
		}
		if err := checkBatch(ids); err != nil {
			return nil, err
		}
		return batchOf(ids, work(c, q, in.Entries), func(i int) any {
			return struct {
				ID string `json:"Id"`
			}{ids[i]}
		}), nil
	}
}

// deleteAll succeeds for a message that is already deleted, like SQS.
func (c *call) deleteAll(q port.Queue, entries []receiptEntry) []error {
	return some(entries,
		func(e receiptEntry) (string, error) { return c.h.receiptOf(q.Name(), e.ReceiptHandle) },
		func(receipts []string) []error { return q.Delete(c.ctx, receipts) })
}

func (c *call) extendAll(q port.Queue, entries []receiptEntry) []error {
	errs := make([]error, len(entries))
	for i, e := range entries {
		errs[i] = c.extend(q, e)
	}
	return errs
}

func (c *call) extend(q port.Queue, e receiptEntry) error {
	if e.VisibilityTimeout == nil {
		return missing("VisibilityTimeout")
	}
	visibility, err := within("VisibilityTimeout", e.VisibilityTimeout, 0, maxVisibility, 0)
	if err != nil {
		return err
	}
	receipt, err := c.h.receiptOf(q.Name(), e.ReceiptHandle)
	if err != nil {
		return err
	}
	return q.Extend(c.ctx, []port.Extension{{Receipt: receipt, For: seconds(visibility)}})[0]
}
