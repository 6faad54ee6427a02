package console_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

func wants(t *testing.T, body string, texts ...string) {
	t.Helper()
	plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(body, ""))
	for _, text := range texts {
		if !strings.Contains(plain, text) {
			require.Contains(t, body, text)
		}
	}
}

// A browser gets a page for an unknown address too.
func TestUnknownPage(t *testing.T) {
	w := newWorld(t, nil)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/nowhere", nil)
	require.NoError(t, err)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	answer, err := w.http.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
	p := parsed(t, "/nowhere", answer.StatusCode, answer.Body)
	require.Len(t, elements(p.tree, named("nav"), with("aria-label", "Pages")), 1)
}

func TestHeadersOfPages(t *testing.T) {
	h := recordedPages(t)
	get := func(path string) (http.Header, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Header(), w.Body.String()
	}
	header, body := get("/")
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'",
		"X-Content-Type-Options":  "nosniff",
		"Cache-Control":           "no-store",
		"Referrer-Policy":         "same-origin",
		"Content-Type":            "text/html; charset=utf-8",
	} {
		require.True(t, strings.HasPrefix(header.Get(name), want), "%s: %s", name, header.Get(name))
	}
	kinds := map[string]string{
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}
	for _, m := range loaded.FindAllStringSubmatch(body, -1) {
		header, _ := get(m[1])
		require.Equal(t, kinds[filepath.Ext(m[1])], header.Get("Content-Type"), m[1])
	}
}

// loaded matches what a page loads.
var loaded = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// A wrong address gets a page that names the fault and states what to do.
func TestBadAddressGetsAnErrorPage(t *testing.T) {
	w := newWorld(t, nil)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/orders?state=Lost":                    {400, `there is no state "Lost"`},
		"/orders?older=soon":                    {400, "write a duration like 90m or 7d"},
		"/orders?older=-5m":                     {400, "write a duration like 90m or 7d"},
		"/orders?cursor=nonsense":               {400, "Correct the address"},
		"/orders/o-404":                         {404, "<h1>Not found</h1>"},
		"/orders/" + url.PathEscape("<script>"): {400, "Correct the address"},
	} {
		status, body := w.get(path)
		require.Equal(t, want.status, status, path)
		wants(t, body, want.text)
		require.NotContains(t, body, "<script>", path)
	}
}

// The rows of an open listing keep their places. They show changes, rows that do not match any more are
// marked, and new orders are counted but not inserted.
func TestRowsOfAnOpenListingStay(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("order", "o-1", "o-2")
	w.held("o-1", "o-2")
	next, stop := w.stream("/orders?state=Processing")
	defer stop()
	rows := regexp.MustCompile(`<tr id="order-([^"]+)"( class="gone")?>`)
	places := func(e event) (all []string) {
		for _, m := range rows.FindAllStringSubmatch(e.data, -1) {
			all = append(all, m[1]+m[2])
		}
		return all
	}
	require.Equal(t, "o-2,o-1", strings.Join(places(next()), ","))
	w.ahead.Add(int64(time.Second)) // a creation's time has milliseconds
	w.submit("order", "o-3")
	for e := next(); !strings.Contains(e.data, "1 new"); e = next() {
		if e.name == "" {
			require.Equal(t, "o-2,o-1", strings.Join(places(e), ","))
		}
	}
	close(w.hold)
	for e := next(); ; e = next() {
		if got := strings.Join(places(e), ","); got == `o-2 class="gone",o-1 class="gone"` {
			wants(t, e.data, "Processed")
			return
		}
	}
}

// The pages of a listing follow each other without gaps, with any filter.
func TestListingHasNoGapsBetweenPages(t *testing.T) {
	w := newWorld(t, nil)
	close(w.hold)
	w.refusing("reserve")
	w.submit("order", ids("o", 130)...)
	w.until("all have stopped",
		func() bool { _, body := w.get("/incidents"); return strings.Contains(body, ">130<") })
	_, body := w.get("/orders?older=24h")
	require.Contains(t, body, "No order matches", "orders of a moment ago are older than a day")
	_, body = w.get("/incidents")
	require.Equal(t, 5, strings.Count(body, `href="/orders/o-`), "an incident has other than five examples")
	for _, filter := range []string{
		"/orders", "/orders?state=Error&workflow=order",
		"/orders?state=Error&step=reserve",
	} {
		seen := map[string]int{}
		for page := filter; page != ""; {
			_, body := w.get(page)
			for _, m := range regexp.MustCompile(`<tr id="order-([^"]+)"`).FindAllStringSubmatch(body, -1) {
				seen[m[1]]++
			}
			page = ""
			require.NotContains(t, body, "look at more", filter)
			if m := regexp.MustCompile(`id="next" href="([^"]+)"`).FindStringSubmatch(body); m != nil {
				page = html.UnescapeString(m[1])
			}
		}
		require.Len(t, seen, 130, filter)
		for id, n := range seen {
			require.Equal(t, 1, n, "%s in %s", id, filter)
		}
	}
}

