// Package awsstub imitates AWS on loopback, for tests of the code that connects Stepkeeper to AWS. Every
// operation succeeds, except the operations that a test makes fail. The stub records calls and message
// bodies. It stores items only for the tables that the test names. The type Function runs the program of a
// Lambda function.
package awsstub

import (
	"crypto/md5" //nolint:gosec // SQS's checksum of a message
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Stub imitates AWS. Its address is the endpoint of all services.
type Stub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	down  map[string]bool
	hangs map[string]chan struct{} // channels by operation; a call blocks until the channel is closed
	sent  map[string][]string      // message bodies by queue
	kept  map[string]*table        // tables by name

	refused func(queue, body string) (failed, senderFault bool)
	// visible and in-flight messages by queue; a negative first number means that the queue does not exist
	depths    map[string][2]int
	published []string
	extended  []Extension
}

// Extension is one entry of a ChangeMessageVisibilityBatch request.
type Extension struct {
	Queue   string `json:"-"`
	Receipt string `json:"ReceiptHandle"`
	Seconds int    `json:"VisibilityTimeout"`
}

// New starts a stub for the test.
func New(t *testing.T) *Stub {
	t.Helper()
	s := &Stub{
		down: map[string]bool{}, hangs: map[string]chan struct{}{}, sent: map[string][]string{},
		kept: map[string]*table{}, depths: map[string][2]int{},
	}
	s.Server = httptest.NewServer(Answers(s.answers))
	t.Cleanup(s.Server.Close)
	return s
}

// Fail makes an operation such as "sqs:SendMessageBatch" fail.
func (s *Stub) Fail(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[action] = true
}

// Allow makes an operation succeed again after Fail.
func (s *Stub) Allow(action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.down, action)
}

// Hang makes calls of an operation block. The blocked calls continue when the test calls the returned
// function.
func (s *Stub) Hang(action string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := make(chan struct{})
	s.hangs[action] = ended
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hangs, action)
		close(ended)
	})
}

// Refuse sets a function that selects entries of SendMessageBatch. Only the selected entries of a batch fail.
// If the function is nil, no entry fails.
func (s *Stub) Refuse(entry func(queue, body string) (failed, senderFault bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = entry
}

// Holds sets the numbers of visible and in-flight messages of a queue. A negative number of visible messages
// means that the queue does not exist.
func (s *Stub) Holds(queue string, visible, inFlight int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depths[queue] = [2]int{visible, inFlight}
}

// Published returns the messages that were published to SNS since the last call of Published.
func (s *Stub) Published() []string { return taken(s, &s.published) }

func taken[T any](s *Stub, list *[]T) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *list
	*list = nil
	return all
}

// Extended returns the visibility changes since the last call of Extended.
func (s *Stub) Extended() []Extension { return taken(s, &s.extended) }

// Item returns the item with the given key in a stored table, or nil.
func (s *Stub) Item(table, key string) Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[table].items[key]
}

// Keep makes the stub store the items of a table. The parameter key names the table's partition key.
func (s *Stub) Keep(name, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = &table{key: key, items: map[string]Item{}}
}

// Calls returns the requests since the last call of Calls, sorted. Each string contains the operation and the
// name of its target, such as "SendMessageBatch replies" for the queue replies.
func (s *Stub) Calls() []string { return slices.Sorted(slices.Values(taken(s, &s.calls))) }

// Sent returns the bodies that were sent to a queue since the last call of Sent.
func (s *Stub) Sent(queue string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent[queue]
	delete(s.sent, queue)
	return sent
}

// Queues returns a JSON object with the URLs of the named queues. Deployed functions read such an object from
// an environment variable.
func (s *Stub) Queues(names ...string) string {
	urls := map[string]string{}
	for _, name := range names {
		urls[name] = s.URL + "/1/" + name
	}
	text, _ := json.Marshal(urls)
	return string(text)
}

// Environment returns a lookup function for the variables that Variables returns.
func (s *Stub) Environment(more map[string]string) func(name string) (string, bool) {
	env := s.Variables(more)
	return func(name string) (string, bool) { v, set := env[name]; return v, set }
}

