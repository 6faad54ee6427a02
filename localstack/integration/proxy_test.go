package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// verdict is what the proxy does with a request.
type verdict int

const (
	pass   verdict = iota
	twice          // carried out twice; the second answer counts
	refuse         // the connection breaks before anything is carried out
)

// request is a call of a deployed function to AWS.
type request struct {
	function  string // part of the template's ID: Scheduler, Supervisor, AgentPayment
	operation string // PutItem
	body      string
}

// concerns reports whether the call has to do with a task: IDs stand in bodies as they are.
func (r request) concerns(task string) bool { return strings.Contains(r.body, task) }

// sends reports a call that sends messages.
func (r request) sends() bool { return strings.HasPrefix(r.operation, "SendMessage") }

// denial is a call that was refused for want of a permission.
type denial struct{ function, call, answer string }

// proxy stands between the functions and the emulator. Without hooks it changes nothing.
type proxy struct {
	target  string
	client  *http.Client
	servers []*httptest.Server

	mu    sync.Mutex
	hooks map[int]func(request) verdict
	next  int
	// denials are all since the start.
	denials []denial
}

// newProxy trusts whom AWS_CA_BUNDLE names, as the SDK does: MiniStack makes a certificate of its own.
func newProxy(target string) (*proxy, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	if file := os.Getenv("AWS_CA_BUNDLE"); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %s holds no certificate", file)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	}
	return &proxy{
		target: strings.TrimRight(target, "/"), hooks: map[int]func(request) verdict{},
		client: &http.Client{Transport: transport},
	}, nil
}

func (p *proxy) close() {
	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// endpoints are the variables by which functions are led here. MiniStack sets AWS_ENDPOINT_URL itself.
var endpoints = []string{
	"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_SNS",
	"AWS_ENDPOINT_URL_SECRETS_MANAGER",
}

// putBetween gives each function an address of the proxy in place of the emulator's.
func (p *proxy) putBetween(t cdkapp.Template) {
	t.Each("AWS::Lambda::Function", func(id string, properties map[string]any) {
		name := strings.TrimPrefix(id, "Engine")
		server := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, name) }))
		p.servers = append(p.servers, server)
		environment, _ := properties["Environment"].(map[string]any)
		variables, _ := environment["Variables"].(map[string]any)
		for _, name := range endpoints {
			variables[name] = server.URL
		}
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
	maps.Copy(w.Header(), out.Header)
	w.WriteHeader(out.StatusCode)
	answer := io.Reader(out.Body)
	if out.StatusCode >= http.StatusBadRequest {
		answer = p.noteDenial(function, string(body), out.Body)
	}
	_, _ = io.Copy(w, answer)
}

// noteDenial reads a refusal, and hands it on.
func (p *proxy) noteDenial(function, call string, body io.Reader) io.Reader {
	answer, err := io.ReadAll(body)
	if err == nil && bytes.Contains(answer, []byte("not authorized to perform")) {
		p.mu.Lock()
		p.denials = append(p.denials, denial{function: function, call: call, answer: string(answer)})
		p.mu.Unlock()
	}
	return bytes.NewReader(answer)
}

// denied lists the refusals from the n-th on.
func (p *proxy) denied(n int) []denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.denials[n:])
}

func (p *proxy) forward(in *http.Request, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(in.Context(), in.Method, p.target+in.URL.RequestURI(),
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = in.Header.Clone()
	out.Host = in.Host
	return p.client.Do(out)
}
