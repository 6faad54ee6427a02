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

// outline returns what a reader sees of the page's content: a line for each block, with the addresses of links, the
// fields and buttons of forms, and the titles of pictures. "*" marks a required field, "▸" a folded part, and "▾" an open
// one.
func (p *document) outline() string {
	p.t.Helper()
	var b strings.Builder
	outline(&b, p.one(named("main")))
	var lines []string
	for line := range strings.SplitSeq(b.String(), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// blocks are the elements that have lines of their own, and the beginnings of these lines.
var blocks = map[string]string{
	"h1": "# ", "h2": "## ", "p": "", "li": "- ", "tr": "| ", "div": "", "section": "", "ul": "", "dl": "", "pre": "",
	"title": "~ ", "table": "", "details": "", "form": "", "svg": "",
}

func outline(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	begins, block := blocks[n.Data]
	if block {
		b.WriteString("\n" + begins)
	}
	has := func(key string) bool {
		return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
	}
	switch n.Data {
	case "form":
		b.WriteString("form " + attribute(n, "method") + " " + attribute(n, "action") + ":")
	case "input", "textarea", "select":
		value := attribute(n, "value")
		if attribute(n, "name") == "token" {
			value = strings.Repeat("…", min(len(value), 1))
		}
		b.WriteString(" [" + attribute(n, "name"))
		if has("required") {
			b.WriteString("*")
		}
		if value != "" {
			b.WriteString("=" + value)
		}
		b.WriteString("] ")
	case "details":
		b.WriteString(map[bool]string{false: "▸ ", true: "▾ "}[has("open")])
	case "button":
		b.WriteString(" (")
	case "option":
		if has("selected") {
			b.WriteString("✓")
		}
	}
	for child := range n.ChildNodes() {
		outline(b, child)
	}
	switch n.Data {
	case "td", "th":
		b.WriteString(" | ")
	case "dt":
		b.WriteString(": ")
	case "a":
		b.WriteString(" → " + attribute(n, "href"))
	case "button":
		b.WriteString(")")
	case "option", "dd", "label", "span", "text":
		b.WriteString(" ")
	case "summary":
		b.WriteString("\n")
	}
	if block {
		b.WriteString("\n")
	}
}

var graph = with("class", "scroll across")