// Variables returns the variables that Lambda sets, the address of the stub, and the given variables.
func (s *Stub) Variables(more map[string]string) map[string]string {
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "stub", "AWS_SECRET_ACCESS_KEY": "stub",
		"AWS_ENDPOINT_URL":           s.URL,
		"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/21/[$LATEST]0123456789abcdef",
	}
	maps.Copy(env, more)
	return env
}

type call struct {
	QueueURL  string `json:"QueueUrl"`
	TableName string
	SecretID  string `json:"SecretId"`
	Name      string // name of the SSM parameter
	Entries   []struct {
		ID, MessageBody string
		Extension
	}
	Key, Item                 Item
	ConditionExpression       string
	ExpressionAttributeValues Item
}

func (c *call) queue() string { return c.QueueURL[strings.LastIndexByte(c.QueueURL, '/')+1:] }

func (s *Stub) answers(c Call) (int, string) {
	var in call
	_ = json.Unmarshal([]byte(c.Body), &in) // a request to SNS is a form
	s.mu.Lock()
	hangs := s.hangs[c.Action]
	s.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-c.gone:
			return 0, ""
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, operation, _ := strings.Cut(c.Action, ":")
	s.calls = append(s.calls, strings.TrimSpace(operation+" "+in.queue()+in.TableName+in.SecretID+in.Name+
		c.Form.Get("TopicArn")))
	if s.down[c.Action] {
		return failed("AccessDeniedException", map[string]any{"message": "set to fail"})
	}
	kept := s.kept[in.TableName]
	switch {
	case operation == "SendMessageBatch":
		return s.send(&in)
	case operation == "ChangeMessageVisibilityBatch":
		for _, e := range in.Entries {
			e.Queue = in.queue()
			s.extended = append(s.extended, e.Extension)
		}
	case operation == "GetQueueAttributes":
		return s.depth(in.queue())
	case operation == "Publish":
		s.published = append(s.published, c.Form.Get("Message"))
		return http.StatusOK,
			`<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`
	case operation == "GetSecretValue":
		return http.StatusOK, `{"SecretString":"s3cret"}`
	case operation == "GetParameter":
		return http.StatusOK, `{"Parameter":{"Value":"p4ram"}}`
	case operation == "GetItem" && kept != nil:
		return kept.get(&in)
	case operation == "PutItem" && kept != nil:
		return kept.put(&in)
	case operation == "Query" && kept != nil:
		return kept.query(&in)
	}
	return http.StatusOK, `{}`
}

func (s *Stub) send(in *call) (int, string) {
	taken := []any{}
	refused := []any{}
	for _, e := range in.Entries {
		if s.refused != nil {
			if no, senderFault := s.refused(in.queue(), e.MessageBody); no {
				refused = append(refused, map[string]any{
					"Id": e.ID, "SenderFault": senderFault,
					"Code": "InternalFailure", "Message": "set to fail",
				})
				continue
			}
		}
		s.sent[in.queue()] = append(s.sent[in.queue()], e.MessageBody)
		sum := md5.Sum([]byte(e.MessageBody)) //nolint:gosec // SQS computes the same sum
		taken = append(taken, map[string]string{
			"Id": e.ID, "MessageId": e.ID,
			"MD5OfMessageBody": hex.EncodeToString(sum[:]),
		})
	}
	return encoded(http.StatusOK, map[string]any{"Successful": taken, "Failed": refused})
}

func (s *Stub) depth(queue string) (int, string) {
	depth := s.depths[queue]
	if depth[0] < 0 {
		return failed("com.amazonaws.sqs#QueueDoesNotExist", map[string]any{"message": "set not to exist"})
	}
	return encoded(http.StatusOK, map[string]any{"Attributes": map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(depth[0]),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(depth[1]),
		"ApproximateNumberOfMessagesDelayed":    "0",
	}})
}

func failed(kind string, more map[string]any) (int, string) {
	more["__type"] = kind
	return encoded(http.StatusBadRequest, more)
}

func encoded(status int, v any) (int, string) {
	text, _ := json.Marshal(v) // plain data
	return status, string(text)
}
