package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// longID is as long as an order's ID may be, without a place to break a line.
var longID = strings.Repeat("w", 128)

// prepared returns a world with orders of every kind.
func (b *tab) prepared() {
	b.Helper()
	b.says = "the bank declined the card (code 05)"
	b.refusing("charge")
	b.submit("order", ids("web-2026", 12)...)
	b.submit("order", longID)
	b.submit("expense", "expense-1", "expense-2")
	b.until("all of them have stopped", func() bool {
		_, body := b.get("/orders/" + longID)
		return strings.Contains(body, `class="state error"`)
	})
	b.refusing("ship")
	b.submit("order", ids("shop", 5)...)
	b.held(ids("shop", 5)...)
	b.giveUp(port.Quarantine, quarantined("o-1", "order"), quarantined("o-2", "gone"))
}

// Every page, in light, in dark and on a phone, is live, has no finding of axe, and loads nothing that the
// browser refuses.
func TestBrowserPagesAreAccessible(t *testing.T) {
	b := newTab(t)
	b.prepared()
	for _, p := range []struct{ name, path, text string }{
		{"overview", "/", "need you"},
		{"orders", "/orders", "web-2026-000"},
		{"order", "/orders/web-2026-003", "What to do next"},
		{"order-long", "/orders/" + longID, "What to do next"},
		{"incidents", "/incidents", "charge"},
		{"waiting", "/waiting", "an agent's reply"},
		{"answers", "/answers", "approve"},
		{"bulk", "/bulk?command=resubmit&step=charge", "Send resubmit to 13 orders"},
		{"bulk-none", "/bulk/none", "processes no list"},
		{"workflows", "/workflows", "expense"},
		{"health", "/health", "it accepts orders"},
		{
			"workflow", "/workflows/order",
			"Definitions in use",
		},
		{"move", "/orders/web-2026-003/move", "After the move"},
		{"missing", "/orders/nothing", "There is no such order."},
		{"bad-filter", "/orders?older=soon", "write a duration like"},
		{"empty", "/orders?state=Closed", "No order matches"},
		{"dead-letters", "/dead-letters", "quarantine"},
		{"quarantine", "/dead-letters/quarantine", "Cannot be redriven"},
		{"order-messages", "/orders/web-2026-003?show=messages", "sent alert Error"},
	} {
		b.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}),
			chromedp.EmulateViewport(1280, 900))
		b.open(p.path)
		b.shows(p.text)
		b.shot(p.name)
		b.clean(p.name)
		b.do(call(emulation.SetEmulatedMedia,
			emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: "dark"}, {Name: "prefers-reduced-motion", Value: "reduce"},
				},
			}),
			chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
		b.open(p.path)
		b.shows(p.text)
		b.shot(p.name + "-phone-dark")
		b.clean(p.name + " on a phone, dark")
		require.Equal(b, "0", b.seen(`String([...document.querySelectorAll("*")].filter((e) => parseFloat(getComputedStyle(e).transitionDuration) || parseFloat(getComputedStyle(e).animationDuration)).length)`),
			"%s moves for someone who asked for less motion", p.name)
		b.fits(p.name)
		b.do(chromedp.EmulateViewport(1280, 900))
		b.clean(p.name + " on a desk, dark")
	}
}

// fits checks that a page needs no scroll bar at the bottom, from a small phone to a large screen. A width of 640 is
// that of a window of 1280 with all texts at 200 %. From 1200 on it shows all links of its head. It takes a picture of the
// page on a large screen.
func (b *tab) fits(name string) {
	b.Helper()
	for _, width := range []int64{320, 640, 1200, 1280, 1920, 2560} {
		b.do(chromedp.EmulateViewport(width, 1080))
		wide := evaluate[float64](b,
			`document.documentElement.scrollWidth - document.documentElement.clientWidth`)
		require.LessOrEqual(b, wide, float64(0), "%s at %d", name, width)
		links := evaluate[float64](b, `document.querySelector("nav").scrollWidth - document.querySelector("nav").clientWidth`)
		require.True(b, width < 1200 || links <= 0, "%s at %d hides links", name, width)
		if width == 1920 {
			b.shot(name + "-wide-dark")
		}
	}
}

