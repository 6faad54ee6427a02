package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var flows = map[string]string{
	"order": `workflow: order
steps:
  reserve: {agent: shop, operation: reserve, input: {order: "${ order }"}, timeout: 30s, retry: {maxFailures: 1}, onFailure: stop, undo: release, grade: fenced}
  charge: {agent: shop, operation: charge, after: [reserve], input: {order: "${ order }"}, timeout: 30s, retry: {maxFailures: 1}, onFailure: stop, undo: refund, grade: fenced}
  pack: {agent: shop, operation: pack, after: [reserve], timeout: 10m, retry: {maxFailures: 1}, onFailure: stop, undo: none, grade: fenced}
  ship: {agent: shop, operation: ship, after: [charge, pack], timeout: 30s, retry: {maxFailures: 1}, onFailure: stop, undo: recall, grade: fenced}
`,
	"impossible": `workflow: impossible
steps:
  charge: {agent: shop, operation: charge, input: {amount: "${ order.price.amount }"}, timeout: 30s, onFailure: stop, undo: none, grade: fenced}
`,
	"billed": `workflow: billed
steps:
  charge: {agent: shop, operation: charge, timeout: 30s, retry: {maxFailures: 1}, onFailure: stop, undo: refund, grade: fenced}
  print: {agent: shop, operation: print, after: [charge], input: {number: "${ steps.charge.output.invoice }"}, timeout: 30s, onFailure: stop, undo: none, grade: fenced}
`,
	"one": `workflow: one
steps:
  charge: {agent: shop, operation: charge, input: {n: 1}, timeout: 30s, onFailure: stop, undo: refund, grade: fenced}
`,
	"many": `workflow: many
steps:
  all: {each: "${ order.items }", workflow: one, input: {n: "${ item }"}}
  ship: {agent: shop, operation: ship, input: {n: 1}, timeout: 30s, grade: fenced, undo: none, after: [all], onFailure: undo}
`,
	"nested": `workflow: nested
steps:
  inner: {each: "${ order.items }", workflow: many, input: {items: [1]}}
`,
	"expense": `workflow: expense
steps:
  decide: {approval: {question: '${ "Pay 120 " + "<euros>?" }', show: {amount: "${ order.amount }", card: "${ order.card }"}, answers: [approve, reject], who: [ada, bob], timeout: 30d, onTimeout: undo}}
  pay: {agent: shop, operation: pay, after: [decide], timeout: 30s, onFailure: undo, undo: none, grade: fenced}
`,
}

var quiet = slog.New(slog.DiscardHandler)

// world is a whole server as `stepkeeper dev` starts it, with the console beside its API.
type world struct {
	testing.TB
	url     string
	client  *client.Client
	data    string
	refuse  atomic.Pointer[string] // operation that the service refuses
	says    string                 // error of a refused operation
	hold    chan struct{}          // closed: the service answers operations "pack"
	slow    atomic.Bool            // the service answers no operation "charge" before its time is over
	streams atomic.Int64           // number of open streams of pages
	opened  atomic.Int64           // number of streams that were ever opened
	late    atomic.Pointer[late]   // part of the console that the browser does not get yet
	ahead   atomic.Int64           // distance by which the server's clock was moved
	stop    func()
	ended   chan struct{} // closed when the server stops: the service gives up its calls
	http    *http.Client
	edit    func(*console.Options)
}

func newWorld(t testing.TB, edit func(*console.Options)) *world {
	t.Helper()
	w := &world{
		TB: t, data: t.TempDir(), hold: make(chan struct{}), edit: edit,
		says: `the card is <script>alert("blocked")</script>`,
	}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	w.http = &http.Client{Jar: jar, Timeout: 20 * time.Second}
	for name, text := range flows {
		require.NoError(t, os.MkdirAll(filepath.Join(w.data, "workflows"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(w.data, "workflows", name+".yaml"), []byte(text),
			0o600))
	}
	w.start("127.0.0.1:0")
	return w
}

// ending sends requests whose contexts end with the request for the page.
type ending struct {
	testing.TB
	via http.RoundTripper
}

func (e ending) RoundTrip(r *http.Request) (*http.Response, error) {
	require.NotNil(e, r.Context().Done(), "%s %s has another context than the page's request", r.Method, r.URL)
	return e.via.RoundTrip(r)
}

func connect(t testing.TB, server string, opts ...client.Option) *client.Client {
	c, err := client.New(server, append(opts, client.WithHTTPClient(&http.Client{
		Transport: ending{t, http.DefaultTransport},
	}))...)
	if err != nil {
		t.Error(err) // a server calls this in a goroutine of its own
	}
	return c
}

func (w *world) start(listen string) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.ended = make(chan struct{})
	ended := make(chan error, 1)
	ready := make(chan string, 1)
	go func() {
		ended <- embedded.Run(ctx, embedded.Options{
			Data: filepath.Join(w.data, "data"), Workflows: filepath.Join(w.data, "workflows"),
			Listen: listen, Log: quiet,
			Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {Run: w.serve}}},
			Inside:     embedded.Inside{Concurrency: 64}, StatisticsEvery: time.Second,
			Clock: port.ClockFunc(
				func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }),
			PagePaths: console.Paths(), Pages: func(server string) http.Handler {
				o := console.Options{
					Client: connect(w, server, client.WithRetry(1, time.Second)),
					Name:   "test", Program: "stepkeeper", Log: quiet,
				}
				if w.edit != nil {
					w.edit(&o)
				}
				return w.delayed(console.New(o))
			},
			Ready: func(s embedded.Started) { ready <- s.Address },
		})
	}()
	select {
	case err := <-ended:
		w.Fatal(err)
	case w.url = <-ready:
	}
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		close(w.ended)
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.Error(err)
		}
	}
	w.Cleanup(w.stop)
	var err error
	w.client, err = client.New(w.url)
	require.NoError(w, err)
}

