package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// A failure of the server is not reported as a wrong address.
func TestAFailureOfTheServerIsNoBadRequest(t *testing.T) {
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"status":500,"code":"internal","detail":"it broke"}`, http.StatusInternalServerError)
	})
	h := pagesOf(clientOf(t, server))
	for path, want := range map[string]int{
		"/bulk?command=undo&step=charge": http.StatusBadGateway,
		"/bulk?command=undo&state=none":  http.StatusBadRequest,
	} {
		shown(t, h, path, want)
	}
}

// A page reports that the server refused to send any of its parts.
func TestPagesThatMayNotBeRead(t *testing.T) {
	refuses := ""
	h := pagesOf(clientOf(t, recording(t, &refuses)))
	for _, x := range []struct{ path, part string }{
		{"/", "/v1/orders$"},
		{"/", "/v1/workflows"},
		{"/", "/v1/schedules"},
		{"/orders", "/v1/orders$"},
		{"/orders/busy", "/v1/orders/busy$"},
		{"/incidents", "/v1/orders$"},
		{"/", " in Error"},
		{"/", " in Processing"},
		{"/", " in Compensating"},
		{"/waiting", " in Compensating"},
		{"/answers", "/v1/approvals$"},
		{"/waiting", "/v1/orders$"},
		{"/answers", "/v1/orders$"},
		{"/workflows", "/v1/workflows"},
		{"/workflows", "/v1/schedules"},
		{"/workflows/order", "/v1/workflows/order$"},
		{"/workflows/order", "/v1/orders$"},
		{"/workflows/order", "/v1/schedules"},
		{"/orders/broken/move", "/move$"},
		{"/health", "/healthz$"},
		{"/orders/broken/move", "/v1/orders/broken$"},
		{"/dead-letters", "^/$"},
		{"/dead-letters/quarantine", "^/$"},
		{"/bulk?command=undo&step=charge", "/v1/orders$"},
		{
			"/bulk?command=undo&step=charge",
			"/v1/orders/broken$",
		},
		{"/bulk?command=move&step=charge&definition=latest", "/move$"},
	} {
		refuses = x.part
		body := shown(t, h, x.path, http.StatusBadGateway)
		require.Contains(t, body, "These credentials may not read this: ", x.path)
		require.Contains(t, body, "not for you", x.path)
		require.NotContains(t, body, "invalid request", x.path)
	}
	// the rest of the page is there
	for path, x := range map[string][2]string{
		"/orders/busy":        {"/order$", "not for you"},
		"/":                   {"/v1/statistics$", "statistics: not for you"},
		"/orders/broken/move": {"/v1/workflows/order$", "not for you"},
	} {
		refuses = x[0]
		body := shown(t, h, path, http.StatusOK)
		require.Contains(t, body, x[1], path)
	}
}

// answers serves all requests with a function, and adds the lists that it leaves out.
func answers(t *testing.T, answer func(r *http.Request) any) http.Handler {
	t.Helper()
	return changing(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		whole := map[string]any{"ready": true}
		for _, list := range []string{"orders", "approvals", "workflows", "schedules"} {
			whole[list] = []any{}
		}
		body, err := json.Marshal(answer(r))
		if err == nil {
			err = json.Unmarshal(body, &whole)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := errors.Join(err, json.NewEncoder(w).Encode(whole)); err != nil {
			t.Error(err)
		}
	}))
}

// changing adds the stream of changes to a server. It has an event at once, and one for each change.
func changing(changes <-chan struct{}, server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/changes" {
			server.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_, _ = w.Write([]byte("event: changed\ndata:\n\n"))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-changes:
			case <-r.Context().Done():
				return
			}
		}
	})
}

// answering returns a client of a server that handles all requests with a function.
func answering(t *testing.T, answer func(r *http.Request) any) *client.Client {
	t.Helper()
	return clientOf(t, answers(t, answer))
}

// grouping returns a console of a server that has these orders in Error and running.
func grouping(t *testing.T, stopped, under *[]view.Summary) http.Handler {
	t.Helper()
	return pagesOf(answering(t, func(r *http.Request) any {
		switch state := r.URL.Query().Get("state"); {
		case r.URL.Path != "/v1/orders":
			return view.Definition{
				Workflow: "any", Hash: "d",
				Steps: []view.Step{{Name: "x", Agent: "mail"}, {Name: "y", Agent: "bank"}},
			}
		case state == string(core.Error):
			return view.Page{Orders: *stopped}
		case state == string(core.Processing):
			page := view.Page{Orders: *under}
			if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil &&
				len(page.Orders) > limit {
				page.Orders = page.Orders[:limit]
				page.Next = "rest"
			}
			if r.URL.Query().Get("oldest") == "true" {
				return view.Page{Orders: (*under)[len(*under)-1:]}
			}
			return page
		}
		return view.Page{Orders: []view.Summary{}}
	}))
}

// A service that writes thousands of codes makes no page of megabytes. The pages of incidents follow each other,
// and the menu of codes has the most frequent ones.
func TestThousandsOfCodes(t *testing.T) {
	var stopped []view.Summary
	for i := range 3000 {
		stopped = append(stopped, view.Summary{
			OrderID: fmt.Sprintf("o-%d", i), Workflow: "w", Definition: "d",
			Error: &view.TaskError{Step: "s", Code: fmt.Sprintf("code-%d", i), Message: strings.Repeat("x", 1000)},
		})
	}
	under := []view.Summary{}
	h := grouping(t, &stopped, &under)
	get := func(path string) string {
		body := shown(t, h, path, http.StatusOK)
		require.LessOrEqual(t, len(body), 256<<10)
		return body
	}
	seen := map[string]bool{}
	next := regexp.MustCompile(`rel="next" id="next" href="([^"]*)"`)
	for path := "/incidents"; path != ""; {
		body := get(path)
		for _, row := range regexp.MustCompile(`<tr id="incident-w-s-([^"]*)"`).FindAllStringSubmatch(body, -1) {
			seen[row[1]] = true
		}
		path = ""
		if m := next.FindStringSubmatch(body); m != nil {
			path = m[1]
		}
	}
	require.Len(t, seen, len(stopped))
	for _, path := range []string{"/", "/orders", "/bulk", "/incidents?from=-1", "/incidents?from=99999", "/incidents?from=x"} {
		get(path)
	}
}

