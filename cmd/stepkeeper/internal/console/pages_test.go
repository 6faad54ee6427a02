package console_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// deployed is the hash of the recorded definition.
var deployed = strings.Repeat("1", 32)

// Each page has a title, leads to all others, follows its own stream, and shows what outsiders wrote as text: their
// words in angle brackets make no elements.
func TestEveryPage(t *testing.T) {
	h := recordedPages(t)
	for path, title := range map[string]string{
		"/": "Overview", "/orders?workflow=order": "Orders", "/orders?step=charge&code=http-503": "Orders",
		"/orders/busy?show=timeline": "busy", "/orders/busy?show=events": "busy", "/orders/busy?show=messages": "busy",
		"/orders/timed?show=timeline": "timed", "/orders/broken": "broken", "/orders/undone": "undone",
		"/orders/closed?show=timeline": "closed", "/orders/erased": "erased", "/incidents": "Incidents",
		"/waiting": "Waiting", "/answers": "Answers", "/workflows": "Workflows", "/workflows/order": "order",
		"/workflows/gone": "gone", "/health": "Health", "/orders/broken/move": "Move broken",
		"/orders/closed/move?definition=" + strings.Repeat("3", 32): "Move closed",
		"/dead-letters": "Dead letters", "/dead-letters/quarantine?body=1": "Quarantine",
		"/dead-letters/control": "Dead letters of control", "/bulk?command=undo&step=charge": "Bulk",
		"/bulk": "Bulk",
	} {
		t.Run(path, func(t *testing.T) {
			p := visit(t, h, path)
			require.Equal(t, http.StatusOK, p.status)
			require.Equal(t, title+" · Stepkeeper", texts(elements(p.tree, named("title")))[0])
			require.Equal(t, "/live"+path, attribute(p.one(named("main")), "hx-sse:connect"))
			require.Equal(t, []string{
				"Overview", "Orders", "Incidents", "Waiting", "Answers", "Bulk", "Dead letters",
				"Workflows", "Health",
			}, texts(elements(p.one(named("nav")), named("a"))))
			require.Empty(t, elements(p.tree, named("is", "in", "gone", "not", "denied", "steps", "x", "closed")))
			for _, n := range elements(p.tree) {
				for _, a := range n.Attr {
					require.False(t, a.Key == "style" || strings.HasPrefix(a.Key, "on"), "%s=%s", a.Key, a.Val)
				}
			}
		})
	}
}

func TestOverview(t *testing.T) {
	p := visit(t, recordedPages(t), "/")
	for id, want := range map[string]string{
		"count-Processing":   "Processing1",
		"count-Compensating": "Compensating1",
		"count-Error":        "Error1",
		"overdue":            "Overdue2due 2026-03-01 11:55:00 UTC",
		"rate":               "Ended per minute70",
		"oldest":             "Oldest running order2026-03-01 12:00:00 UTC",
		"verdict":            "6 things need you. 1 order stopped, the first 2026-03-01 12:00:31 UTC.",
	} {
		require.Equal(t, want, p.byID(id))
	}
	require.Equal(t, []string{
		"1 order → /orders?children=on&code=http-503&state=Error&step=charge&workflow=order",
		"broken → /orders/broken",
		"Repair… → /bulk?code=http-503&command=resubmit&step=charge&workflow=order",
		"Show who waits → /waiting#agent-post", "Show who waits → /waiting#agent-payment",
		"Check the health → /health", "Show the workflow → /workflows/refund",
		"1 order → /orders?children=on&state=Processing&step=approve&workflow=order", "busy → /orders/busy",
		"Answer → /answers?step=approve&workflow=order",
		"Processing1 → /orders?children=on&state=Processing",
		"Compensating1 → /orders?children=on&state=Compensating",
		"Error1 → /orders?children=on&state=Error",
	}, p.links())
	require.Empty(t, p.actions())
	require.Equal(t, []string{
		"order: charge failed http-503 | 1 order | 2026-03-01 12:00:31 UTC | the bank <is> away broken | Repair…",
		"Queue requests-post has no consumer | 3 messages | 2026-03-01 12:00:33 UTC | " +
			"Its agent is not running. Start it. | Show who waits",
		"Agent payment does not call charge breaker-open | – | 2026-03-01 12:00:30 UTC | its circuit breaker is open | " +
			"Show who waits",
		"Orders are overdue | 2 orders | 2026-03-01 11:55:00 UTC | " +
			"The sweep of the Supervisor should have handled them. | Check the health",
		"Workflow file refund is refused | – | – | line 3: <steps> is missing | Show the workflow",
		"order: approve waits for an answer | 1 order | 2026-03-01 12:00:12 UTC | busy | Answer",
	}, p.rows("what needs you"))
	require.Equal(t, []string{
		"payment | 0 | – | 4 | paused charge: its circuit breaker is open, 2026-03-01 12:00:30 UTC | 1200 | 3",
		"post | 87 | 1m35s | 0 | called | not counted | not counted",
		"stock | <denied> | called | not counted | not counted",
	}, p.rows("agents"))
	require.Equal(t, []string{"gone | @daily UTC | 2026-03-02 00:00:00 UTC | 1 | – | 1"}, p.rows("schedules"))
	require.Contains(t, p.text(), "Not measured something is <not> measured")
}

