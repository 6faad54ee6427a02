package sqsproto

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Queues finds the queues that the handler serves.
type Queues interface {
	Queue(name string) (port.Queue, error) // returns port.ErrNotFound for an unknown name
	QueueNames() []string
}

// Sink handles the messages to a queue, and the queue stores nothing. Sink returns one error for each
// body, in the order of the bodies:
//   - nil means that the message is handled.
//   - An error made by Invalid means that the sender must not send the message again.
//   - Any other error means that the sender should send the message again.
type Sink func(ctx context.Context, bodies [][]byte) []error

// Config configures the handler.
type Config struct {
	Queues Queues
	Sinks  map[string]Sink // sinks by queue name; Queues does not contain these queues
	// LongPoll derives the context for a long poll from the context of the request. The derived context
	// may end earlier, when the process shuts down. An error refuses the poll. nil means the context of the request.
	LongPoll func(context.Context) (context.Context, context.CancelFunc, error)
	Clock    port.Clock // nil means the system clock
	// ReceiptKey is the key for the receipt handles. nil means a new random key. A handler rejects receipt
	// handles that were made with another key.
	ReceiptKey []byte
}

// Path is the beginning of the path of every queue URL. The rest of the path is the name of the queue.
// Requests may be sent to this path or to "/".
const Path = "/" + account + "/"

const (
	targetPrefix = "AmazonSQS."
	contentType  = "application/x-amz-json-1.0"
	account      = "000000000000"
	maxBody      = 7 << 20 // a batch has up to 1 MiB of text, and JSON may write each byte as an escape of 6
	firstSeen    = 1 << 15 // number of messages for which the handler stores the time of the first receive
)

type handler struct {
	Config
	first *lru.Cache[string, int64] // time of the first receive in milliseconds, by message ID
}

// New returns a handler. The caller must send it only POST requests.
func New(c Config) http.Handler {
	if c.LongPoll == nil {
		c.LongPoll = func(ctx context.Context) (context.Context, context.CancelFunc, error) {
			return ctx, func() {}, nil
		}
	}
	c.Clock = cmp.Or[port.Clock](c.Clock, port.ClockFunc(time.Now))
	if c.ReceiptKey == nil {
		c.ReceiptKey = []byte(rand.Text() + rand.Text())
	}
	first, err := lru.New[string, int64](firstSeen)
	if err != nil {
		panic(err) // cannot happen, because only a size below 1 is an error
	}
	return &handler{Config: c, first: first}
}

type call struct {
	request
	h    *handler
	ctx  context.Context
	base string // base URL from the Host header, such as "http://127.0.0.1:7070"
}

// request contains the parameters of all operations.
type request struct {
	QueueURL                    string `json:"QueueUrl"`
	entry                              // the one entry of an operation that is not a batch
	Entries                     []entry
	AttributeNames              []string
	MaxNumberOfMessages         *int
	MaxResults                  *int
	MessageAttributeNames       []string
	MessageSystemAttributeNames []string
	NextToken                   string
	QueueName                   string
	QueueNamePrefix             string
	WaitTimeSeconds             *int
}

// entry contains a message to send, or names a delivered message.
type entry struct {
	ID                      string `json:"Id"`
	MessageBody             *string
	DelaySeconds            int
	MessageAttributes       attributes
	MessageSystemAttributes attributes
	ReceiptHandle           string
	VisibilityTimeout       *int
}

var operations = map[string]func(*call) (any, error){
	"GetQueueUrl":                  getQueueURL,
	"ListQueues":                   listQueues,
	"GetQueueAttributes":           getQueueAttributes,
	"SendMessage":                  action((*call).send).one,
	"SendMessageBatch":             action((*call).send).many,
	"ReceiveMessage":               receiveMessage,
	"DeleteMessage":                action((*call).remove).one,
	"DeleteMessageBatch":           action((*call).remove).many,
	"ChangeMessageVisibility":      action((*call).extend).one,
	"ChangeMessageVisibilityBatch": action((*call).extend).many,
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-amzn-RequestId", uuid.NewString())
	out, err := h.serve(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	b, err := json.Marshal(out)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(b) // a failure means that the client has disconnected
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request) (any, error) {
	name, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	operation := operations[name]
	if !ok || operation == nil {
		return nil, bad(prefix+"UnsupportedOperation",
			"the operation %.80q is not served here; the header X-Amz-Target names it, like "+
				"AmazonSQS.SendMessage", r.Header.Get("X-Amz-Target"))
	}
	if t, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); t != contentType {
		return nil, invalid("Content-Type %.80q is not SQS's JSON protocol, %s; use a newer AWS SDK",
			r.Header.Get("Content-Type"), contentType)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return nil, failure(http.StatusRequestEntityTooLarge, prefix+"BatchRequestTooLong",
				"the request is larger than %d bytes", int64(maxBody))
		}
		return nil, err
	}
	c := &call{h: h, ctx: r.Context(), base: "http://" + r.Host}
	if err := c.read(body); err != nil {
		return nil, err
	}
	return operation(c)
}

// read decodes the body of the request. It accepts unknown fields, because newer SDKs send more fields.
func (c *call) read(body []byte) error {
	err := rawjson.Check(body, rawjson.MaxLevels)
	if err == nil {
		err = json.Unmarshal(body, &c.request)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		// wrong.Field begins with the names of embedded types
		field := cmp.Or(wrong.Field[strings.LastIndex(wrong.Field, ".")+1:], "the request")
		return invalid("the request cannot be read: %s at byte %d: found %s, expected %s",
			field, wrong.Offset, wrong.Value, typeNames[wrong.Type.Kind()])
	}
	return invalid("the request cannot be read: %v", err)
}

var typeNames = map[reflect.Kind]string{
	reflect.String: "a String", reflect.Int: "an Integer", reflect.Bool: "a Boolean",
	reflect.Slice: "an Array",
	reflect.Map:   "a map", reflect.Struct: "an object",
}

func (c *call) url(queue string) string { return c.base + Path + queue }

func nameOf(queueURL string) string { return queueURL[strings.LastIndexByte(queueURL, '/')+1:] }

func (c *call) queue() (port.Queue, error) {
	name := nameOf(c.QueueURL)
	if name == "" {
		return nil, missing("QueueUrl")
	}
	return c.named(name)
}

func (c *call) named(name string) (port.Queue, error) {
	if sink := c.h.Sinks[name]; sink != nil {
		return sinkQueue{name: name, sink: sink}, nil
	}
	q, err := c.h.Queues.Queue(name)
	if errors.Is(err, port.ErrNotFound) {
		return nil, noQueue(name)
	}
	return q, err
}
