package sqsproto

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// entry is one message to send, alone or in a batch.
type entry struct {
	ID                      string     `json:"Id"`
	MessageBody             *string    `json:"MessageBody"`
	DelaySeconds            int        `json:"DelaySeconds"`
	MessageAttributes       attributes `json:"MessageAttributes"`
	MessageSystemAttributes attributes `json:"MessageSystemAttributes"`
}

// sent answers one message.
type sent struct {
	ID                           string `json:"Id,omitempty"`
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string `json:"MD5OfMessageBody"`
	MD5OfMessageAttributes       string `json:"MD5OfMessageAttributes,omitempty"`
	MD5OfMessageSystemAttributes string `json:"MD5OfMessageSystemAttributes,omitempty"`
}

// failedEntry is one of a batch that was not carried out.
type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
}

// batchOutput always has both lists, as SQS has them.
type batchOutput[T any] struct {
	Successful []T           `json:"Successful"`
	Failed     []failedEntry `json:"Failed"`
}

func newBatch[T any]() batchOutput[T] {
	return batchOutput[T]{Successful: []T{}, Failed: []failedEntry{}}
}

func (b *batchOutput[T]) fail(id string, err error) {
	f := failOf(err)
	b.Failed = append(b.Failed, failedEntry{ID: id, SenderFault: f.sender, Code: f.query, Message: f.text})
}

func sendMessage(c *call) (any, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		entry
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	send, err := c.sender(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	m, answer := in.message()
	if err := send(c.ctx, []port.Message{m})[0]; err != nil {
		return nil, err
	}
	return answer, nil
}

func sendMessageBatch(c *call) (any, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	send, err := c.sender(in.QueueURL)
	if err != nil {
		return nil, err
	}
	ids, total := make([]string, len(in.Entries)), 0
	for i := range in.Entries {
		ids[i] = in.Entries[i].ID
		total += in.Entries[i].size()
	}
	if err := checkBatch(ids); err != nil {
		return nil, err
	}
	if total > maxText {
		return nil, failure(http.StatusBadRequest, "BatchRequestTooLong",
			"AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxText, total)
	}
	out := newBatch[sent]()
	var messages []port.Message
	var answers []sent
	for i := range in.Entries {
		e := &in.Entries[i]
		if err := e.check(); err != nil {
			out.fail(e.ID, err)
			continue
		}
		m, answer := e.message()
		messages, answers = append(messages, m), append(answers, answer)
	}
	for i, err := range send(c.ctx, messages) {
		if err != nil {
			out.fail(answers[i].ID, err)
		} else {
			out.Successful = append(out.Successful, answers[i])
		}
	}
	return out, nil
}

// sender finds who takes messages to that queue: a sink that handles them now, or the queue.
func (c *call) sender(queueURL string) (func(context.Context, []port.Message) []error, error) {
	if sink := c.h.Sinks[nameOf(queueURL)]; sink != nil {
		return func(ctx context.Context, messages []port.Message) []error {
			return sinkAll(ctx, sink, messages)
		}, nil
	}
	q, err := c.queue(queueURL)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, messages []port.Message) []error { return sendAll(ctx, q, messages) },
		nil
}

// sendAll queues messages that are not larger than our own may be. The queue is not asked, because
// one in memory would have to encode a value for its size.
func sendAll(ctx context.Context, q port.Queue, messages []port.Message) []error {
	errs := make([]error, len(messages))
	var fitting []port.Message
	var at []int
	for i, m := range messages {
		if v, ok := m.Value.(*envelope); ok && len(v.body)+v.attributes.size() > port.MaxMessage {
			errs[i] = port.ErrTooLarge
			continue
		}
		fitting, at = append(fitting, m), append(at, i)
	}
	if len(fitting) == 0 {
		return errs
	}
	for k, err := range q.Send(ctx, fitting) {
		errs[at[k]] = err
	}
	return errs
}

// sinkAll hands bodies to a sink; it cannot wait, so a delay is refused.
func sinkAll(ctx context.Context, sink Sink, messages []port.Message) []error {
	errs := make([]error, len(messages))
	var bodies [][]byte
	var at []int
	for i, m := range messages {
		if m.Delay != 0 {
			errs[i] = invalid(
				"Value %d for parameter DelaySeconds is invalid. Reason: this queue takes its messages at "+
					"once; the delay must be 0.", int(m.Delay/time.Second))
			continue
		}
		body, err := m.Bytes()
		if err != nil {
			errs[i] = err
			continue
		}
		bodies, at = append(bodies, body), append(at, i)
	}
	if len(bodies) == 0 {
		return errs
	}
	for k, err := range sink(ctx, bodies) {
		errs[at[k]] = err
	}
	return errs
}

func (e *entry) size() int {
	n := e.MessageAttributes.size()
	if e.MessageBody != nil {
		n += len(*e.MessageBody)
	}
	return n
}

func (e *entry) check() error {
	switch {
	case e.MessageBody == nil:
		return missing("MessageBody")
	case *e.MessageBody == "":
		return missing("MessageBody")
	case !allowedText(*e.MessageBody):
		return badCharacters()
	case e.DelaySeconds < 0 || e.DelaySeconds > int(port.MaxDelay/time.Second):
		return invalid(
			"Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
			e.DelaySeconds)
	case e.size() > maxText:
		return invalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.",
			maxText)
	}
	for name, v := range e.MessageSystemAttributes {
		if name != traceHeader || v.DataType != "String" {
			return invalid("The message system attribute %.60q is not known; there is only %s, a String.",
				name, traceHeader)
		}
	}
	if err := e.MessageSystemAttributes.check(); err != nil {
		return err
	}
	return e.MessageAttributes.check()
}

// traceHeader is the one system attribute that a sender may set.
const traceHeader = "AWSTraceHeader"

// message makes what the queue gets, and the answer if it takes it.
func (e *entry) message() (port.Message, sent) {
	v := &envelope{id: uuid.NewString(), body: []byte(*e.MessageBody), attributes: e.MessageAttributes}
	if trace, ok := e.MessageSystemAttributes[traceHeader]; ok {
		v.trace = *trace.StringValue
	}
	return port.Message{Value: v, Delay: time.Duration(e.DelaySeconds) * time.Second}, sent{
		ID: e.ID, MessageID: v.id, MD5OfMessageBody: md5Of(v.body),
		MD5OfMessageAttributes:       e.MessageAttributes.md5(),
		MD5OfMessageSystemAttributes: e.MessageSystemAttributes.md5(),
	}
}

var entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkBatch holds the IDs of a batch to SQS's rules; breaking one fails the whole batch.
func checkBatch(ids []string) error {
	switch {
	case len(ids) == 0:
		return failure(http.StatusBadRequest, "EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest",
			"There should be at least one entry in the request.")
	case len(ids) > port.MaxBatch:
		return failure(http.StatusBadRequest, "TooManyEntriesInBatchRequest",
			"AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", port.MaxBatch, len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if !entryID.MatchString(id) {
			return failure(http.StatusBadRequest, "InvalidBatchEntryId",
				"AWS.SimpleQueueService.InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It "+
					"can be at most 80 letters long.")
		}
		if seen[id] {
			return failure(http.StatusBadRequest, "BatchEntryIdsNotDistinct",
				"AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
				"Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}