// Groups are sorted by their number of orders, the largest first, and then by name. The page states how many
// orders were not read.
func TestGroupsAreSorted(t *testing.T) {
	order := func(workflow, step, code string, waits ...view.Wait) view.Summary {
		return view.Summary{
			OrderID: "o", Workflow: workflow, Definition: "d",
			Error: &view.TaskError{Step: step, Code: code}, Waits: waits,
		}
	}
	asks := func(step string) view.Wait { return view.Wait{Step: step, For: view.WaitRetry} }
	stopped := []view.Summary{
		order("b", "x", "c"), order("a", "y", "c"), order("a", "x", "d"),
		order("a", "x", "c"), order("z", "z", "z"), order("z", "z", "z"),
	}
	waiting := []view.Summary{
		order("b", "", "", asks("x")), order("a", "", "", asks("y"), asks("y")),
		order("a", "", "", asks("x"), view.Wait{Step: "q", For: view.WaitAnswer}),
		order("b", "", "", view.Wait{Step: "y", Agent: "post", For: view.WaitRetry}, asks("y")),
	}
	under := waiting
	h := grouping(t, &stopped, &under)
	rows := regexp.MustCompile(`<tr id="((?:incident|wait|agent)-[^"]*)"`)
	for path, want := range map[string]string{
		"/incidents": "incident-z-z-z incident-a-x-c incident-a-x-d incident-a-y-c incident-b-x-c",
		"/waiting": "agent-bank agent-mail agent-post wait-answer-a-q- wait-retry-a-y-bank " +
			"wait-retry-a-x-mail wait-retry-b-x-mail wait-retry-b-y-bank wait-retry-b-y-post",
	} {
		body := shown(t, h, path, http.StatusOK)
		var got []string
		for _, m := range rows.FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		require.Equal(t, want, strings.Join(got, " "), path)
		require.NotContains(t, body, "over the newest", path)
	}
	for n, more := range map[int]bool{1000: false, 1001: true} {
		under = slices.Repeat(waiting[:1], n)
		body := shown(t, h, "/waiting", http.StatusOK)
		require.Equal(t, more, strings.Contains(body, ", counted over the newest 1000 of each state"))
		body = shown(t, grouping(t, &stopped, &under), "/", http.StatusOK) // one console keeps its counts for ten seconds
		want := map[bool]string{false: "<strong>1,000</strong>", true: "<strong>1,000&#43;</strong>"}[more]
		require.Contains(t, body, want)
	}
	for n, want := range map[int][3]string{
		10_000: {"10000 orders stopped, the first ", ">10000 orders<", ">10000<"},
		10_001: {"More than 10,000 orders stopped; this counts the newest", ">10,000+ orders<", ">10000+<"},
	} {
		crowd := slices.Repeat(stopped[:1], n)
		h := grouping(t, &crowd, &under)
		wants(t, shown(t, h, "/", http.StatusOK), want[:2]...)
		require.Contains(t, shown(t, h, "/incidents", http.StatusOK), want[2])
	}
}

