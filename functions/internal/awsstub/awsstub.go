// Package awsstub is as much of AWS as a test of wiring needs, on loopback: it takes everything,
// tells which calls came and what was sent, and stores nothing but the tables that it is told to
// keep. Runtime is the other side of a function: Lambda's runtime API.
package awsstub

import (
	"crypto/md5" //nolint:gosec // SQS's checksum of a message
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Stub is one. Its address is the endpoint of all services.
type Stub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	down  map[string]bool
	sent  map[string][]string // bodies by queue
	kept  map[string]*table   // by name
}

// New starts a stub for the test.
func New(t *testing.T) *Stub {
	t.Helper()
	s := &Stub{down: map[string]bool{}, sent: map[string][]string{}, kept: map[string]*table{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

// Fail makes an operation fail, as "AmazonSQS.SendMessageBatch".
func (s *Stub) Fail(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[target] = true
}

// Keep makes a table store what is put, by its partition key.
func (s *Stub) Keep(name, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = &table{key: key, items: map[string]item{}}
}

// Calls lists the calls so far, as "SendMessageBatch replies", sorted, and forgets them.
func (s *Stub) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	slices.Sort(calls)
	return calls
}

// Sent are the bodies that a queue was sent so far; it forgets them.
func (s *Stub) Sent(queue string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent[queue]
	delete(s.sent, queue)
	return sent
}

// Queues are URLs of the queues named, as the variable holds them.
func (s *Stub) Queues(names ...string) string {
	urls := map[string]string{}
	for _, name := range names {
		urls[name] = s.URL + "/1/" + name
	}
	text, _ := json.Marshal(urls)
	return string(text)
}

// Environment finds variables: those given, and what Lambda sets.
func (s *Stub) Environment(more map[string]string) func(name string) (string, bool) {
	env := s.Variables(more)
	return func(name string) (string, bool) { v, set := env[name]; return v, set }
}

// Variables are those given, and what Lambda sets.
func (s *Stub) Variables(more map[string]string) map[string]string {
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "stub", "AWS_SECRET_ACCESS_KEY": "stub", "AWS_ENDPOINT_URL": s.URL,
		"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/21/[$LATEST]0123456789abcdef",
	}
	for name, value := range more {
		env[name] = value
	}
	return env
}

// call is what is read of a request, whatever the service.
type call struct {
	QueueURL                  string `json:"QueueUrl"`
	TableName                 string
	SecretID                  string `json:"SecretId"`
	Name                      string // of a parameter
	Entries                   []struct{ ID, MessageBody string }
	Key, Item                 item
	ConditionExpression       string
	ExpressionAttributeValues item
	topic                     string
}

func (c *call) queue() string { return c.QueueURL[strings.LastIndexByte(c.QueueURL, '/')+1:] }

func (s *Stub) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	target := r.Header.Get("X-Amz-Target")
	var in call
	if target == "" { // the query protocol, of SNS
		form, _ := url.ParseQuery(string(body))
		target, in.topic = "SNS."+form.Get("Action"), form.Get("TopicArn")
	} else {
		_ = json.Unmarshal(body, &in)
	}
	operation := target[strings.LastIndexByte(target, '.')+1:]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, strings.TrimSpace(operation+" "+in.queue()+in.TableName+in.SecretID+in.Name+in.topic))
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if s.down[target] {
		fail(w, "AccessDeniedException", map[string]any{"message": "told to fail"})
		return
	}
	s.answer(w, operation, &in)
}

// answer answers as little as the SDK's clients need. The lock is held.
func (s *Stub) answer(w http.ResponseWriter, operation string, in *call) {
	kept := s.kept[in.TableName]
	switch {
	case operation == "SendMessageBatch":
		taken := []any{}
		for _, e := range in.Entries {
			s.sent[in.queue()] = append(s.sent[in.queue()], e.MessageBody)
			sum := md5.Sum([]byte(e.MessageBody)) //nolint:gosec // as SQS does
			taken = append(taken, map[string]string{"Id": e.ID, "MessageId": e.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Successful": taken, "Failed": []any{}})
	case operation == "Publish":
		w.Header().Set("Content-Type", "text/xml")
		_, _ = io.WriteString(w, `<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`)
	case operation == "GetSecretValue":
		_, _ = io.WriteString(w, `{"SecretString":"s3cret"}`)
	case operation == "GetParameter":
		_, _ = io.WriteString(w, `{"Parameter":{"Value":"p4ram"}}`)
	case operation == "GetItem" && kept != nil:
		kept.get(w, in)
	case operation == "PutItem" && kept != nil:
		kept.put(w, in)
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}

func fail(w http.ResponseWriter, kind string, more map[string]any) {
	w.WriteHeader(http.StatusBadRequest)
	more["__type"] = kind
	_ = json.NewEncoder(w).Encode(more)
}
