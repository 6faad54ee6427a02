// Package awsstub imitates AWS on loopback, for tests of the code that connects Stepkeeper to AWS. Every
// operation succeeds, except the operations that a test makes fail. The stub records calls and message
// bodies. It stores items only for the tables that the test names. The type Function runs the program of a
// Lambda function.
package awsstub

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS's checksum of a message
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

// Fail makes an operation such as "AmazonSQS.SendMessageBatch" fail.
func (s *Stub) Fail(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[target] = true
}

// Allow makes an operation succeed again after Fail.
func (s *Stub) Allow(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.down, target)
}

// Hang makes calls of an operation block. The blocked calls continue when the test calls the returned
// function.
func (s *Stub) Hang(target string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := make(chan struct{})
	s.hangs[target] = ended
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hangs, target)
		close(ended)
	})
}

// wait blocks while the operation hangs. It returns false if the caller disconnects first.
func (s *Stub) wait(ctx context.Context, target string) bool {
	s.mu.Lock()
	ended := s.hangs[target]
	s.mu.Unlock()
	if ended == nil {
		return true
	}
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
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
	topic, published          string
}

func (c *call) queue() string { return c.QueueURL[strings.LastIndexByte(c.QueueURL, '/')+1:] }

func (s *Stub) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	target := r.Header.Get("X-Amz-Target")
	var in call
	if target == "" { // a request to SNS has no target header
		form, _ := url.ParseQuery(string(body))
		target = "SNS." + form.Get("Action")
		in.topic = form.Get("TopicArn")
		in.published = form.Get("Message")
	} else {
		_ = json.Unmarshal(body, &in)
	}
	operation := target[strings.LastIndexByte(target, '.')+1:]
	if !s.wait(r.Context(), target) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls,
		strings.TrimSpace(operation+" "+in.queue()+in.TableName+in.SecretID+in.Name+in.topic))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if s.down[target] {
		fail(w, "AccessDeniedException", map[string]any{"message": "set to fail"})
		return
	}
	s.answer(w, operation, &in)
}

func (s *Stub) answer(w http.ResponseWriter, operation string, in *call) {
	kept := s.kept[in.TableName]
	switch {
	case operation == "SendMessageBatch":
		s.send(w, in)
	case operation == "ChangeMessageVisibilityBatch":
		for _, e := range in.Entries {
			e.Queue = in.queue()
			s.extended = append(s.extended, e.Extension)
		}
		_, _ = io.WriteString(w, `{}`)
	case operation == "GetQueueAttributes":
		s.depth(w, in.queue())
	case operation == "Publish":
		s.published = append(s.published, in.published)
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w,
			`<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`)
	case operation == "GetSecretValue":
		_, _ = io.WriteString(w, `{"SecretString":"s3cret"}`)
	case operation == "GetParameter":
		_, _ = io.WriteString(w, `{"Parameter":{"Value":"p4ram"}}`)
	case operation == "GetItem" && kept != nil:
		kept.get(w, in)
	case operation == "PutItem" && kept != nil:
		kept.put(w, in)
	case operation == "Query" && kept != nil:
		kept.query(w, in)
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}

func (s *Stub) send(w http.ResponseWriter, in *call) {
	taken := []any{}
	failed := []any{}
	for _, e := range in.Entries {
		if s.refused != nil {
			if no, senderFault := s.refused(in.queue(), e.MessageBody); no {
				failed = append(failed, map[string]any{
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
	_ = json.NewEncoder(w).Encode(map[string]any{"Successful": taken, "Failed": failed})
}

func (s *Stub) depth(w http.ResponseWriter, queue string) {
	depth := s.depths[queue]
	if depth[0] < 0 {
		fail(w, "com.amazonaws.sqs#QueueDoesNotExist", map[string]any{"message": "set not to exist"})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"Attributes": map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(depth[0]),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(depth[1]),
		"ApproximateNumberOfMessagesDelayed":    "0",
	}})
}

func fail(w http.ResponseWriter, kind string, more map[string]any) {
	w.WriteHeader(http.StatusBadRequest)
	more["__type"] = kind
	_ = json.NewEncoder(w).Encode(more)
}