// versionsOf returns the hash and both counts of each definition on the page of a workflow.
func versionsOf(t *testing.T, h http.Handler) string {
	t.Helper()
	body := shown(t, h, "/workflows/x", http.StatusOK)
	var got []string
	for _, m := range regexp.MustCompile(
		`<tr id="version-(\w+)">.*?<td class="number">(\d+)</td><td class="number">(\d+)</td>|(over the newest)`).
		FindAllStringSubmatch(body, -1) {
		got = append(got, strings.Join(m[1:], ""))
	}
	return strings.Join(got, " ")
}

// The example of a group is its oldest wait, the text is that of the last failure, and the newest version is
// listed first.
func TestWhatIsShownOfGroups(t *testing.T) {
	var stopped, under []view.Summary
	h := grouping(t, &stopped, &under)
	waits := func(id string, since core.Time) view.Summary {
		return view.Summary{
			OrderID: id, Workflow: "a",
			Waits: []view.Wait{{Step: "s", For: view.WaitRetry, Since: since}},
		}
	}
	older := waits("older", 5)
	newer := waits("newer", 7)
	for _, under = range [][]view.Summary{{older, newer}, {newer, older}} {
		body := shown(t, h, "/waiting", http.StatusOK)
		require.Contains(t, body, "/orders/older", "the example is not the oldest one")
		require.NotContains(t, body, "/orders/newer")
	}
	version := func(hash string, created core.Time) view.Summary {
		return view.Summary{OrderID: "o", Workflow: "x", Definition: hash, Created: created}
	}
	stopped = []view.Summary{version("c", 9), version("a", 2)}
	under = []view.Summary{version("a", 3), version("b", 5), version("d", 5), version("c", 7), version("c", 8)}
	require.Equal(t, "c21 b10 d10 a11", versionsOf(t, h), "those of the newest orders are not the first")
	crowd := slices.Repeat([]view.Summary{version("e", 9)}, 1500)
	crowd[1499] = version("old", 1)
	stopped = []view.Summary{}
	under = crowd
	require.Equal(t, "e10000 old10 over the newest", versionsOf(t, h), "the page reads more, or misses the oldest definition")
	failed := func(at core.Time, text string) view.Summary {
		return view.Summary{
			OrderID: "o", Workflow: "x", EndedAt: at,
			Error: &view.TaskError{Step: "s", Code: "c", Message: text},
		}
	}
	for _, stopped = range [][]view.Summary{
		{failed(1_000, "the first"), failed(9_000, "the last")},
		{failed(9_000, "the last"), failed(1_000, "the first")},
	} {
		body := shown(t, h, "/incidents", http.StatusOK)
		first := strings.Index(body, "1970-01-01T00:00:01Z")
		last := strings.Index(body, "1970-01-01T00:00:09Z")
		require.GreaterOrEqual(t, first, 0, "not from the first to the last, with the text of the last")
		require.GreaterOrEqual(t, last, first)
		require.Contains(t, body, "the last")
		require.NotContains(t, body, "the first")
	}
}

