package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// redacted is the recorded order as the pages show it.
const redacted = `{ "customer": { "name": "(hidden)" }, "lines": [ { "card": "(hidden)", "sku": "a-1" } ], ` +
	`"total": 120 }`

// The page of an order offers the commands that the order accepts in its state, and no other.
func TestActionsOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	for id, x := range map[string]struct{ actions, advice []string }{
		"busy": {
			[]string{
				"/orders/busy/command kind=answer step=approve round=1 run=0 number=0 by reason [yes] [no]",
				"/orders/busy/command kind=cancel number=3 by reason [Cancel]",
			},
			[]string{"cancel busy", "watch busy", "answer busy approve yes"},
		},
		"broken": {
			[]string{
				"/orders/broken/command kind=resubmit number=1 by reason [Resubmit]",
				"/orders/broken/command kind=undo number=1 by reason [Undo]",
				"/orders/broken/command kind=resolve number=1 step=charge fact=happened output by reason " +
					"[Resolve charge: happened]",
				"/orders/broken/command kind=resolve number=1 step=charge fact=not-happened by reason " +
					"[Resolve charge: not-happened]",
				"/orders/broken/command kind=close number=1 by reason [Close]",
			},
			[]string{
				"resubmit broken", "undo broken",
				"resolve broken charge happened", "resolve broken charge not-happened", "close broken --reason TEXT",
				"resubmit broken --definition latest", "move broken --definition latest --dry-run",
			},
		},
		"undone": {nil, []string{"watch undone"}},
		"timed":  {nil, []string{"watch timed"}},
		"closed": {nil, nil},
		"erased": {nil, nil},
	} {
		t.Run(id, func(t *testing.T) {
			p := visit(t, h, "/orders/"+id)
			require.Equal(t, x.actions, p.actions())
			var lines []string
			for _, line := range x.advice {
				lines = append(lines, "stepkeeper --stack shop "+line)
			}
			require.Equal(t, lines, p.advice())
		})
	}
	t.Run("who closes says why", func(t *testing.T) {
		p := visit(t, h, "/orders/broken")
		forms := elements(p.tree, named("form"), with("method", "post"))
		for _, field := range elements(forms[len(forms)-1], named("input"), func(n *html.Node) bool {
			return attribute(n, "type") != "hidden"
		}) {
			require.True(t, slices.ContainsFunc(field.Attr, func(a html.Attribute) bool { return a.Key == "required" }),
				attribute(field, "name"))
		}
	})
}

func TestFactsOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	for id, x := range map[string]struct {
		facts []string
		says  string // what stopped it; "" if nothing did
	}{
		"busy": {[]string{
			"Workflow: order", "Received: 2026-03-01 12:00:00 UTC",
			"Deadline: 2026-03-01 13:00:00 UTC",
		}, ""},
		"broken": {[]string{
			"Workflow: order", "Received: 2026-03-01 12:00:00 UTC", "Newer definition: Compare and move",
			"Stopped: 2026-03-01 12:00:31 UTC", "Run: 1", "Direction: forward",
		}, "charge: http-503 the bank <is> away"},
		"undone": {
			[]string{"Workflow: order", "Received: 2026-03-01 12:00:02 UTC", "Reason for undo: failure"},
			"charge: http-503 the bank <is> away",
		},
		"closed": {[]string{
			"Workflow: order", "Received: 2026-03-01 12:00:01 UTC", "Ended: 2026-03-01 12:00:50 UTC",
			"Child of: busy, step parcels, item 1", "Closed by: ben: paid <in> cash",
		}, ""},
		"erased": {[]string{
			"Workflow: order", "Received: 2026-03-01 12:00:01 UTC", "Ended: 2026-03-01 12:00:50 UTC",
			"Closed by: ben", "Erased by: ann: asked to 2026-03-01 12:01:00 UTC",
		}, "reserve: http-422"},
	} {
		t.Run(id, func(t *testing.T) {
			p := visit(t, h, "/orders/"+id)
			require.Equal(t, x.facts, p.facts())
			require.Contains(t, p.text(), x.says)
			require.Contains(t, p.text(), "Order "+redacted)
		})
	}
}

// One command at most is suggested. The other ones are folded, because one that ends an order, or a fact, needs a person.
func TestOneCommandIsSuggested(t *testing.T) {
	h := recordedPages(t)
	for id, want := range map[string][]string{"broken": {"Resubmit"}, "busy": {}, "undone": {}} {
		p := visit(t, h, "/orders/"+id)
		var suggested []string
		for _, n := range elements(p.tree, with("class", "primary")) {
			suggested = append(suggested, textOf(elements(n, named("button"))[0]))
		}
		require.ElementsMatch(t, want, suggested, id)
		for _, n := range elements(p.tree, with("class", "other")) {
			require.Equal(t, "next", attribute(n, "name"), "one of them is open at a time")
		}
	}
}

