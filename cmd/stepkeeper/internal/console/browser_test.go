package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
)

// The variables that `make test-console` sets: the browser's program, the source of axe-core, and a folder
// for screenshots.
const (
	browserVariable = "STEPKEEPER_CHROMIUM"
	axeVariable     = "STEPKEEPER_AXE"
	shotsVariable   = "STEPKEEPER_SCREENSHOTS"
)

// tab is a page in a real browser.
type tab struct {
	*world
	ctx      context.Context
	mu       sync.Mutex
	problems []string // errors of the page's scripts, and refusals of the browser
}

// watch is a script that collects violations of the content security policy, and measures how far the layout
// has moved.
const watch = `window.violations = []; window.shifted = 0; window.moved = [];
document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
new PerformanceObserver((l) => {
	for (const e of l.getEntries()) if (!e.hadRecentInput) {
		shifted += e.value;
		moved.push(...e.sources.map((s) => [JSON.stringify(s.previousRect), JSON.stringify(s.currentRect),
			(s.node?.outerHTML ?? s.node?.textContent ?? "").slice(0, 100)].join(" ")));
	}
}).observe({type: "layout-shift", buffered: true});`

func newTab(t *testing.T) *tab {
	t.Helper()
	program := os.Getenv(browserVariable)
	if program == "" {
		t.Skipf("SKIP: this test needs Chromium and %s; `make test-console` runs it", browserVariable)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-component-update", true))
	allocated, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(cancel)
	b := &tab{world: newWorld(t, func(o *console.Options) { o.Folder = t.TempDir() }), ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.receive))
	b.do(call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: viewersZone}))
	b.do(call(page.AddScriptToEvaluateOnNewDocument,
		page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}), chromedp.EmulateViewport(1280, 900))
	return b
}

// call turns a command of the browser's protocol into an action.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, command, params)
		return chromedp.Void{}, err
	}
}

func (b *tab) receive(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.problems = append(b.problems, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Text)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, steps...))
}

func evaluate[T any](b *tab, script string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(b, err)
	return v
}

func (b *tab) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.url + path))
	b.live()
}

// viewersZone is the time zone of the browser. Its offset is not a whole hour, and no machine that runs the
// tests has it.
const viewersZone = "Pacific/Chatham"

// live waits until the page's stream is open, and its times are in the viewer's zone.
func (b *tab) live() {
	b.Helper()
	b.until("the page is live", func() bool {
		return b.seen(`document.getElementById("link")?.textContent ?? ""`) == "live"
	})
	b.until("its times are of the zone "+viewersZone, func() bool { return b.wrongTime() == "" })
}

// wrongTime returns a time of the page that is not written in the viewer's zone, or "" if all times are.
func (b *tab) wrongTime() string {
	b.Helper()
	zone, err := time.LoadLocation(viewersZone)
	require.NoError(b, err)
	times := b.seen(`JSON.stringify([...document.querySelectorAll("time[datetime]:not(.ago)")].map((t) => [t.getAttribute("datetime"), t.textContent]))`)
	var all [][2]string
	if err := json.Unmarshal([]byte(times), &all); err != nil {
		return "the browser goes to another address"
	}
	for _, x := range all {
		at, err := time.Parse(time.RFC3339, x[0])
		if want := at.In(zone).Format(time.DateTime); err != nil || x[1] != want {
			return fmt.Sprintf("%s is %q, want %q", x[0], x[1], want)
		}
	}
	return ""
}

// seen returns a text of the page, or "" while the browser loads another address.
func (b *tab) seen(script string) string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
	if err != nil {
		return ""
	}
	return text
}

func (b *tab) text() string {
	return b.seen(`(document.getElementById("page") ?? document.body).innerText`)
}

func (b *tab) shows(texts ...string) {
	b.Helper()
	for _, text := range texts {
		last := ""
		found := false
		defer func() {
			if !found {
				b.Logf("instead of %q the page shows\n%s", text, last)
			}
		}()
		b.until("the page shows "+text, func() bool { last = b.text(); return strings.Contains(last, text) })
		found = true
	}
}

func (b *tab) shot(name string) {
	b.Helper()
	folder := os.Getenv(shotsVariable)
	if folder == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o600)
	}
	require.NoError(b, err)
}

// changed is like clean, after an action: its result may appear above other parts of the page, and move them.
func (b *tab) changed(what string) {
	b.Helper()
	// the browser reports it some frames later
	for before, now := -1.0, 0.0; now != before; time.Sleep(200 * time.Millisecond) {
		before = now
		now = evaluate[float64](b, `shifted`)
	}
	evaluate[bool](b, `shifted = 0; true`)
	b.clean(what)
}

// clean checks that the browser refused nothing, no script failed, the layout did not move, and axe finds
// nothing.
func (b *tab) clean(what string) {
	b.Helper()
	b.mu.Lock()
	problems := b.problems
	b.problems = nil
	b.mu.Unlock()
	problems = append(problems, evaluate[[]string](b, `violations`)...)
	for _, p := range problems {
		b.Errorf("%s: %s", what, p)
	}
	require.LessOrEqual(b, evaluate[float64](b, `shifted`), 0.02, "%s: these moved: %q", what, evaluate[[]string](b, `moved`))
	source, err := os.ReadFile(os.Getenv(axeVariable))
	require.NoError(b, err)
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(source)+"; true"))
	require.NoError(b, err)
	for _, f := range evaluate[[]string](b, `axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html).join(" ")))`) {
		b.Errorf("%s: axe: %s", what, f)
	}
}
