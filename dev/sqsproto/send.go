package sqsproto

import (
	"context"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type entry struct {
	ID                      string     `json:"Id"`
	MessageBody             *string    `json:"MessageBody"`
	DelaySeconds            int        `json:"DelaySeconds"`
	MessageAttributes       attributes `json:"MessageAttributes"`
	MessageSystemAttributes attributes `json:"MessageSystemAttributes"`
}

type sent struct {
	ID                           string `json:"Id,omitempty"`
	MessageID                    string `json:"MessageId"`
	MD5OfMessageBody             string `json:"MD5OfMessageBody"`
	MD5OfMessageAttributes       string `json:"MD5OfMessageAttributes,omitempty"`
	MD5OfMessageSystemAttributes string `json:"MD5OfMessageSystemAttributes,omitempty"`
}

type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool   `json:"SenderFault"`
	Code        string `json:"Code"`
	Message     string `json:"Message"`
}

// batchOutput is the output of a batch. SQS always sends both lists, even if one is empty.
type batchOutput struct {
	Successful []any         `json:"Successful"`
	Failed     []failedEntry `json:"Failed"`
}

func batchOf(ids []string, errs []error, done func(i int) any) batchOutput {
	out := batchOutput{Successful: []any{}, Failed: []failedEntry{}}
	for i, err := range errs {
		if err == nil {
			out.Successful = append(out.Successful, done(i))
			continue
		}
		f := failOf(err)
		out.Failed = append(out.Failed,
			failedEntry{ID: ids[i], SenderFault: f.sender, Code: f.query, Message: f.text})
	}
	return out
}

// some calls the function take for each item. Then it calls do once with the results, if at least one
// item had no error. It returns one error for each item, in the order of the items.
func some[T, U any](items []T, take func(T) (U, error), do func([]U) []error) []error {
	errs := make([]error, len(items))
	var taken []U
	var places []int
	for i := range items {
		u, err := take(items[i])
		errs[i] = err
		if err == nil {
			taken = append(taken, u)
			places = append(places, i)
		}
	}
	if len(taken) == 0 {
		return errs
	}
	for k, err := range do(taken) {
		errs[places[k]] = err
	}
	return errs
}

func sendMessage(c *call) (any, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		entry
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	q, err := c.queue(in.QueueURL)
	if err != nil {
		return nil, err
	}
	answers, errs := c.send(q, []entry{in.entry})
	return answers[0], errs[0]
}

func sendMessageBatch(c *call) (any, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	q, err := c.queue(in.QueueURL)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(in.Entries))
	total := 0
	for i := range in.Entries {
		ids[i] = in.Entries[i].ID
		total += in.Entries[i].size()
	}
	if err := checkBatch(ids); err != nil {
		return nil, err
	}
	if total > maxText {
		return nil, bad(prefix+"BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxText, total)
	}
	answers, errs := c.send(q, in.Entries)
	return batchOf(ids, errs, func(i int) any { return answers[i] }), nil
}

// send sends only the valid messages. It returns one output and one error for each entry, in the order
// of the entries.
func (c *call) send(q port.Queue, entries []entry) ([]sent, []error) {
	answers := make([]sent, 0, len(entries))
	errs := some(entries, func(e entry) (m port.Message, err error) {
		var answer sent
		err = e.check(q)
		if err == nil {
			m, answer = e.message()
		}
		answers = append(answers, answer)
		return m, err
	}, func(messages []port.Message) []error { return q.Send(c.ctx, messages) })
	return answers, errs
}

// sinkQueue is a queue that stores no messages, because its sink handles each message when it is sent.
type sinkQueue struct {
	port.Queue
	name string
	sink Sink
}

func (q sinkQueue) Name() string { return q.name }

// Send passes the bodies of the messages to the sink.
func (q sinkQueue) Send(ctx context.Context, messages []port.Message) []error {
	return some(messages, port.Message.Bytes, func(bodies [][]byte) []error { return q.sink(ctx, bodies) })
}

// Receive waits for the requested time and returns no messages.
func (q sinkQueue) Receive(ctx context.Context, _ int, wait, _ time.Duration) ([]port.Delivery, error) {
	return nil, port.Sleep(ctx, wait)
}

// Depth returns zero counts.
func (q sinkQueue) Depth(context.Context) (port.Depth, error) { return port.Depth{}, nil }

func (e *entry) size() int {
	n := e.MessageAttributes.size()
	if e.MessageBody != nil {
		n += len(*e.MessageBody)
	}
	return n
}

func (e *entry) check(q port.Queue) error {
	switch {
	case e.MessageBody == nil || *e.MessageBody == "":
		return missing("MessageBody")
	case !allowedText(*e.MessageBody):
		return badCharacters()
	case e.DelaySeconds < 0 || e.DelaySeconds > int(port.MaxDelay/time.Second):
		return invalid(
			"Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
			e.DelaySeconds)
	case e.size() > maxText:
		return tooLong(maxText)
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
	if err := e.MessageAttributes.check(); err != nil {
		return err
	}
	if _, sink := q.(sinkQueue); sink && e.DelaySeconds != 0 {
		return invalid(
			"Value %d for parameter DelaySeconds is invalid. Reason: this queue takes its messages at "+
				"once; the delay must be 0.", e.DelaySeconds)
	}
	return nil
}

// traceHeader is the only system attribute that a sender may set.
const traceHeader = "AWSTraceHeader"

func (e *entry) message() (port.Message, sent) {
	v := &envelope{id: uuid.NewString(), body: []byte(*e.MessageBody), attributes: e.MessageAttributes}
	if trace, ok := e.MessageSystemAttributes[traceHeader]; ok {
		v.trace = *trace.StringValue
	}
	return port.Message{Body: v.body, Value: v, Delay: time.Duration(e.DelaySeconds) * time.Second}, sent{
		ID: e.ID, MessageID: v.id, MD5OfMessageBody: md5Of(v.body),
		MD5OfMessageAttributes:       e.MessageAttributes.md5(),
		MD5OfMessageSystemAttributes: e.MessageSystemAttributes.md5(),
	}
}

var entryID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkBatch checks the IDs of a batch as SQS does. One invalid ID fails the whole batch.
func checkBatch(ids []string) error {
	switch {
	case len(ids) == 0:
		return bad(prefix+"EmptyBatchRequest",
			"There should be at least one entry in the request.")
	case len(ids) > port.MaxBatch:
		return bad(prefix+"TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", port.MaxBatch, len(ids))
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if !entryID.MatchString(id) {
			return bad(prefix+"InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It "+
					"can be at most 80 letters long.")
		}
		if seen[id] {
			return bad(prefix+"BatchEntryIdsNotDistinct",
				"Id %s repeated.", id)
		}
		seen[id] = true
	}
	return nil
}