// An order is shown in its own script, and characters that could reorder the page's text as escapes.
func TestDocumentsAreReadable(t *testing.T) {
	w := newWorld(t, nil)
	close(w.hold)
	content := json.RawMessage(
		`{"amount":120,"name":"\ud83d\ude80 \uae40\ubbfc\uc900","note":"a\u202eb","price":1.50}`)
	_, err := w.client.Submit(t.Context(),
		client.Order{ID: "o-1", Workflow: "order", Content: content})
	require.NoError(t, err)
	w.until("it ends", w.inState("o-1", "Processed"))
	_, body := w.get("/orders/o-1")
	wants(t, body, "🚀 김민준", `a\u202eb`, "1.50")
	require.False(t, strings.ContainsRune(body, '\u202e'), "the page holds a character that turns text around")
}

func TestRedactionOfDocuments(t *testing.T) {
	for _, c := range []struct{ path, doc, want string }{
		{"a", `{"a":1,"b":2}`, `{"a":"(hidden)","b":2}`},
		{"*.a", `[{"a":1},{"a":{"x":1}},2]`, `[{"a":"(hidden)"},{"a":"(hidden)"},2]`},
		{"a.1", `{"a":[1,2,3]}`, `{"a":[1,"(hidden)",3]}`},
		{"**.a", `{"b":{"c":[{"a":1}]},"a":2}`, `{"a":"(hidden)","b":{"c":[{"a":"(hidden)"}]}}`},
		{"a/b", `{"a/b":1}`, `{"a/b":"(hidden)"}`},
		{"*", `{"a/b":1,"":2}`, `{"":"(hidden)","a/b":"(hidden)"}`},
		{"a", `{"a":1,"\u0061":2}`, `{"a":"(hidden)"}`},
		{"a", `{"a":`, `"(hidden)"`},
		{"a", ``, ``},
		{"# two\n\r\na # and its neighbour\nb.*\r\n", `{"a":1,"b":{"c":2}}`, `{"a":"(hidden)","b":{"c":"(hidden)"}}`},
		{"#" + strings.Repeat(" cards", 20<<10) + "\na", `{"a":1}`, `{"a":"(hidden)"}`},
		{"\ufeffa", `{"a":1}`, `{"a":"(hidden)"}`},
		{"a", `12345678901234567890.10`, `12345678901234567890.10`},
	} {
		file := filepath.Join(t.TempDir(), "redact.txt")
		require.NoError(t, os.WriteFile(file, []byte(c.path), 0o600))
		r, err := console.LoadRedaction(file)
		require.NoError(t, err)
		require.Equal(t, c.want, string(r.Apply([]byte(c.doc))), c.path)
	}
	file := filepath.Join(t.TempDir(), "redact.txt")
	for text, want := range map[string]string{
		"a\nb..c\n":           "line 2",
		"\xff\xfea\x00\n\x00": "line 1",
		"a\x00\n\x00":         "line 1",
		"\n# a\n":             "it has no path",
		"a\nitems[0].card":    "line 2",
		"$.payment.card":      "line 1",
		`["payment.card"]`:    "line 1",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := console.LoadRedaction(file)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// A console reports that its server does not reply, and recovers by itself.
func TestConsoleRecoversAfterAnOutage(t *testing.T) {
	w := newWorld(t, nil)
	pages := pagesOf(connect(t, w.url, client.WithRetry(1, time.Second)))
	w.submit("order", "o-1")
	shown(t, pages, "/orders/o-1", http.StatusOK)
	address := strings.TrimPrefix(w.url, "http://")
	w.stop()
	for _, path := range []string{
		"/", "/orders", "/orders/o-1", "/incidents", "/waiting", "/answers",
		"/workflows",
	} {
		wants(t, shown(t, pages, path, http.StatusBadGateway), "shop does not answer", "tried again by itself")
	}
	w.start(address)
	shown(t, pages, "/orders/o-1", http.StatusOK)
}

// The vendored files are those of htmx.org 4.0.1 on npm: dist/htmx.min.js and dist/ext/hx-sse.min.js.
func TestAssets(t *testing.T) {
	for name, want := range map[string]string{
		"htmx.min.js":   "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
		"hx-sse.min.js": "18ef2761356ec1fe0bb6d92612315b37517a7c1e9856b661c5ae81fef239d103",
		"uplot.min.js":  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		text, err := os.ReadFile("assets/" + name)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(text)), name)
	}
}

