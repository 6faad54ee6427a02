package embedded_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// proxyTo stands for a proxy that people reach: it passes on what begins with prefix.
func proxyTo(t *testing.T, address, prefix string) string {
	t.Helper()
	target, err := url.Parse(address)
	require.NoError(t, err)
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

// send posts a request of a page of another site.
func send(t *testing.T, target, contentType, amz, body string) (status int, text string) {
	t.Helper()
	return post(t, target, contentType, amz, body, "Origin", "https://evil.example")
}

// The listener for answers, opened to the world by a proxy, serves links and nothing else. A proxy that
// passes the paths of answers on to the main listener opens nothing else either.
func TestAProxyOfAnswersOpensNothingElse(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(linking)
	links := w.asked()
	w.options.AnswersListen = "127.0.0.1:0"
	server, _ := w.run()
	c, err := client.New(server.Address)
	require.NoError(t, err)
	for i, public := range []string{proxyTo(t, server.Answers, "/"), proxyTo(t, server.Address, "/answer/")} {
		attacks(t, public)
		id := fmt.Sprint("o-", i)
		o := client.Order{ID: id, Workflow: "pair", Content: map[string]int{"n": 1}}
		_, err := c.Submit(t.Context(), o)
		require.NoError(t, err)
		link := <-links
		form := url.Values{"round": {"1"}, "value": {"yes"}}.Encode()
		code, page := send(t, public+"/answer/"+id+"/"+link.Ann, "application/x-www-form-urlencoded", "",
			form)
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, page, "Your answer was taken")
	}
	all, _, err := c.Page(t.Context(), client.Query{}, "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	for name, path := range map[string]string{"healthz": "/healthz", "the console": "/"} {
		resp, err := http.Get(server.Answers + path)
		require.NoError(t, err)
		_ = resp.Body.Close()
		require.Equal(t, http.StatusNotFound, resp.StatusCode, name)
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
		code, _ := send(t, public+path, "application/x-amz-json-1.0", "AmazonSQS.SendMessage", sent)
		require.GreaterOrEqual(t, code, 400, path)
	}
	for _, path := range []string{
		"/answer/../v1/orders", "/answer/%2e%2e/v1/orders",
		"/answer/x/../../v1/orders", "/answer/..%2fv1/orders",
	} {
		code, _ := send(t, public+path, "application/json", "", order)
		require.GreaterOrEqual(t, code, 400, path)
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
	w.agents("shop: {aws: {invoke: 'arn:aws:lambda:eu-west-3:111122223333:function:reserve'}}")
	t.Setenv("AWS_ENDPOINT_URL", "nowhere")
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, `agent shop: endpoint "nowhere" is no address`, "another endpoint")
	t.Setenv("AWS_ENDPOINT_URL", aws.URL)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	task := wait(t, s, "one")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Equal(t, `{"first":{"reserved":1}}`, string(task.Output))
	call := <-calls
	require.Contains(t, call, "function:reserve/invocations")
	require.Contains(t, call, "/eu-west-3/lambda/")
}
