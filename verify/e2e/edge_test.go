package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Bad input gets a clear error, and affects no other order.
func TestBadInput(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	s := newSite(t, shop.agents(), pairOnly)
	p := s.start()
	other := p.submit("pair", "other", 1)[0]
	const good = `{"schema":1,"orderId":"good","workflow":"pair","order":{"n":1}}`
	with := func(order string) string {
		return fmt.Sprintf(`{"schema":1,"orderId":"x","workflow":"pair","order":%s}`, order)
	}
	if res, _ := p.post([]byte(good), nil); res.StatusCode/100 != 2 {
		t.Fatalf("the good one: %s", res.Status)
	}
	for _, c := range []struct {
		name    string
		body    string
		headers map[string]string
		status  int
		want    string // in the detail
	}{
		{
			"another origin", good,
			map[string]string{"Origin": "https://evil.example"},
			http.StatusForbidden,
			"evil.example",
		},
		{"an opaque origin", good, map[string]string{"Origin": "null"}, http.StatusForbidden, "origin"},
		{
			"another site", good,
			map[string]string{"Sec-Fetch-Site": "cross-site"},
			http.StatusForbidden,
			"cross-site",
		},
		{
			"a foreign host", good,
			map[string]string{"Host": "rebound.example:80"},
			http.StatusForbidden,
			"rebound.example",
		},
		{
			"a form of a page", good,
			map[string]string{"Content-Type": "text/plain"},
			http.StatusUnsupportedMediaType, "text/plain",
		},
		{
			"10,000 deep", with(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), nil,
			http.StatusBadRequest, "nested",
		},
		{"10,000 deep and open", strings.Repeat(`{"a":`, 10_000), nil, http.StatusBadRequest, "nested"},
		{
			"over the limit", with(`"` + strings.Repeat("x", 64<<10) + `"`), nil,
			http.StatusRequestEntityTooLarge, "65536",
		},
		{
			"far over the limit", with(`"` + strings.Repeat("x", 8<<20) + `"`), nil,
			http.StatusRequestEntityTooLarge, "an order may have 65536",
		},
		{"malformed", `{"schema":1,`, nil, http.StatusBadRequest, "JSON"},
		{"wrong UTF-8", with("\"\xff\""), nil, http.StatusBadRequest, "UTF-8"},
		{
			"unknown field", `{"schema":1,"orderId":"x","workflow":"pair","order":1,"colour":1}`, nil,
			http.StatusBadRequest, "colour",
		},
		{"unknown workflow", `{"schema":1,"orderId":"x","workflow":"nothing","order":1}`, nil, 0, "nothing"},
		{"no ID", `{"schema":1,"workflow":"pair","order":1}`, nil, http.StatusBadRequest, "orderId"},
		{
			"an empty ID", `{"schema":1,"orderId":"","workflow":"pair","order":1}`, nil, http.StatusBadRequest,
			"orderId",
		},
		{
			"a long ID", `{"schema":1,"orderId":"` + strings.Repeat("i", 300) + `","workflow":"pair","order":1}`,
			nil, http.StatusBadRequest, "orderId",
		},
		{
			"a path as ID", `{"schema":1,"orderId":"../x","workflow":"pair","order":1}`, nil,
			http.StatusBadRequest, "orderId",
		},
		{
			"a control character", `{"schema":1,"orderId":"a\u0000b","workflow":"pair","order":1}`, nil,
			http.StatusBadRequest, "orderId",
		},
		{
			"unknown reply-to", `{"schema":1,"orderId":"x","workflow":"pair","order":1,"replyTo":"unknown"}`,
			nil, 0, "unknown",
		},
		{
			"other content", `{"schema":1,"orderId":"good","workflow":"pair","order":{"n":2}}`, nil,
			http.StatusConflict, "other content",
		},
	} {
		res, text := p.post([]byte(c.body), c.headers)
		if c.status != 0 && res.StatusCode != c.status || res.StatusCode/100 != 4 {
			t.Errorf("%s: status %s, want %d", c.name, res.Status, c.status)
		}
		var problem struct{ Detail, Code string }
		if err := json.Unmarshal([]byte(text), &problem); err != nil ||
			res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: answered %s, %.200q: %v", c.name, res.Header.Get("Content-Type"), text, err)
		}
		if !strings.Contains(problem.Detail, c.want) || problem.Code == "" {
			t.Errorf("%s: says %q (code %q), and not %q", c.name, problem.Detail, problem.Code, c.want)
		}
	}
	p.end(other, "Processed")
	p.end("good", "Processed")
	if code, _ := p.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Past the limit of open orders intake answers "busy", with the time to wait; what is there already
// is answered all the same, and when there is room orders are taken again.
func TestBusyIntake(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	shop.hold()
	s := newSite(t, shop.agents(), pairOnly, "--max-open", "50")
	p := s.start()
	ids := p.submit("pair", "open", 50)
	order := func(id string, n int) []byte {
		return fmt.Appendf(nil, `{"schema":1,"orderId":%q,"workflow":"pair","order":{"n":%d}}`, id, n)
	}
	res, text := p.post(order("more", 1), nil)
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %s, Retry-After %q: %s", res.Status, res.Header.Get("Retry-After"), text)
	}
	if res, text := p.post(order(ids[7], 7), nil); res.StatusCode/100 != 2 {
		t.Errorf("an order that is there: %s %s", res.Status, text)
	}
	shop.open()
	for _, id := range ids {
		p.end(id, "Processed")
	}
	p.end(p.submit("pair", "more", 1)[0], "Processed")
}