// A page with everything that it loads has at most 60 KB, compressed as by a proxy in front of the console.
func TestPagesAreSmall(t *testing.T) {
	h := pagesOf(recordedClient(t))
	packed := func(path string) (body string, size int) {
		body = shown(t, h, path, http.StatusOK)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err := z.Write([]byte(body))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		return body, b.Len()
	}
	for _, path := range []string{"/", "/orders", "/orders/busy", "/workflows/order"} {
		body, size := packed(path)
		all := size
		for _, m := range loaded.FindAllStringSubmatch(body, -1) {
			text, size := packed(m[1])
			all += size
			require.NotEmpty(t, text, "%v", m)
		}
		t.Logf("%s: %d bytes, of them the page itself %d", path, all, size)
		require.LessOrEqual(t, all, 60_000, path)
		require.NotEqual(t, size, all, path)
	}
}

// The pages of a stack need no list of its workflows, which are inside its functions.
func TestStackPagesNeedNoWorkflowList(t *testing.T) {
	s := stacktest.New(t, stacktest.Memory())
	_, err := s.Client().Submit(t.Context(), client.Order{
		ID: "s-1", Workflow: "order",
		Content: map[string]string{"end": "never"},
	})
	require.NoError(t, err)
	h := pagesOf(s.Client())
	for _, path := range []string{
		"/", "/orders", "/incidents", "/waiting", "/answers", "/bulk",
		"/dead-letters", "/health",
	} {
		require.Equal(t, http.StatusOK, visit(t, h, path).status, path)
	}
}

// Orders that wait for an agent are listed under its name, which their definition contains. On a stack the
// definition is in the table.
func TestOrdersAreListedUnderTheirAgent(t *testing.T) {
	w := newWorld(t, nil)
	w.slow.Store(true)
	w.submit("order", "o-1", "o-2")
	w.until("both wait for two steps of one agent", func() bool {
		_, body := w.get("/waiting")
		return strings.Contains(body, "order pack</a> (an agent&#39;s reply): 2") &&
			strings.Contains(body, "order charge</a> (an agent&#39;s reply): 2")
	})
	_, body := w.get("/waiting")
	wants(t, body, `<tr id="agent-shop"><td>shop</td><td class="number">2</td>`,
		`<a href="/orders?children=on&amp;state=Processing&amp;step=pack&amp;workflow=order">order pack</a> (an agent&#39;s reply): 2`,
		`<tr id="wait-agent-order-pack-shop"><td><span class="kind agent"></span>an agent&#39;s reply</td><td>shop</td>`)
	close(w.hold)

	s := stacktest.New(t, stacktest.Memory())
	open := func() string { return shown(t, pagesOf(s.Client()), "/waiting", http.StatusOK) }
	for _, id := range []string{"s-1", "s-2", "s-3"} {
		_, err := s.Client().Submit(t.Context(), client.Order{
			ID: id, Workflow: "order",
			Content: map[string]string{"end": "never"},
		})
		require.NoError(t, err)
	}
	w.until("three orders of the stack wait",
		func() bool { return strings.Contains(open(), "order charge</a> (an agent&#39;s reply): 3") })
	wants(t, open(), `<tr id="agent-shop"><td>shop</td><td class="number">3</td>`,
		`<td>order</td><td>charge</td>`)
	s.Parts.Definitions = unread{}
	wants(t, open(), `<tr id="agent-"><td>unknown</td><td class="number">3</td>`,
		`an agent&#39;s reply</td><td>unknown</td>`)
}

type unread struct{}

func (unread) Definition(context.Context, string) ([]byte, error) {
	return nil, errors.New("AccessDenied")
}

// The failure of an earlier attempt raises no alarm on the page of an order whose step is done.
func TestAnEarlierFailureIsNoAlarm(t *testing.T) {
	for state, alarm := range map[core.State]bool{core.Processed: false, core.Failed: true} {
		h := pagesOf(answering(t, func(*http.Request) any {
			return view.Task{OrderID: "o", State: core.Processed, Ended: true, Steps: []view.Step{{
				Name: "charge", State: state, Attempts: 2, Error: &protocol.StepError{Code: "http-503", Message: "down"},
			}}}
		}))
		body := shown(t, h, "/orders/o", http.StatusOK)
		require.Contains(t, body, "<code>http-503</code> down")
		require.Equal(t, alarm, strings.Contains(body, "box bad"))
		require.Equal(t, !alarm, strings.Contains(body, "An earlier attempt: "))
	}
}

// A page that shows a queue without a consumer says what to do, also if nobody knows the reason.
func TestAQueueWithoutAConsumerHasANextStep(t *testing.T) {
	h := pagesOf(answering(t, func(*http.Request) any {
		return view.Task{OrderID: "o", Unattended: []view.Unattended{{Queue: "requests-mail", Agent: "mail"}}}
	}))
	require.Contains(t, shown(t, h, "/orders/o", http.StatusOK), "Queue requests-mail has no consumer. Start the agent mail.")
}
