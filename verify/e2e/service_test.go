package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is a remote service that heeds keys, and that a test can hold up or turn down.
type service struct {
	*httptest.Server
	mu      sync.Mutex
	effects map[string]int // by key: 1 after a do, 0 after its undo, which is a fence too
	calls   map[string]int // by operation
	gate    chan struct{}  // calls wait until it is closed; nil: open
	never   string         // inputs that hold it are refused by the operation pack
	delay   time.Duration
}

func newService(t *testing.T) *service {
	s := &service{effects: map[string]int{}, calls: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { s.open(); s.Close() })
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.URL.Path, "/")
	s.mu.Lock()
	s.calls[operation]++
	gate := s.gate
	delay := s.delay
	s.mu.Unlock()
	input, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-r.Context().Done():
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if operation == "pack" && s.never != "" && strings.Contains(string(input), s.never) {
		http.Error(w, "it is refused: no", http.StatusUnprocessableEntity)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if r.Header.Get("X-Stepkeeper-Operation") == "undo" {
		s.effects[key] = 0
	} else if stands, known := s.effects[key]; known && stands == 0 {
		http.Error(w, "it is refused: undone", http.StatusConflict)
		return
	} else {
		s.effects[key] = 1
	}
	fmt.Fprintf(w, `{"operation":%q}`, operation)
}

// hold makes calls wait from now on.
func (s *service) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
}

// open lets all calls go.
func (s *service) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
		s.gate = nil
	}
}

func (s *service) slow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// called is how often an operation was called.
func (s *service) called(operation string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[operation]
}

// done is how many keys have their effect.
func (s *service) done() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.effects {
		n += e
	}
	return n
}

// agents is an agents' file with the agent "shop" on this service, and others outside.
func (s *service) agents(outside ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"agents:\n  shop:\n    url: %q\n    concurrency: 32\n    allow: {loopback: true}\n    breaker: "+
			"{off: true}\n", s.URL)
	b.WriteString("    operations: {\"*\": {path: \"/{operation}\"}}\n")
	for _, name := range outside {
		fmt.Fprintf(&b, "  %s: {external: true}\n", name)
	}
	return b.String()
}

// pair is a workflow of two steps, the first with an undo, the second without return.
const pair = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 30s, clockSkew: 100ms}
steps:
  pick:
    agent: shop
    operation: pick
    input: {n: "${ order.n }"}
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    onFailure: undo
    undo: put-back
    grade: fenced
  send:
    agent: shop
    operation: send
    after: [pick]
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    pointOfNoReturn: true
    onFailure: stop
    grade: fenced
output: {sent: "${ steps.send.output }"}
`

// pairOnly are the workflow files of most tests.
var pairOnly = map[string]string{"pair.yaml": pair}