// At 1280 pixels an order's page shows without scrolling what failed, the graph, the times and the command to send.
func TestBrowserOrderTellsItsStory(t *testing.T) {
	b := newTab(t)
	b.prepared()
	b.open("/orders/web-2026-003")
	for _, part := range []string{"#cause", ".graph .stopped", "#do-resubmit-- button", ".gantt"} {
		require.Less(t, evaluate[float64](b, `document.querySelector("`+part+`").getBoundingClientRect().bottom`),
			900.0, part)
	}
	require.InDelta(t, evaluate[float64](b, `document.querySelector("#time-title").parentElement.clientWidth - 32`),
		evaluate[float64](b, `document.querySelector(".gantt").clientWidth`), 1, "the chart fills its place")
	b.do(chromedp.Click("#do-undo-- summary"))
	b.do(chromedp.SendKeys("#do-undo-- input[name=by]", "ada"), chromedp.Click("#do-undo-- form button:not(.copy)"))
	b.shows("undo was accepted")
	b.open("/orders/web-2026-004#step-reserve")
	require.Equal(t, "ada", b.seen(`document.querySelector("#do-resubmit-- input[name=by]").value`), "who acts is remembered")
	require.True(t, evaluate[bool](b, `document.getElementById("step-reserve").open`), "the address names a folded part")
	title := b.seen(`document.querySelector(".facts time.ago").title`)
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d; \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$`, title)
}

// Changes appear by themselves, without a reload. Open parts and the contents of text fields stay.
func TestBrowserShowsChangesWithoutReload(t *testing.T) {
	b := newTab(t)
	b.submit("order", "o-1")
	b.held("o-1")
	b.open("/orders/o-1")
	b.shows("Processing")
	evaluate[bool](b, `window.same = true; document.getElementById("step-reserve").open = true`)
	close(b.hold)
	began := time.Now()
	b.shows("o-1 Processed")
	t.Logf("the page showed the end %v after it", time.Since(began).Round(time.Millisecond))
	require.True(t, evaluate[bool](b, `window.same === true && document.getElementById("step-reserve").open`), "the page was loaded anew, or what its reader had opened was closed")
	b.open("/orders?state=Processed")
	evaluate[bool](b, `document.getElementById("filter-id").focus(); document.getElementById("filter-id").value = "half"; true`)
	b.submit("order", "o-2")
	b.shows("1 new")
	got := evaluate[string](b,
		`document.activeElement.id + " " + document.activeElement.value`)
	require.Equal(t, "filter-id half", got, "the field has lost its focus or text")
	b.clean("followed")
}

// turn makes the browser's page hidden or visible, as another tab before it would.
func (b *tab) turn(hidden bool) {
	b.Helper()
	evaluate[bool](b, fmt.Sprintf(`Object.defineProperty(document, "hidden", {get: () => %v, configurable: true}); `+
		`document.dispatchEvent(new Event("visibilitychange"))`, hidden))
}

// A page that is hidden has no stream, so that nobody reads for it. When it is shown, it shows what has changed.
func TestBrowserReadsNothingForAHiddenPage(t *testing.T) {
	b := newTab(t)
	b.submit("order", "o-1")
	b.held("o-1")
	b.open("/orders/o-1")
	b.turn(true)
	b.until("the stream of the hidden page is closed", func() bool { return b.streams.Load() == 0 })
	close(b.hold)
	b.until("the order ends", b.inState("o-1", "Processed"))
	require.NotContains(t, b.text(), "o-1 Processed")
	b.turn(false)
	b.shows("o-1 Processed")

	b.do(call(page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `Object.defineProperty(document, "hidden", {get: () => true, configurable: true});`,
	}), chromedp.Navigate(b.url+"/orders"))
	b.until("the page before is gone", func() bool { return b.streams.Load() == 0 })
	opened := b.opened.Load()
	evaluate[bool](b, `new Promise((passed) => document.addEventListener("htmx:before:request", () => setTimeout(() => passed(true))))`)
	require.Equal(t, opened, b.opened.Load(), "a page that was opened behind another reads nothing")
	b.turn(false)
	b.live()
}

// A page also shows changes if htmx has run, and timers have fired, before the extension for streams is
// loaded.
func TestBrowserShowsChangesWithALateScript(t *testing.T) {
	b := newTab(t)
	script := late{"hx-sse", make(chan struct{})}
	b.late.Store(&script)
	b.do(call(page.Navigate, page.NavigateParams{URL: b.url + "/orders"})) // it does not wait for the scripts
	b.until("htmx has run", func() bool { return b.seen(`typeof htmx`) == "object" })
	evaluate[bool](b, `new Promise((passed) => setTimeout(() => passed(true)))`)
	close(script.until)
	b.live()
	b.submit("order", "o-1")
	b.shows("1 new")
}

// Times of each month are written in the viewer's zone, and so are times that are on another day there.
func TestBrowserWritesLocalTimes(t *testing.T) {
	b := newTab(t)
	b.open("/orders")
	for month := range 12 {
		at := time.Date(2026, time.Month(month+1), 28, 12, 34, 56, 0, time.UTC)
		for _, at := range []time.Time{at, at.AddDate(0, 1, 3-at.Day()), at.Add(3 * 24 * time.Hour)} {
			evaluate[bool](b, fmt.Sprintf(`(() => { const t = document.createElement("time"); t.dateTime = %q; document.body.append(t); return true; })()`, at.Format(time.RFC3339)))
		}
	}
	b.until("all times are written", func() bool { return b.wrongTime() == "" })
	require.Equal(t, 36, evaluate[int](b, `document.querySelectorAll("body > time").length`))
}

// A page shows that it is live only after the server has replied.
func TestBrowserIsNotLiveBeforeAReply(t *testing.T) {
	b := newTab(t)
	stream := late{"/live/", make(chan struct{})}
	b.late.Store(&stream)
	b.do(chromedp.Navigate(b.url + "/orders"))
	evaluate[bool](b, `new Promise((passed) => setTimeout(() => passed(true), 1500))`) // it looks each second
	require.Equal(t, "connecting", b.seen(`document.getElementById("link").textContent`))
	close(stream.until)
	b.live()
}

// The charts are drawn from the data of the page, follow its changes, and are drawn again for other colours
// and widths. Their tables have the same data, and stay open.
func TestBrowserChartsFollowTheData(t *testing.T) {
	b := newTab(t)
	close(b.hold)
	b.until("an interval has ended",
		func() bool { _, body := b.get("/"); return strings.Count(body, "data-chart") == 3 })
	b.open("/")
	drawn := func() string {
		return b.seen(`[...document.querySelectorAll(".plot canvas")].map((c) => c.width > 100 && c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0)).join()`)
	}
	b.until("three charts are drawn", func() bool { return drawn() == "true,true,true" })
	evaluate[bool](b, `window.canvas = document.querySelector("#chart-orders canvas"); document.getElementById("chart-ended-table").open = true`)
	all := 0
	for i, n := range []int{3, 8, 5} {
		b.submit("order", ids(fmt.Sprintf("batch-%d", i), n)...)
		all += n
		b.until("they have ended", func() bool {
			return b.seen(`String(JSON.parse(document.getElementById("chart-ended-plot").dataset.chart).lines.find((l) => l.name === "Processed").values.reduce((a, v) => a + v, 0))`) == strconv.Itoa(all)
		})
	}
	b.until("the table says so", func() bool {
		return b.seen(`String([...document.querySelectorAll("#chart-ended-table tbody tr td:last-child")].reduce((a, c) => a + Number(c.textContent.replace("–", "0")), 0))`) == strconv.Itoa(all)
	})
	b.says = "the bank declined the card (code 05)"
	b.refusing("charge")
	b.submit("order", ids("web-2026", 4)...)
	b.until("a line more is drawn", func() bool {
		return strings.Contains(b.seen(`document.getElementById("chart-ended-plot").dataset.chart`),
			`"Error"`)
	})
	require.True(t, evaluate[bool](b, `document.querySelector("#chart-orders canvas") === canvas && document.getElementById("chart-ended-table").open`), "an update removed a chart, or closed its table")
	evaluate[bool](b, `document.querySelector("#chart-ended .u-over").dispatchEvent(new MouseEvent("mousemove", {clientX: document.querySelector("#chart-ended .u-over").getBoundingClientRect().left + 60, clientY: 0, bubbles: true})); true`)
	b.until("what is under the mouse is reported", func() bool {
		return strings.Contains(b.seen(`document.querySelector("#chart-ended .readout").textContent`),
			"Processed")
	})
	b.changed("drawn")
	evaluate[bool](b, `document.getElementById("chart-ended-table").open = false; true`)
	b.shot("overview")
	b.do(call(emulation.SetEmulatedMedia,
		emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{
			Name:  "prefers-color-scheme",
			Value: "dark",
		}}}), chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.until("they are drawn anew", func() bool {
		return drawn() == "true,true,true" && evaluate[bool](b, `document.querySelector("#chart-orders canvas") !== canvas && [...document.querySelectorAll(".plot")].every((p) => p.querySelector(".uplot").offsetWidth === p.clientWidth)`)
	})
	b.changed("drawn on a phone, dark")
}

// A page shows that its server does not reply, and since when. It continues by itself when the server is
// back.
func TestBrowserReportsAnOutage(t *testing.T) {
	b := newTab(t)
	b.submit("order", "o-1")
	b.open("/orders")
	b.shows("o-1")
	address := strings.TrimPrefix(b.url, "http://")
	b.stop()
	b.until("the page says so", func() bool {
		return strings.HasPrefix(b.seen(`document.getElementById("link").textContent`),
			"no connection since ")
	})
	b.shot("silent")
	b.start(address)
	b.live()
	b.submit("order", "o-2")
	b.shows("1 new")
}

// The keyboard reaches every control.
func TestBrowserKeyboardReachesControls(t *testing.T) {
	b := newTab(t)
	b.submit("order", "o-1")
	b.open("/orders")
	b.do(chromedp.KeyEvent("/"))
	require.Equal(t, "filter-id", evaluate[string](b, `document.activeElement.id`))
	// the protocol's events type the key although the page has handled it
	evaluate[bool](b, `document.activeElement.value = ""; true`)
	b.do(chromedp.KeyEvent("o-1\r"))
	b.until("it is filtered", func() bool { return strings.Contains(b.seen(`location.search`), "id=o-1") })
	b.live()
	for key, path := range map[string]string{
		"i": "/incidents", "w": "/waiting", "a": "/answers",
		"b": "/bulk", "f": "/workflows", "e": "/health", "o": "/orders", "h": "/",
	} {
		b.do(chromedp.KeyEvent("g" + key))
		b.until("g and "+key+" lead to "+path, func() bool { return b.seen(`location.pathname`) == path })
		b.live()
	}
	b.open("/health")
	b.do(chromedp.KeyEvent("/"))
	b.until("a page without a search leads to one", func() bool {
		return b.seen(`location.pathname + document.activeElement.id`) == "/ordersfilter-id"
	})
	b.submit("order", "o-2")
	b.open("/orders")
	for _, x := range []struct{ key, at string }{{"j", "o-2"}, {"j", "o-1"}, {"j", "o-1"}, {"k", "o-2"}} {
		b.do(chromedp.KeyEvent(x.key))
		require.Equal(t, x.at, b.seen(`document.activeElement.textContent`), x.key)
	}
	b.do(chromedp.KeyEvent("?"))
	require.True(t, evaluate[bool](b, `document.getElementById("keys").open`))
	b.shot("keys")
	b.clean("the list of keys")
}

// Seven open pages do not block each other. A browser has six connections to a server, and the stream of each
// visible page uses one. If there are more streams than mostStreams, they take turns.
func TestBrowserTabsShareConnections(t *testing.T) {
	b := newTab(t)
	b.submit("order", "o-1")
	for range 7 {
		ctx, cancel := chromedp.NewContext(b.ctx)
		defer cancel()
		require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(b.url+"/orders/o-1")))
		title, err := chromedp.Run(ctx, chromedp.Title())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(title, "o-1"), title)
	}
}

// With 100,000 orders the listing opens as fast as with one.
func TestBrowserListsManyOrdersFast(t *testing.T) {
	b := newTab(t)
	close(b.hold)
	const many = 100_000
	var text strings.Builder
	for i := range many {
		line, err := json.Marshal(client.Order{
			ID: fmt.Sprintf("many-%06d", i), Workflow: "impossible",
			Content: map[string]int{"amount": i},
		})
		require.NoError(t, err)
		text.Write(line)
		text.WriteByte('\n')
	}
	require.NoError(t, b.client.SubmitMany(context.Background(), strings.NewReader(text.String()),
		func(r client.Result) {
			require.NoError(t, r.Err)
		}))
	for _, path := range []string{
		"/orders", "/orders?state=Error&workflow=impossible&step=charge",
		"/orders/many-000007", "/incidents", "/",
	} {
		began := time.Now()
		status, body := b.get(path)
		t.Logf("%d orders: %s took %v, %d kB", many, path, time.Since(began).Round(time.Millisecond),
			len(body)/1000)
		require.Equal(t, 200, status, path)
	}
	b.open("/orders")
	b.shows("many-0")
	b.open("/incidents")
	b.shows("10000")
	b.clean("many incidents")
}