// The page says what the order waits for, since when, until when, and which steps come after that.
func TestWaitsOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	for id, want := range map[string][]string{
		"busy": {
			"cool-off waits for a time, began 2026-03-01 12:00:12 UTC, due 2026-03-01 12:01:30 UTC; then ship",
			"approve waits for an answer or event, began 2026-03-01 12:00:12 UTC, due 2026-03-01 12:10:00 UTC; then ship",
			"parcels waits for child orders, began 2026-03-01 12:00:13 UTC; then ship",
			"pack waits for the next attempt (stock), began 2026-03-01 12:00:12 UTC, due 2026-03-01 12:01:10 UTC; then ship",
		},
		"undone": {"reserve waits for an undo (stock), began 2026-03-01 12:00:03 UTC, due 2026-03-01 12:01:20 UTC"},
	} {
		require.Equal(t, want, texts(elements(visit(t, h, "/orders/"+id).one(with("id", "waits")), named("li"))), id)
	}
	for _, id := range []string{"broken", "closed", "erased"} {
		require.Empty(t, elements(visit(t, h, "/orders/"+id).tree, with("id", "waits")), "%s waits for nothing", id)
	}
}

// The members of a step with any stand in one frame, the winner filled and the loser struck through. A step that is
// repeated links to the iteration that runs.
func TestRacesAndLoopsOfAnOrder(t *testing.T) {
	order := `{"orderId":"o","state":"Processing","created":"2026-03-01T12:00:00.000Z","attempts":[{"step":"first-two","attempt":1,
		"operation":"do","began":"2026-03-01T12:00:01.000Z","ended":"2026-03-01T12:00:02.000Z","outcome":"superseded"}],"steps":[
		{"name":"first-one","state":"Processed","agent":"one","operation":"do","after":[]},
		{"name":"first-two","state":"UndoWait","agent":"two","operation":"do","withdrawn":"2026-03-01T12:00:02.000Z",
			"firstAt":"2026-03-01T12:00:01.000Z","claimedAt":"2026-03-01T12:00:01.000Z"},
		{"name":"first-kept","state":"Compensated","kind":"event","withdrawn":"2026-03-01T12:00:02.000Z",
			"firstAt":"2026-03-01T12:00:01.000Z","claimedAt":"2026-03-01T12:00:01.000Z"},
		{"name":"first","state":"Settling","kind":"any","any":{"members":["one","two","kept"],"enough":1,"won":["one"]}},
		{"name":"pages","state":"Waiting","kind":"block","after":["first"],
			"lateAt":"2026-03-01T13:00:00.000Z","onDeadline":"continue",
			"reminders":{"sent":2,"atMost":5,"next":"2026-03-01T12:30:00.000Z"},"children":{"workflow":"w~pages","count":3,
			"ended":2,"running":1,"failed":0,"tolerate":0,"open":["o~pages~2.1"],"repeat":{"atMost":9,"until":"result.done"}}}]}`
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/orders/o" {
			http.Error(w, `{"status":404,"code":"not-found","detail":"none"}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(order))
	})
	p := visit(t, pagesOf(clientOf(t, server)), "/orders/o")
	require.Len(t, elements(p.one(graph), with("class", "frame")), 1)
	require.Len(t, elements(p.one(graph), with("class", "node processed won")), 1)
	require.Len(t, elements(p.one(graph), with("class", "node undowait lost")), 1)
	bars := p.drawn(gantt)
	require.Contains(t, bars, "first-two: attempt 1: superseded , 1.0s")
	require.Contains(t, bars, "first-kept: waiting for an answer, 1.0s", "it ends with the decision")
	require.Contains(t, p.byID("step-first"), "First to end well one")
	require.Contains(t, p.byID("step-first-two"), "No longer wanted since 2026-03-01 12:00:02 UTC")
	require.Contains(t, p.byID("step-pages"), "Iterations iteration 3 of at most 9; until: result.done Running o~pages~2.1")
	require.Len(t, elements(p.tree, with("href", "/orders/o~pages~2.1")), 1)
	require.Contains(t, p.byID("step-pages"), "Late 2026-03-01 13:00:00 UTC, then continue "+
		"Reminders 2 of 5 sent, the next one 2026-03-01 12:30:00 UTC")
}

// Each step is shown with its service, its times, its data and the last failure.
func TestStepsOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	p := visit(t, h, "/orders/busy")
	require.Equal(t, []string{
		"reserve: processed, stock: reserve", "charge: failed, payment: charge", "cool-off: waiting, wait",
		"approve: waiting, approval", "parcels: processing, each", "pack: pending, stock: pack",
		"ship: pending, post: ship",
	}, p.drawn(graph))
	for id, want := range map[string]string{
		"step-reserve": "reserve Processed stock: reserve, 2 attempts First attempt 2026-03-01 12:00:01 UTC " +
			"Last attempt 2026-03-01 12:00:09 UTC Done 2026-03-01 12:00:12 UTC Service idempotent Undo release " +
			`Input{ "customer": { "name": "(hidden)" }, "sku": "a-1" }Output{ "place": "b7" }`,
		"step-charge": "charge Failed payment: charge First attempt 2026-03-01 12:00:20 UTC " +
			"Last attempt 2026-03-01 12:00:20 UTC http-503 the bank <is> away 2026-03-01 12:00:30 UTC",
		"step-cool-off": "cool-off Waiting wait First attempt 2026-03-01 12:00:12 UTC " +
			"Last attempt 2026-03-01 12:00:12 UTC Waits until 2026-03-01 12:01:30 UTC",
		"step-approve": "approve Waiting approval First attempt 2026-03-01 12:00:12 UTC " +
			"Last attempt 2026-03-01 12:00:12 UTC Complete by 2026-03-01 12:10:00 UTC",
		"step-parcels": "parcels Processing each First attempt 2026-03-01 12:00:13 UTC " +
			"Last attempt 2026-03-01 12:00:13 UTC Child orders 2 of 4 children have ended, 2 running",
		"step-pack": "pack Pending stock: pack, point of no return First attempt 2026-03-01 12:00:12 UTC " +
			"Last attempt 2026-03-01 12:00:12 UTC Waits until 2026-03-01 12:01:10 UTC",
		"step-ship": "ship Pending post: ship",
	} {
		require.Equal(t, want, p.byID(id))
	}
	require.Contains(t, p.text(), "Queue requests-post has no consumer since 2026-03-01 12:00:33 UTC. "+
		"nothing receives from it start the agent")
	require.Equal(t, []string{
		"reserve | 1 | stock | 2026-03-01 12:00:02 UTC | 2026-03-01 12:00:05 UTC | retry-later busy",
		"reserve | 2 | stock | 2026-03-01 12:00:09 UTC | 2026-03-01 12:00:09 UTC | failed closed",
	}, p.rows("attempts"))
	require.Contains(t, p.text(), "Earlier attempts: 2 failed, 1 retry-later, 0 overdue, 0 superseded.")
	stopped := visit(t, h, "/orders/broken")
	require.Equal(t, []string{"reserve: processed, stock: reserve", "charge: ✕ failed, payment: charge"},
		stopped.drawn(graph))
}

// The history of an order is shown as its commands, its timeline, all events, or its messages.
func TestHistoryOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	moments := func(t *testing.T, path string) []string {
		t.Helper()
		p := visit(t, h, path)
		require.Subset(t, p.links(), []string{
			"Commands → /orders/busy#history-title", "Timeline → /orders/busy?show=timeline#history-title",
			"Events → /orders/busy?show=events#history-title", "Messages → /orders/busy?show=messages#history-title",
		})
		var all []string
		for _, n := range elements(p.one(with("class", "moments")), named("li")) {
			all = append(all, strings.TrimPrefix(textOf(n), "2026-03-01 12:00:"))
		}
		return all
	}
	t.Run("commands", func(t *testing.T) {
		require.Equal(t, []string{"19 UTC resubmit accepted"}, moments(t, "/orders/busy"))
	})
	t.Run("timeline", func(t *testing.T) {
		require.Equal(t, []string{
			"00 UTC received", "01 UTC reserve first claimed", "09 UTC reserve claimed, attempt 2",
			"12 UTC reserve Processed", "12 UTC cool-off claimed, attempt 0", "12 UTC approve claimed, attempt 0",
			"12 UTC pack claimed, attempt 1", "13 UTC parcels claimed, attempt 0",
			"19 UTC resubmit accepted (ada) the bank is back", "20 UTC charge claimed, attempt 1",
			"30 UTC charge failed, http-503 the bank <is> away",
		}, moments(t, "/orders/busy?show=timeline"))
	})
	t.Run("events", func(t *testing.T) {
		require.Equal(t, []string{
			"00 UTC received", "01 UTC reserve first claimed", "02 UTC reserve attempt 1 began stock",
			"05 UTC reserve attempt 1: retry-later busy", "09 UTC reserve claimed, attempt 2",
			"09 UTC reserve attempt 2 began stock", "09 UTC reserve attempt 2: failed closed",
			"12 UTC reserve Processed", "12 UTC cool-off claimed, attempt 0", "12 UTC approve claimed, attempt 0",
			"12 UTC pack claimed, attempt 1", "13 UTC parcels claimed, attempt 0",
			"19 UTC resubmit accepted (ada) the bank is back", "20 UTC charge claimed, attempt 1",
			"30 UTC charge failed, http-503 the bank <is> away", "40 UTC approve answered by ann",
			"2026-03-01 12:01:10 UTC pack next attempt (planned)", "2026-03-01 12:01:30 UTC cool-off waits until",
			"2026-03-01 13:00:00 UTC deadline",
		}, moments(t, "/orders/busy?show=events"))
	})
	t.Run("messages", func(t *testing.T) {
		require.Equal(t, []string{
			"2026-03-01 12:00:00 UTC | received | order | - | - | -",
			"2026-03-01 12:00:00 UTC | sent | status started | shop | - | number 1",
			"2026-03-01 12:00:02 UTC | sent | request reserve | stock | reserve, attempt 1 | " +
				"reply due 2026-03-01 12:00:32 UTC",
			"2026-03-01 12:00:05 UTC | received | reply retry-later | stock | reserve, attempt 1 | busy",
			"2026-03-01 12:00:19 UTC | received | command resubmit | ada | - | accepted, the bank <is> back",
			"2026-03-01 12:00:31 UTC | sent | alert Error | - | - | not known to be sent: again 2026-03-01 12:01:01 UTC",
		}, visit(t, h, "/orders/busy?show=messages").rows("messages"))
	})
}

// The bars of an order show what each step did, or waited for, and how long.
func TestTimesOfAnOrder(t *testing.T) {
	h := recordedPages(t)
	for id, bars := range map[string][]string{
		"busy": {
			"reserve: not started, 1.0s",
			"reserve: backoff, 1.0s",
			"reserve: attempt 1: retry-later busy, 3.0s",
			"reserve: backoff, 4.0s",
			"reserve: attempt 2, 3.0s",
			"charge: not started, 8.0s",
			"cool-off: waiting for a time, 48.0s",
			"approve: waiting for an answer, 48.0s",
			"parcels: not started, 1.0s",
			"parcels: waiting for child orders, 47.0s",
			"pack: backoff until the next attempt, 48.0s",
		},
		"broken": {
			"reserve: not started, 1.0s",
			"reserve: backoff, 8.0s",
			"reserve: attempt 2, 3.0s",
			"charge: not started, 8.0s",
			"charge: waiting for the operator since 2026-03-01 12:00:31 UTC, 29.0s",
		},
		"undone": {
			"reserve: not started, 1.0s",
			"reserve: attempt 1, 1.0s",
			"reserve: undoing, 56.0s",
		},
		"closed": {
			"reserve: backoff, 8.0s",
			"reserve: attempt 2, 3.0s",
		},
		"erased": nil,
		"timed": {
			"tried-three-times: not started, 2.0s",
			"tried-three-times: attempt 1: retry-later busy, 3.0s",
			"tried-three-times: backoff, 4.0s",
			"tried-three-times: attempt 2: failed http-503, 3.0s",
			"tried-three-times: attempt 3, 8.0s",
			"tried-three-times: undo, at the latest, 15.0s",
			"claimed-again: not started, 3.0s",
			"claimed-again: backoff, 7.0s",
			"claimed-again: attempt 2, 4.0s",
			"being-undone: not started, 2.0s",
			"being-undone: attempt 2, 14.0s",
			"being-undone: undoing, 14.0s",
			"waits-for-its-undo: not started, 1.0s",
			"waits-for-its-undo: attempt 1, 1.0s",
			"waits-for-its-undo: undoing, 28.0s",
			"backs-off-in-its-undo: not started, 4.0s",
			"backs-off-in-its-undo: undoing, 13.0s",
			"undone-first: attempt 1, 1.0s",
			"undone-first: undo, at the latest, 10.0s",
			"undone-alone: not started, 4.0s",
			"undone-alone: undo, at the latest, 3.0s",
			"went-on: not started, 12.0s",
			"went-on: attempt 1, 1.0s",
			"event: not started, 5.0s",
			"event: waiting for an answer, 20.0s",
			"child: not started, 6.0s",
			"child: backoff, 2.0s",
			"child: waiting for child orders, 52.0s",
			"handed-back: not started, 7.0s",
			"backs-off: not started, 7.0s",
			"backs-off: backoff until the next attempt, 53.0s",
		},
	} {
		t.Run(id, func(t *testing.T) { require.Equal(t, bars, visit(t, h, "/orders/"+id).drawn(gantt)) })
	}
}
