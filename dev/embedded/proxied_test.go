package embedded_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// proxyTo stands for a proxy that people reach: it passes on what begins with prefix.
func proxyTo(t *testing.T, address, prefix string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target) // which sets Host too
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, prefix) {
			http.NotFound(w, r)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func send(t *testing.T, target, contentType, amz, body string) (status int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Origin", "https://evil.example")
	if amz != "" {
		r.Header.Set("X-Amz-Target", amz)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// The listener for answers, opened to the world by a proxy, serves links and nothing else. A proxy that
// passes the paths of answers on to the main listener opens nothing else either.
func TestAProxyOfAnswersOpensNothingElse(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(linking)
	links := w.asked()
	w.options.Listen = "127.0.0.1:0"
	w.options.AnswersListen = "127.0.0.1:0"
	started := make(chan embedded.Started, 1)
	w.options.Ready = func(s embedded.Started) { started <- s }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- embedded.Run(ctx, w.options) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	server := <-started
	c, err := client.New(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	for i, public := range []string{proxyTo(t, server.Answers, "/"), proxyTo(t, server.Address, "/answer/")} {
		attacks(t, public)
		id := fmt.Sprint("o-", i)
		o := client.Order{ID: id, Workflow: "pair", Content: map[string]int{"n": 1}}
		if _, err := c.Submit(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		link := <-links
		form := url.Values{"round": {"1"}, "value": {"yes"}}.Encode()
		code, page := send(t, public+"/answer/"+id+"/"+link.Ann, "application/x-www-form-urlencoded", "",
			form)
		if code != http.StatusOK || !strings.Contains(page, "Your answer was taken") {
			t.Errorf("the link: %d\n%s", code, page)
		}
	}
	if all, _, err := c.Page(t.Context(), client.Query{}, ""); err != nil || len(all) != 2 {
		t.Errorf("an outsider has submitted orders: %+v, %v", all, err)
	}
	for name, path := range map[string]string{"healthz": "/healthz", "the console": "/"} {
		resp, err := http.Get(server.Answers + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("the listener for answers serves %s: %s", name, resp.Status)
		}
	}
}

// attacks submits an order without a token, in the ways that reached the queues and the interface.
func attacks(t *testing.T, public string) {
	t.Helper()
	const order = `{"schema":1,"orderId":"evil","workflow":"pair","order":{"n":1}}`
	sent := fmt.Sprintf(`{"QueueUrl":"http://127.0.0.1/000000000000/intake","MessageBody":%q}`, order)
	for _, path := range []string{
		"/answer/x", "/answer/intake", "/answer%2fx/y", "/answer/..%2f",
		"/answer/../000000000000/intake", "/answer/%2e%2e/000000000000/intake",
	} {
		code, text := send(t, public+path, "application/x-amz-json-1.0", "AmazonSQS.SendMessage", sent)
		if code < 400 {
			t.Errorf("POST %s: %d %s", path, code, text)
		}
	}
	for _, path := range []string{
		"/answer/../v1/orders", "/answer/%2e%2e/v1/orders",
		"/answer/x/../../v1/orders", "/answer/..%2fv1/orders",
	} {
		if code, text := send(t, public+path, "application/json", "", order); code < 400 {
			t.Errorf("POST %s: %d %s", path, code, text)
		}
	}
}

// An agent that calls AWS runs inside the process. It calls the user's endpoint, signed for the Region of its
// target.
func TestAnAgentOnAWS(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"} {
		t.Setenv(name, "")
	}
	calls := make(chan string, 10)
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"reserved":1}`)
	}))
	defer aws.Close()
	w := newFixture(t, "5s")
	w.outside()
	if err := os.WriteFile(w.options.Agents, []byte(
		"agents: {shop: {aws: {invoke: 'arn:aws:lambda:eu-west-3:111122223333:function:reserve'}}}"),
		0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "nowhere")
	if _, err := embedded.Open(t.Context(), w.options); err == nil ||
		!strings.Contains(err.Error(), `agent shop: endpoint "nowhere" is no address`) {
		t.Errorf("another endpoint: %v", err)
	}
	t.Setenv("AWS_ENDPOINT_URL", aws.URL)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	if task := wait(t, s, "one"); task.ProcessState != core.Processed ||
		string(task.Output) != `{"first":{"reserved":1}}` {
		t.Errorf("ended %s with %s: %s", task.ProcessState, task.Output, task.Reason.Text)
	}
	if call := <-calls; !strings.Contains(call, "function:reserve/invocations") ||
		!strings.Contains(call, "/eu-west-3/lambda/") {
		t.Errorf("called %s", call)
	}
}