// A chart has its numbers as a table too, in intervals that fit on the page. An interval that was not measured is a
// gap in the chart.
func TestCharts(t *testing.T) {
	p := visit(t, recordedPages(t), "/")
	for id, want := range map[string]string{
		"chart-ended":   "Orders that ended or stopped, per minute",
		"chart-orders":  "Orders in flight, and in Error",
		"chart-waiting": "Requests that wait, by agent",
	} {
		require.True(t, strings.HasPrefix(p.byID(id), want), p.byID(id))
	}
	rows := elements(p.one(with("id", "chart-ended-table")), named("tr"))
	require.Len(t, rows, 1+10)
	require.Equal(t, "2026-03-01 11:57:00 UTC 1 204", textOf(rows[1]))
	require.Equal(t, "2026-03-01 11:36:00 UTC 0 94", textOf(rows[8]), "of two of three minutes")
	drawn := attribute(p.one(with("id", "chart-ended-plot")), "data-chart")
	require.Contains(t, drawn, `"name":"Processed","color":"done","values":[40,41,42,43,44,45,46,null,48`)
}

func TestListOfOrders(t *testing.T) {
	h := recordedPages(t)
	broken := "broken | order | Error | 2026-03-01 12:00:00 UTC | 2026-03-01 12:00:31 UTC | 1 | charge: the bank <is> away"
	undone := "undone | order | Compensating | 2026-03-01 12:00:02 UTC | – | 0 | charge: the bank <is> away"
	t.Run("of a workflow", func(t *testing.T) {
		p := visit(t, h, "/orders?workflow=order")
		require.Equal(t, []string{
			"busy | order | Processing | 2026-03-01 12:00:00 UTC | – | 0 | " +
				"cool-off: waits for a time, began 2026-03-01 12:00:12 UTC, due 2026-03-01 12:01:30 UTC " +
				"approve: waits for an answer or event, began 2026-03-01 12:00:12 UTC " +
				"parcels: waits for child orders, began 2026-03-01 12:00:13 UTC " +
				"pack: waits for the next attempt, began 2026-03-01 12:00:12 UTC",
			broken, undone,
			"closed | order | Closed | 2026-03-01 12:00:01 UTC | 2026-03-01 12:00:50 UTC | 0 | ",
			"erased | order | Closed | 2026-03-01 12:00:01 UTC | 2026-03-01 12:00:50 UTC | 0 | reserve: http-422",
		}, p.rows("orders"))
		require.Contains(t, p.text(), "5 orders")
		require.Subset(t, p.links(), []string{
			"All → /orders?workflow=order",
			"Processing 1 → /orders?state=Processing&workflow=order",
			"Closed → /orders?state=Closed&workflow=order",
			"Clear → /orders",
			"broken → /orders/broken",
		})
		require.Empty(t, p.actions())
	})
	t.Run("of a step and an error code", func(t *testing.T) {
		p := visit(t, h, "/orders?step=charge&code=http-503")
		require.Equal(t, []string{broken, undone}, p.rows("orders"))
		require.Contains(t, p.text(), "2 orders")
		require.Contains(t, p.links(), "Error 1 → /orders?code=http-503&state=Error&step=charge")
		require.Equal(t, []string{"charge", "http-503"}, texts(elements(p.tree, func(n *html.Node) bool {
			return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "selected" })
		})), "the filter stays in the form")
	})
}

func TestIncidents(t *testing.T) {
	p := visit(t, recordedPages(t), "/incidents")
	require.Equal(t, []string{"order | charge | http-503 | 1 | 2026-03-01 12:00:31 UTC | 2026-03-01 12:00:31 UTC | " +
		"the bank <is> away broken Repair all…"}, p.rows("incidents"))
	require.Equal(t, []string{
		"1 → /orders?children=on&code=http-503&state=Error&step=charge&workflow=order",
		"broken → /orders/broken",
		"Repair all… → /bulk?code=http-503&command=resubmit&step=charge&workflow=order",
	}, p.links())
}

