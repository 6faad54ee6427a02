package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// document is what a browser makes of a response of the console.
type document struct {
	t      testing.TB
	path   string
	status int
	tree   *html.Node
}

// visit opens a page of a console.
func visit(t testing.TB, h http.Handler, path string) *document {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return parsed(t, path, w.Code, w.Body)
}

func parsed(t testing.TB, path string, status int, body io.Reader) *document {
	t.Helper()
	tree, err := html.Parse(body)
	require.NoError(t, err)
	return &document{t, path, status, tree}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func named(tags ...string) func(*html.Node) bool {
	return func(n *html.Node) bool { return slices.Contains(tags, n.Data) }
}

// elements returns the elements below a node that satisfy all conditions.
func elements(below *html.Node, are ...func(*html.Node) bool) (found []*html.Node) {
	for n := range below.Descendants() {
		if n.Type == html.ElementNode && !slices.ContainsFunc(are, func(is func(*html.Node) bool) bool { return !is(n) }) {
			found = append(found, n)
		}
	}
	return found
}

func with(key, value string) func(*html.Node) bool {
	return func(n *html.Node) bool { return attribute(n, key) == value }
}

// textOf returns the text of a node, with single spaces. A line break in the page is a space.
func textOf(n *html.Node) string {
	var b strings.Builder
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
	}
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Type == html.ElementNode && slices.Contains([]string{"br", "li", "td", "p", "dd", "dt", "option"}, d.Data):
			b.WriteString(" ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func texts(nodes []*html.Node) []string {
	all := []string{}
	for _, n := range nodes {
		all = append(all, textOf(n))
	}
	return all
}

// text returns all text of the page's content.
func (p *document) text() string {
	p.t.Helper()
	return textOf(p.one(named("main")))
}

func (p *document) one(are ...func(*html.Node) bool) *html.Node {
	p.t.Helper()
	found := elements(p.tree, are...)
	require.Len(p.t, found, 1, p.path)
	return found[0]
}

// byID returns the text of the element with an ID.
func (p *document) byID(id string) string {
	p.t.Helper()
	return textOf(p.one(with("id", id)))
}

// facts returns the facts at the top of an order's page.
func (p *document) facts() (all []string) {
	p.t.Helper()
	for _, n := range elements(elements(p.tree, named("dl"))[0], named("div")) {
		all = append(all, texts(elements(n, named("dt")))[0]+": "+texts(elements(n, named("dd")))[0])
	}
	return all
}

// rows returns the rows of a table, with a bar between cells.
func (p *document) rows(label string) (all []string) {
	p.t.Helper()
	region := p.one(with("role", "region"), with("aria-label", label))
	for _, body := range elements(region, named("tbody")) {
		for _, row := range elements(body, named("tr")) {
			all = append(all, strings.Join(texts(elements(row, named("td"))), " | "))
		}
	}
	return all
}

// links returns the links of the content, as "text → address".
func (p *document) links() (all []string) {
	p.t.Helper()
	for _, a := range elements(p.one(named("main")), named("a")) {
		all = append(all, textOf(a)+" → "+attribute(a, "href"))
	}
	return all
}

// actions returns the forms that change something: the address, the fields that the console has filled in, except
// its token, and the buttons.
func (p *document) actions() (all []string) {
	p.t.Helper()
	for _, form := range elements(p.tree, named("form"), with("method", "post")) {
		var parts []string
		for _, n := range elements(form, named("input"), with("type", "hidden")) {
			if name, value := attribute(n, "name"), attribute(n, "value"); name == "token" {
				require.NotEmpty(p.t, value, "the token of a form of %s", p.path)
			} else if value != "" {
				parts = append(parts, name+"="+value)
			}
		}
		for _, n := range elements(form, named("input", "textarea", "select")) {
			if attribute(n, "type") != "hidden" {
				parts = append(parts, attribute(n, "name"))
			}
		}
		for _, n := range elements(form, named("button")) {
			parts = append(parts, "["+textOf(n)+"]")
		}
		all = append(all, attribute(form, "action")+" "+strings.Join(parts, " "))
	}
	return all
}

// advice returns the command lines that the page offers to copy.
func (p *document) advice() (all []string) {
	p.t.Helper()
	for _, n := range elements(p.one(named("main")), named("code")) {
		if text := textOf(n); strings.HasPrefix(text, "stepkeeper ") {
			all = append(all, text)
		}
	}
	return all
}

// drawn returns the titles of what a picture of the page shows.
func (p *document) drawn(picture func(*html.Node) bool) (all []string) {
	p.t.Helper()
	for _, n := range elements(elements(p.tree, picture)[0], named("title")) {
		all = append(all, textOf(n))
	}
	return all
}

var (
	graph = with("class", "scroll across")
	gantt = with("class", "gantt")
)