// late delays the files or streams with a text in their path until a channel is closed.
type late struct {
	part  string
	until chan struct{}
}

// delayed serves the console, except the files and streams that are late. It counts the streams.
func (w *world) delayed(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if l := w.late.Load(); l != nil && strings.Contains(r.URL.Path, l.part) {
			select {
			case <-l.until:
			case <-r.Context().Done():
			}
		}
		if strings.HasPrefix(r.URL.Path, "/live/") {
			w.opened.Add(1)
			w.streams.Add(1)
			defer w.streams.Add(-1)
		}
		pages.ServeHTTP(rw, r)
	})
}

// serve acts as the services of all steps.
func (w *world) serve(ctx context.Context, c worker.Call) (any, error) {
	if op := w.refuse.Load(); op != nil && c.Name == *op {
		return nil, worker.Permanent(errors.New(w.says))
	}
	var until <-chan struct{} // nil is forever
	switch {
	case c.Name == "pack":
		until = w.hold
	case c.Name != "charge" || !w.slow.Load():
		return map[string]string{"receipt": "r-1"}, nil
	}
	select {
	case <-until:
	case <-w.ended:
		return nil, context.Canceled
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return map[string]string{"receipt": "r-1"}, nil
}

func (w *world) refusing(operation string) { w.refuse.Store(&operation) }

func (w *world) submit(workflow string, ids ...string) {
	w.Helper()
	for _, id := range ids {
		order := map[string]any{
			"amount": 120, "card": "4111111111111111",
			"customer": map[string]any{"name": "Ada"}, "items": []int{7},
		}
		_, err := w.client.Submit(context.Background(),
			client.Order{ID: id, Workflow: workflow, Content: order})
		require.NoError(w, err)
	}
}

// until waits for a condition that becomes true without further calls of the test.
func (w *world) until(what string, f func() bool) {
	w.Helper()
	for deadline := time.Now().Add(60 * time.Second); !f(); time.Sleep(5 * time.Millisecond) {
		require.False(w, time.Now().After(deadline), "it did not come to it in 60 s: %s", what)
	}
}

func (w *world) inState(id string, s client.State) func() bool {
	return func() bool {
		t, err := w.client.Get(context.Background(), id)
		return err == nil && t.State == s && (s == "Processing" || t.Ended)
	}
}

// held waits until the orders have no other step left than pack, so that nothing changes before hold is
// closed.
func (w *world) held(ids ...string) {
	w.Helper()
	for _, id := range ids {
		w.until(id+" waits for pack", func() bool {
			o, err := w.client.Get(context.Background(), id)
			return err == nil && len(o.Steps) == 4 && o.Steps[1].State == "Processed" &&
				o.Steps[2].State == "Processing"
		})
	}
}

func (w *world) get(path string) (status int, body string) {
	w.Helper()
	r, err := w.http.Get(w.url + path)
	require.NoError(w, err)
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	require.NoError(w, err)
	return r.StatusCode, string(text)
}

func (w *world) post(path string, form url.Values, header ...string) (status int, body string) {
	w.Helper()
	r, err := http.NewRequest(http.MethodPost, w.url+path, strings.NewReader(form.Encode()))
	require.NoError(w, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := w.http.Do(r)
	require.NoError(w, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(w, err)
	return answer.StatusCode, string(text)
}

var (
	forms  = regexp.MustCompile(`(?s)<form method="post" action="([^"]+)">(.*?)</form>`)
	fields = regexp.MustCompile(`<input (?:type="hidden" )?name="([^"]+)" value="([^"]*)"`)
)

// form returns the form of a page that has a field with this value, as a browser would send it.
func (w *world) form(page, field, value string) (action string, form url.Values) {
	w.Helper()
	_, body := w.get(page)
	for _, m := range forms.FindAllStringSubmatch(body, -1) {
		form := url.Values{}
		for _, f := range fields.FindAllStringSubmatch(m[2], -1) {
			form.Set(f[1], f[2])
		}
		if form.Get(field) == value {
			return m[1], form
		}
	}
	w.Fatalf("%s has no form whose %s is %s: %s", page, field, value, body)
	return "", nil
}

// stream opens the stream of a page.
func (w *world) stream(path string) (next func() event, stop func()) {
	w.Helper()
	return openStream(w, http.DefaultTransport, w.url+"/live"+path)
}

func ids(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", prefix, i)
	}
	return all
}

// pagesOf returns the console of a client's deployment.
func pagesOf(c *client.Client) http.Handler {
	return console.New(console.Options{Client: c, Name: "shop", Program: "stepkeeper", Log: quiet})
}

// shown returns a page of a console, which has this status.
func shown(t *testing.T, h http.Handler, path string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	require.Equal(t, status, w.Code, path)
	return w.Body.String()
}