// A stack has other statistics than a server, and missing ones are named instead of drawn. A process that has
// just started has none yet.
func TestStatisticsOfOthers(t *testing.T) {
	four := 4
	none := 0
	for name, x := range map[string]struct {
		of           view.Statistics
		shows, lacks []string
	}{
		"stack": {
			view.Statistics{
				From: moment(0), Interval: core.Minute,
				Unknown: []string{"orders that ended: not counted"},
				Series: []view.Series{
					{Kind: view.SeriesReceived, Values: []*int{&none, &four, nil}},
					{Kind: view.SeriesWaiting, Of: "mail", Values: []*int{nil, &four, &none}},
				},
			},
			[]string{
				"Orders that were taken in, per minute", "Taken in per minute4", "minute from",
				"Not known; see below.", "12:02:00 UTC–", "12:01:00 UTC4", "orders that ended: not counted",
			},
			[]string{"Overdue"},
		},
		"not called": {
			view.Statistics{
				From: moment(0), Interval: core.Minute,
				Agents: []view.AgentStatistics{
					{Agent: "ghost", NotCalled: []view.NotCalled{{Code: core.CodeNoConsumer}}},
					{Agent: "mail", NotCalled: []view.NotCalled{{Since: moment(0)}}},
				},
			},
			[]string{"1 thing needs you.", "Agent mail does not call its service", "paused nothing consumes its queue", "paused 2026-03-01"},
			[]string{"Agent ghost does not call", "paused ,"},
		},
		"of neither": {
			view.Statistics{
				From: moment(0), Interval: 1500 * core.Millisecond,
				Series: []view.Series{{Kind: view.SeriesWaiting, Of: "mail", Values: []*int{&four}}},
			},
			[]string{"Orders that ended or stopped, per 2 seconds"},
			[]string{"taken in"},
		},
		"just started": {
			view.Statistics{
				From: moment(0), Interval: 10 * core.Second,
				Series:  []view.Series{{Kind: view.SeriesEnded, Of: "Processed", Values: []*int{}}},
				Overdue: &view.Overdue{},
			},
			[]string{
				"Orders that ended or stopped, per 10 seconds", "The first interval has not ended.",
				"Ended per minute–", "Overdue0",
			},
			[]string{"data-chart", "Not measured"},
		},
	} {
		c := answering(t, func(r *http.Request) any {
			if r.URL.Path == "/v1/statistics" {
				return x.of
			}
			return map[string]any{}
		})
		body := shown(t, pagesOf(c), "/", http.StatusOK)
		wants(t, body, x.shows...)
		for _, text := range x.lacks {
			require.NotContains(t, body, text, name)
		}
	}
}

// Many orders in Error are read once in ten seconds for all pages. A few are read for each page.
func TestManyInErrorAreReadRarely(t *testing.T) {
	var stored, asked atomic.Int64
	c := answering(t, func(*http.Request) any {
		asked.Add(1)
		page := view.Page{Orders: make([]view.Summary, stored.Load())}
		for i := range page.Orders {
			page.Orders[i] = view.Summary{
				OrderID: "o", Workflow: "order", State: core.Error,
				Error: &view.TaskError{Step: "charge"},
			}
		}
		return page
	})
	now := moment(0)
	h := console.New(console.Options{
		Client: c, Name: "shop", Program: "stepkeeper", Log: quiet,
		Now: func() time.Time { return now.Std() },
	})
	for _, step := range []struct {
		stored, pause, asked int64
		shows                string
	}{
		{7, 0, 1, ">7<"},
		{1500, 0, 1, ">1500<"},
		{1400, 1, 0, ">1500<"},
		{1400, 9, 1, ">1400<"},
		{8, 10, 1, ">8<"},
		{9, 0, 1, ">9<"},
	} {
		stored.Store(step.stored)
		asked.Store(0)
		now = now.Add(core.Duration(step.pause) * core.Second)
		body := shown(t, h, "/incidents", http.StatusOK)
		require.Equal(t, step.asked, asked.Load())
		require.Contains(t, body, step.shows)
	}
}

// TestChildOrdersAreCounted checks that the number of a state is that of the orders in the list: child orders
// count only if the list shows them.
func TestChildOrdersAreCounted(t *testing.T) {
	under := []view.Summary{
		{OrderID: "o-1", Workflow: "a", State: core.Processing},
		{OrderID: "o-1" + core.ChildMark + "x" + core.ChildMark + "0", Workflow: "a", State: core.Processing},
	}
	h := grouping(t, &[]view.Summary{}, &under)
	for path, texts := range map[string][]string{
		"/orders?state=Processing":             {"Processing <strong>1</strong>", "1 of 1 orders"},
		"/orders?children=on&state=Processing": {"Processing <strong>2</strong>", "2 of 2 orders"},
	} {
		body := shown(t, h, path, http.StatusOK)
		wants(t, body, texts...)
	}
}

// A plan of so many orders that the page cannot wait for it names the command line that can.
func TestAPlanThatTakesTooLong(t *testing.T) {
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	stopped := []view.Summary{{OrderID: "o"}}
	w := httptest.NewRecorder()
	grouping(t, &stopped, &stopped).ServeHTTP(w,
		httptest.NewRequestWithContext(over, http.MethodGet, "/bulk?command=resubmit&step=charge", http.NoBody))
	require.Equal(t, http.StatusBadGateway, w.Code)
	require.Contains(t, w.Body.String(), "resubmit --where step=charge")
}
