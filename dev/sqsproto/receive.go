package sqsproto

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	maxWait           = 20 * time.Second
	defaultVisibility = 30 * time.Second
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
	if c.h.Sinks[nameOf(in.QueueURL)] != nil {
		return c.pollSink(&in)
	}
	q, err := c.queue(in.QueueURL)
	if err != nil {
		return nil, err
	}
	l, err := in.limits()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.h.LongPoll(c.ctx)
	defer cancel()
	deliveries, err := q.Receive(ctx, l.count, l.wait, l.visibility)
	if err != nil && (ctx.Err() == nil || len(deliveries) > 0) {
		return nil, err
	}
	if c.ctx.Err() != nil { // the receiver has hung up: let the next one have them at once
		for _, d := range deliveries {
			_ = q.Extend(context.WithoutCancel(c.ctx), d.Receipt, 0) // else its visibility timeout does
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

// pollSink returns a poll of a queue that never holds a message, as late as asked for.
func (c *call) pollSink(in *receiveInput) (any, error) {
	l, err := in.limits()
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.h.LongPoll(c.ctx)
	defer cancel()
	_ = port.Sleep(ctx, l.wait)
	return receiveOutput{}, nil
}

// limits holds what a ReceiveMessage asks for, or SQS's defaults.
type limits struct {
	count            int
	wait, visibility time.Duration
}

func (in *receiveInput) limits() (l limits, err error) {
	l = limits{count: 1, visibility: defaultVisibility}
	if v := in.MaxNumberOfMessages; v != nil {
		if l.count = *v; l.count < 1 || l.count > port.MaxBatch {
			return l, outside("MaxNumberOfMessages", l.count, 1, port.MaxBatch)
		}
	}
	if v := in.WaitTimeSeconds; v != nil {
		if *v < 0 || *v > int(maxWait/time.Second) {
			return l, outside("WaitTimeSeconds", *v, 0, int(maxWait/time.Second))
		}
		l.wait = time.Duration(*v) * time.Second
	}
	if v := in.VisibilityTimeout; v != nil {
		l.visibility, err = visibilityOf(*v)
	}
	return l, err
}

func visibilityOf(seconds int) (time.Duration, error) {
	if seconds < 0 || seconds > int(port.MaxVisibility/time.Second) {
		return 0, outside("VisibilityTimeout", seconds, 0, int(port.MaxVisibility/time.Second))
	}
	return time.Duration(seconds) * time.Second, nil
}

func outside(parameter string, value, low, high int) *fail {
	return invalid("Value %d for parameter %s is invalid. Reason: Must be >= %d and <= %d, if provided.",
		value, parameter, low, high)
}

// show makes a delivery what SQS would answer, with the attributes that were asked for.
func (h *handler) show(queue string, d port.Delivery, in *receiveInput) (received, error) {
	body, err := d.Bytes()
	if err != nil {
		return received{}, err
	}
	m := received{MessageID: d.ID, ReceiptHandle: h.receiptHandle(queue, d.Receipt), Body: string(body),
		MD5OfBody: md5Of(body)}
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
	for name, value := range system {
		if asked(in.AttributeNames, name) || asked(in.MessageSystemAttributeNames, name) {
			if m.Attributes == nil {
				m.Attributes = map[string]string{}
			}
			m.Attributes[name] = value
		}
	}
	return m, nil
}

// firstReceived is approximate, as its name in SQS says: of a message that was forgotten here, or
// first received inside of the process, it is the time of sending.
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

func asked(names []string, name string) bool {
	return slices.Contains(names, name) || slices.Contains(names, "All")
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

type done struct {
	ID string `json:"Id"`
}

func deleteMessage(c *call) (any, error) {
	var in receiptInput
	q, err := c.readOneReceipt(&in)
	if err != nil {
		return nil, err
	}
	// SQS answers success for a message that is gone already.
	if err := c.deleteAll(q, []receiptEntry{in.receiptEntry})[0]; err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func (c *call) readReceipt(in *receiptInput) (port.Queue, error) {
	if err := c.read(in); err != nil {
		return nil, err
	}
	return c.queue(in.QueueURL)
}

// readOneReceipt is for the operations that take one message.
func (c *call) readOneReceipt(in *receiptInput) (port.Queue, error) {
	q, err := c.readReceipt(in)
	if err == nil && in.ReceiptHandle == "" {
		err = missing("ReceiptHandle")
	}
	return q, err
}

func deleteMessageBatch(c *call) (any, error) {
	return receiptBatch(c, c.deleteAll)
}

// deleteAll deletes the messages of the handles that are genuine. The errors stand at the places of the
// entries.
func (c *call) deleteAll(q port.Queue, entries []receiptEntry) []error {
	errs := make([]error, len(entries))
	var receipts []string
	var places []int
	for i, e := range entries {
		var receipt string
		if receipt, errs[i] = c.h.receiptOf(q.Name(), e.ReceiptHandle); errs[i] == nil {
			receipts, places = append(receipts, receipt), append(places, i)
		}
	}
	if len(receipts) > 0 {
		for k, err := range q.Delete(c.ctx, receipts) {
			errs[places[k]] = err
		}
	}
	return errs
}

func changeVisibility(c *call) (any, error) {
	var in receiptInput
	q, err := c.readOneReceipt(&in)
	if err != nil {
		return nil, err
	}
	if err := c.extend(q, in.receiptEntry); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func (c *call) extend(q port.Queue, e receiptEntry) error {
	if e.VisibilityTimeout == nil {
		return missing("VisibilityTimeout")
	}
	d, err := visibilityOf(*e.VisibilityTimeout)
	if err != nil {
		return err
	}
	receipt, err := c.h.receiptOf(q.Name(), e.ReceiptHandle)
	if err != nil {
		return err
	}
	return q.Extend(c.ctx, receipt, d)
}

func changeVisibilityBatch(c *call) (any, error) {
	return receiptBatch(c, func(q port.Queue, entries []receiptEntry) []error {
		errs := make([]error, len(entries))
		for i, e := range entries {
			errs[i] = c.extend(q, e)
		}
		return errs
	})
}

// receiptBatch carries out a batch of deletions or extensions.
func receiptBatch(c *call, each func(port.Queue, []receiptEntry) []error) (any, error) {
	var in receiptInput
	q, err := c.readReceipt(&in)
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
	out := newBatch[done]()
	for i, err := range each(q, in.Entries) {
		if err != nil {
			out.fail(ids[i], err)
		} else {
			out.Successful = append(out.Successful, done{ids[i]})
		}
	}
	return out, nil
}
