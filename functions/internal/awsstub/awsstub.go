// Package awsstub is as much of AWS as a test of wiring needs, on loopback: it takes everything,
// stores nothing, and tells which calls came.
package awsstub

import (
	"crypto/md5" //nolint:gosec // SQS's checksum of a message
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
}

// New starts a stub for the test.
func New(t *testing.T) *Stub {
	t.Helper()
	s := &Stub{down: map[string]bool{}}
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

// Calls lists the calls so far, as "SendMessageBatch replies", sorted, and forgets them.
func (s *Stub) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	slices.Sort(calls)
	return calls
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
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "stub", "AWS_SECRET_ACCESS_KEY": "stub", "AWS_ENDPOINT_URL": s.URL,
		"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/21/[$LATEST]0123456789abcdef",
	}
	for name, value := range more {
		env[name] = value
	}
	return func(name string) (string, bool) { v, set := env[name]; return v, set }
}

func (s *Stub) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var in struct {
		QueueURL  string `json:"QueueUrl"`
		TableName string
		SecretID  string `json:"SecretId"`
		Entries   []struct{ ID, MessageBody string }
	}
	_ = json.Unmarshal(body, &in)
	target := r.Header.Get("X-Amz-Target")
	s.mu.Lock()
	down := s.down[target]
	s.calls = append(s.calls, strings.TrimSpace(target[strings.LastIndexByte(target, '.')+1:]+" "+in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:]+in.TableName+in.SecretID))
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch {
	case down:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","message":"told to fail"}`)
	case strings.HasSuffix(target, ".SendMessageBatch"):
		taken := []any{}
		for _, e := range in.Entries {
			sum := md5.Sum([]byte(e.MessageBody)) //nolint:gosec // as SQS does
			taken = append(taken, map[string]string{"Id": e.ID, "MessageId": e.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Successful": taken, "Failed": []any{}})
	case strings.HasSuffix(target, ".GetSecretValue"):
		_, _ = io.WriteString(w, `{"SecretString":"s3cret"}`)
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}