func TestWaiting(t *testing.T) {
	p := visit(t, recordedPages(t), "/waiting")
	require.Equal(t, []string{"unknown | 1 | 2026-03-01 12:00:12 UTC | busy | order pack (the next attempt): 1"},
		p.rows("orders that wait for agents"))
	require.Equal(t, []string{
		"an answer or event | – | order | approve | 1 | 2026-03-01 12:00:12 UTC | busy",
		"child orders | – | order | parcels | 1 | 2026-03-01 12:00:13 UTC | busy",
		"the next attempt | unknown | order | pack | 1 | 2026-03-01 12:00:12 UTC | busy",
		"a time | – | order | cool-off | 1 | 2026-03-01 12:00:12 UTC | busy",
	}, p.rows("what steps wait for"))
	require.Contains(t, p.links(), "1 → /orders?children=on&state=Processing&step=parcels&workflow=order")
}

// A question is asked of those who may answer it, and says who has answered.
func TestAnswers(t *testing.T) {
	p := visit(t, recordedPages(t), "/answers")
	question := p.byID("question-busy-approve")
	require.Contains(t, question, "2 people must agree")
	require.Contains(t, question, "For ann, ben")
	require.Contains(t, question, `ann answered "yes" 2026-03-01 12:00:40 UTC`)
	require.Contains(t, question, "Your name ann ben Comment")
	require.Equal(t, []string{"/orders/busy/command kind=answer step=approve round=1 run=0 number=0 by reason [yes] [no]"},
		p.actions())
}

func TestWorkflows(t *testing.T) {
	p := visit(t, recordedPages(t), "/workflows")
	require.Equal(t, []string{
		"order | " + deployed + " | orders | –",
		"refund |  | orders | line 3: <steps> is missing",
	},
		p.rows("workflows"))
	require.Equal(t, []string{"gone | @daily UTC | 2026-03-02 00:00:00 UTC | 1 | – | 1"}, p.rows("schedules"))
	require.Equal(t, []string{
		"order → /workflows/order", "orders → /orders?workflow=order",
		"refund → /workflows/refund", "orders → /orders?workflow=refund",
	}, p.links())
}

func TestWorkflow(t *testing.T) {
	h := recordedPages(t)
	inUse := []string{"unknown | 2 | 0 | 2026-03-01 12:00:00 UTC", deployed + " | 0 | 1 | 2026-03-01 12:00:00 UTC"}
	t.Run("deployed", func(t *testing.T) {
		p := visit(t, h, "/workflows/order")
		require.Contains(t, p.text(), "New orders run the definition "+deployed)
		require.Equal(t, []string{
			"reserve | stock: reserve | – | always | – | – | none | –",
			"charge | payment: charge | reserve | always | – | – | none | –",
			"cool-off | wait | reserve | always | – | – | none | –",
			"approve | approval | reserve | always | – | – | none | –",
			"parcels | each | reserve | always | – | – | none | –",
			"pack point of no return | stock: pack | reserve | always | – | – | none | –",
			"ship | post: ship | charge, cool-off, approve, parcels, pack | always | – | – | none | –",
		}, p.rows("steps"))
		require.Equal(t, inUse, p.rows("versions"))
		require.Contains(t, p.links(), deployed+" → /workflows/order?definition="+deployed)
	})
	t.Run("no longer deployed", func(t *testing.T) {
		p := visit(t, h, "/workflows/gone")
		require.Contains(t, p.text(), "no workflow <gone> is deployed")
		require.Equal(t, inUse, p.rows("versions"))
		require.Contains(t, p.text(), "Skipped 2026-03-01 00:00:00 UTC: the order before <x> has not ended")
	})
}

// The checks of the health page are those of doctor, each fault with what to do.
func TestHealth(t *testing.T) {
	p := visit(t, recordedPages(t), "/health")
	rows := p.rows("checks")
	require.Len(t, rows, 7)
	for i, want := range []string{
		"server | ok | it accepts orders",
		"message path | ok | the server received a test order and rejected it as expected",
		"version | failed | this program is (devel) tasks=3 messages=1, and the server was built from v1.0.0 ",
		"clock | ok | the clock here is within 30s of that of the server",
		"queue requests-post | failed | no consumer, 3 messages waiting, since 2026-03-01T12:00:33.000Z " +
			"start the agent post, or write the right name of the agent into the workflow",
		"quarantine | failed | 2 messages; the oldest of 2 looked at was sent ",
		"dead letters of replies | failed | 1 message; the oldest of 1 looked at was sent ",
	} {
		require.True(t, strings.HasPrefix(rows[i], want), rows[i])
	}
	require.Contains(t, rows[5], "look at them with `stepkeeper dead-letters list quarantine`")
	require.Equal(t, []string{"stepkeeper --stack shop doctor"}, p.advice())
}

