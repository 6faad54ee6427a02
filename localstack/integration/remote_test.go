package integration

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// agentNames are the agents of the deployed stack that call services. Agent stock calls AWS.
var agentNames = []string{"inventory", "notification", "payment", "shipping"}

// call is one call of the deployed HTTP agent.
type call struct {
	agent, name string // of the operation
	operation   string // do or undo
	task, step  string
	key         string
	attempt     string
	input       string
}

// answer says what a service answers to the n-th call, from 1, of a step.
type answer func(n int, c call) (status int, body string)

// remote is all remote services: an HTTP server on loopback that answers 200 unless set otherwise.
type remote struct {
	server *httptest.Server

	mu      sync.Mutex
	scripts map[string]answer
	calls   []call
}

func newRemote() *remote {
	r := &remote{scripts: map[string]answer{}}
	r.server = httptest.NewServer(r)
	return r
}

func (r *remote) close() {
	r.server.CloseClientConnections() // a killed agent's call may still be open
	r.server.Close()
}

// agentsFile configures the HTTP agents. One try per handling: that a step is tried again shall be
// seen to be the Scheduler's doing. The breakers are off, because tests share the services.
func (r *remote) agentsFile() string {
	var b strings.Builder
	b.WriteString("agents:\n")
	for _, name := range agentNames {
		fmt.Fprintf(&b,
			"  %s:\n    url: %s/%s\n    allow: {loopback: true}\n    retry: {tries: 1}\n    breaker: "+
				"{off: true}\n", name, r.server.URL, name)
	}
	return b.String()
}

// on says how a step of a task is answered; operation is do or undo.
func (r *remote) on(task, step, operation string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scripts[task+"/"+step+"/"+operation] = a
}

func (r *remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	agent, name, _ := strings.Cut(strings.Trim(req.URL.Path, "/"), "/")
	h := req.Header
	c := call{
		agent: agent, name: name, operation: h.Get("X-Stepkeeper-Operation"),
		task: h.Get("X-Stepkeeper-Task"),
		step: h.Get("X-Stepkeeper-Step"), key: h.Get("Idempotency-Key"),
		attempt: h.Get("X-Stepkeeper-Attempt"), input: string(body),
	}
	r.mu.Lock()
	r.calls = append(r.calls, c)
	n := 0
	for _, before := range r.calls {
		if before.task == c.task && before.step == c.step && before.operation == c.operation {
			n++
		}
	}
	script := r.scripts[c.task+"/"+c.step+"/"+c.operation]
	r.mu.Unlock()
	status := http.StatusOK
	text := `{"chargeId":"c-1","reservationId":"r-1","shipmentId":"s-1"}`
	if script != nil {
		status, text = script(n, c)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// of lists the calls for a task; step "" is all steps.
func (r *remote) of(task, step string) []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var calls []call
	for _, c := range r.calls {
		if c.task == task && (step == "" || c.step == step) {
			calls = append(calls, c)
		}
	}
	return calls
}

// done answers as a service that is well.
func done() (int, string) { return http.StatusOK, `{}` }

// refused returns that it can never be.
func refused() (int, string) {
	return http.StatusUnprocessableEntity, `{"error":{"code":"declined","message":"no funds"}}`
}

// taken and gone refuse for good with other error codes: incidents of their own.
func taken() (int, string) { return http.StatusConflict, `{"error":{"code":"taken"}}` }
func gone() (int, string)  { return http.StatusGone, `{"error":{"code":"gone"}}` }

// down returns that it may be later.
func down() (int, string) { return http.StatusServiceUnavailable, `{}` }
