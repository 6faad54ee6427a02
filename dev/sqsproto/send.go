package sqsproto

import (
	"context"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// sent is the output of an entry. The fields after ID are empty unless a message was sent.
type sent struct {
	ID                           string `json:"Id,omitempty"`
	MessageID                    string `json:"MessageId,omitempty"`
	MD5OfMessageBody             string `json:",omitempty"`
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
}

type failedEntry struct {
	ID          string `json:"Id"`
	SenderFault bool
	Code        string
	Message     string
}

// batchOutput is the output of a batch. SQS always sends both lists, even if one is empty.
type batchOutput struct {
	Successful []sent
	Failed     []failedEntry
}

// action handles entries. It returns one output and one error for each entry, in the order of the entries.
type action func(*call, port.Queue, []entry) ([]sent, []error)

// one handles the entry of an operation that is not a batch.
func (a action) one(c *call) (any, error) {
	q, err := c.queue()
	if err != nil {
		return nil, err
	}
	answers, errs := a(c, q, []entry{c.entry})
	return answers[0], errs[0]
}

// many handles a batch.
func (a action) many(c *call) (any, error) {
	q, err := c.queue()
	if err != nil {
		return nil, err
	}
	if err := checkBatch(c.Entries); err != nil {
		return nil, err
	}
	answers, errs := a(c, q, c.Entries)
	out := batchOutput{Successful: []sent{}, Failed: []failedEntry{}}
	for i, err := range errs {
		if err == nil {
			out.Successful = append(out.Successful, answers[i])
			continue
		}
		f := failOf(err)
		out.Failed = append(out.Failed,
			failedEntry{ID: c.Entries[i].ID, SenderFault: f.sender, Code: f.query, Message: f.text})
	}
	return out, nil
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

// send sends only the valid messages.
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

// checkBatch checks a batch as SQS does. One invalid ID fails the whole batch.
func checkBatch(entries []entry) error {
	total := 0
	switch {
	case len(entries) == 0:
		return bad(prefix+"EmptyBatchRequest",
			"There should be at least one entry in the request.")
	case len(entries) > port.MaxBatch:
		return bad(prefix+"TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are %d. You have sent %d.", port.MaxBatch, len(entries))
	}
	seen := map[string]bool{}
	for i := range entries {
		id := entries[i].ID
		total += entries[i].size()
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
	if total > maxText {
		return bad(prefix+"BatchRequestTooLong",
			"Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxText, total)
	}
	return nil
}