// A move is offered if the server would accept it, with the differences between the definitions.
func TestMovePage(t *testing.T) {
	h := recordedPages(t)
	t.Run("possible", func(t *testing.T) {
		p := visit(t, h, "/orders/broken/move")
		require.Contains(t, p.text(), "The order can be moved now.")
		require.Equal(t, []string{
			"charge | timeout is 20s and was 10s | possible",
			"reserve | agent is another one | refused",
			"the workflow | grace is another one | possible",
		}, p.rows("differences"))
		require.Equal(t, []string{"/orders/broken/command kind=move definition=" + deployed + " number=1 by reason [Move]"},
			p.actions())
		require.Contains(t, p.text(), " move broken --definition "+deployed+" --simulate --dry-run")
	})
	t.Run("refused", func(t *testing.T) {
		p := visit(t, h, "/orders/closed/move?definition="+strings.Repeat("3", 32))
		require.Contains(t, p.text(), "The order cannot be moved: the order is <Closed>")
		require.Contains(t, p.text(), "None. Both definitions treat an order the same.")
		require.Empty(t, p.actions())
		require.NotContains(t, p.text(), "--simulate")
	})
}

func TestDeadLetterQueues(t *testing.T) {
	p := visit(t, recordedPages(t), "/dead-letters")
	require.Equal(t, []string{
		"control | 0 | – | –",
		"quarantine | 2 | 2026-03-01 12:00:30 UTC | 2026-03-15 12:00:30 UTC",
		"replies | 1 | 2026-03-01 12:00:30 UTC | 2026-03-15 12:00:30 UTC",
	}, p.rows("queues"))
	require.Equal(t, []string{
		"control → /dead-letters/control", "quarantine → /dead-letters/quarantine",
		"replies → /dead-letters/replies",
	}, p.links())
	require.Empty(t, p.actions())
}

// A message can be chosen, and its body is shown if it is asked for.
func TestDeadLettersOfAQueue(t *testing.T) {
	h := recordedPages(t)
	t.Run("with messages", func(t *testing.T) {
		p := visit(t, h, "/dead-letters/quarantine?body=1")
		shown := p.byID("letter-1")
		require.Contains(t, shown, "submission 1 of order busy")
		require.Contains(t, shown, "In quarantine: no workflow <gone> Can be redriven to intake.")
		require.Contains(t, shown, `"card": "(hidden)", "customer": { "name": "(hidden)" }, "note": "fragile"`)
		other := p.byID("letter-2")
		require.Contains(t, other, "Cannot be redriven to intake: there is no workflow gone")
		require.NotContains(t, other, "fragile")
		require.Contains(t, p.links(), "Show the body → /dead-letters/quarantine?body=2#letter-2")
		require.Equal(t, []string{"/dead-letters/quarantine id id by reason [Redrive selected] [Discard selected]"},
			p.actions())
		require.Equal(t, []string{
			"stepkeeper --stack shop dead-letters list quarantine",
			`stepkeeper --stack shop dead-letters redrive quarantine --all --reason "…"`,
		}, p.advice())
	})
	t.Run("without", func(t *testing.T) {
		p := visit(t, h, "/dead-letters/control")
		require.Contains(t, p.text(), "No messages. A message appears here after it failed too often.")
		require.Empty(t, p.actions())
	})
}

// A bulk command is sent from its plan, to the orders that the plan shows.
func TestBulkPlan(t *testing.T) {
	h := recordedPages(t)
	t.Run("of a selection", func(t *testing.T) {
		p := visit(t, h, "/bulk?command=undo&step=charge")
		require.Equal(t, "1 what it did would be undone: broken", p.byID("plan"))
		require.Len(t, p.actions(), 1)
		require.Regexp(t, "^/bulk seen=[0-9a-f]{64} command=undo step=charge by reason canary rate stop-at "+
			`\[Send undo to 1 order\]$`, p.actions()[0])
		require.Equal(t, []string{`stepkeeper --stack shop undo --where step=charge --reason "…"`}, p.advice())
	})
	t.Run("of no selection", func(t *testing.T) {
		p := visit(t, h, "/bulk")
		require.Empty(t, p.actions())
		require.Empty(t, p.advice())
		require.Contains(t, p.text(), "Command resubmit undo cancel resolve move close")
	})
}
