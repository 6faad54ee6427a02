package console_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// Each page has a title, leads to all others, follows its own stream, and shows what outsiders wrote as text: their
// words in angle brackets make no elements. Its content is recorded.
func TestEveryPage(t *testing.T) {
	for path, name := range map[string]string{
		"/": "Overview", "/orders?workflow=order": "Orders", "/orders?step=charge&code=http-503": "Orders of a step",
		"/orders/busy": "busy", "/orders/busy?show=commands": "busy, commands",
		"/orders/busy?show=messages": "busy, messages", "/orders/timed": "timed", "/orders/broken": "broken",
		"/orders/undone": "undone", "/orders/closed": "closed", "/orders/erased": "erased", "/orders/raced": "raced",
		"/incidents": "Incidents", "/waiting": "Waiting", "/answers": "Answers", "/workflows": "Workflows",
		"/workflows/order": "order", "/workflows/gone": "gone", "/health": "Health", "/orders/broken/move": "Move broken",
		"/orders/closed/move?definition=" + strings.Repeat("3", 32): "Move closed",
		"/dead-letters": "Dead letters", "/dead-letters/quarantine?body=1": "Quarantine",
		"/dead-letters/control": "Dead letters of control", "/bulk?command=undo&step=charge": "Bulk undo", "/bulk": "Bulk",
	} {
		t.Run(name, func(t *testing.T) {
			p := visit(t, recordedPages(t), path)
			require.Equal(t, http.StatusOK, p.status)
			title, _, _ := strings.Cut(texts(elements(p.tree, named("title")))[0], " · Stepkeeper")
			require.True(t, strings.HasPrefix(name, title), title)
			require.Equal(t, "/live"+path, attribute(p.one(named("main")), "hx-sse:connect"))
			require.Equal(t, []string{
				"Overview", "Orders", "Incidents", "Waiting", "Answers", "Bulk", "Dead letters",
				"Workflows", "Health",
			}, texts(elements(p.one(named("nav")), named("a"))))
			require.Empty(t, elements(p.tree, named("is", "in", "gone", "not", "denied", "steps", "x", "closed")))
			for _, n := range elements(p.tree) {
				for _, a := range n.Attr {
					require.False(t, a.Key == "style" || strings.HasPrefix(a.Key, "on"), "%s=%s", a.Key, a.Val)
					require.NotContains(t, a.Val, "//", "it loads nothing from another host")
				}
			}
			golden.Assert(t, present.ReplaceAllString(p.outline(), "…"), "pages/"+name+".txt")
		})
	}
}

// present matches what depends on the day and on this program: ages, and the versions of its documents.
var present = regexp.MustCompile(`-?\d+h\d+m\d+s|tasks=\d+ messages=\d+`)

// An interval that was not measured is a gap in a chart.
func TestCharts(t *testing.T) {
	p := visit(t, recordedPages(t), "/")
	drawn := attribute(p.one(with("id", "chart-ended-plot")), "data-chart")
	require.Contains(t, drawn, `"name":"Processed","color":"done","values":[40,41,42,43,44,45,46,null,48`)
}

// The members of a step with any stand in one frame, the winner filled and the loser struck through.
func TestRacesAreFramed(t *testing.T) {
	p := visit(t, recordedPages(t), "/orders/raced")
	for _, class := range []string{"frame", "node processed won", "node undowait lost"} {
		require.Len(t, elements(p.one(graph), with("class", class)), 1, class)
	}
}
