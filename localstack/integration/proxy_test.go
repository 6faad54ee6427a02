package integration

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/stepkeeper/stepkeeper/localstack/stack"
)

// verdict is what the proxy does with a request.
type verdict int

const (
	pass      verdict = iota
	twice             // carried out twice; the second answer counts
	lost              // carried out, and the connection breaks before the answer
	refuse            // the connection breaks before anything is carried out
	throttled         // DynamoDB's own refusal
	conflict          // another transaction is under way
)

// request is a call of a deployed function to AWS.
type request struct {
	function  string // part of the template's ID: Scheduler, Supervisor, AgentPayment
	operation string // TransactWriteItems
	body      string
}

// concerns tells whether the call has to do with a task: IDs stand in bodies as they are.
func (r request) concerns(task string) bool { return strings.Contains(r.body, task) }

// sends tells a call that sends messages.
func (r request) sends() bool { return strings.HasPrefix(r.operation, "SendMessage") }

// proxy stands between the functions and LocalStack. Without hooks it changes nothing.
type proxy struct {
	target  string
	client  *http.Client
	servers []*httptest.Server

	mu    sync.Mutex
	hooks map[int]func(request) verdict
	next  int
}

func newProxy(target string) *proxy {
	return &proxy{
		target: strings.TrimRight(target, "/"), hooks: map[int]func(request) verdict{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
}

func (p *proxy) close() {
	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// putBetween gives each function an address of the proxy in place of LocalStack's.
func (p *proxy) putBetween(t stack.Template) {
	t.Each("AWS::Lambda::Function", func(id string, properties map[string]any) {
		name := strings.TrimPrefix(id, "Engine")
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, name) }))
		p.servers = append(p.servers, server)
		environment, _ := properties["Environment"].(map[string]any)
		variables, _ := environment["Variables"].(map[string]any)
		variables["AWS_ENDPOINT_URL"] = server.URL
	})
}

// hook looks at every request until it is taken away; the first verdict that is not pass counts.
func (p *proxy) hook(h func(request) verdict) (remove func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.next
	p.next++
	p.hooks[n] = h
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.hooks, n)
	}
}

func (p *proxy) judge(r request) verdict {
	p.mu.Lock()
	hooks := make([]func(request) verdict, 0, len(p.hooks))
	for _, h := range p.hooks {
		hooks = append(hooks, h)
	}
	p.mu.Unlock()
	for _, h := range hooks {
		if v := h(r); v != pass {
			return v
		}
	}
	return pass
}

func (p *proxy) serve(w http.ResponseWriter, in *http.Request, function string) {
	body, err := io.ReadAll(in.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, operation, _ := strings.Cut(in.Header.Get("X-Amz-Target"), ".")
	v := p.judge(request{function: function, operation: operation, body: string(body)})
	switch v {
	case refuse:
		panic(http.ErrAbortHandler) // the server breaks the connection
	case throttled:
		complain(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"throttled by the test"}`)
		return
	case conflict:
		if operation == "TransactWriteItems" {
			complain(w, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"conflict by the test","CancellationReasons":[{"Code":"TransactionConflict"},{"Code":"None"}]}`)
			return
		}
		complain(w, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"conflict by the test"}`)
		return
	case twice:
		if out, err := p.forward(in, body); err == nil {
			_, _ = io.Copy(io.Discard, out.Body)
			_ = out.Body.Close()
		}
	}
	out, err := p.forward(in, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer out.Body.Close()
	if v == lost {
		_, _ = io.Copy(io.Discard, out.Body)
		panic(http.ErrAbortHandler)
	}
	for name, values := range out.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(out.StatusCode)
	_, _ = io.Copy(w, out.Body)
}

func (p *proxy) forward(in *http.Request, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(in.Context(), in.Method, p.target+in.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header, out.Host = in.Header.Clone(), in.Host
	return p.client.Do(out)
}

func complain(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, body)
}
