package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

var why = bulk.Action{Command: "resubmit", By: "ada", Reason: "the bank is back"}

// list makes a list of the orders that stopped at charge.
func (w *world) list(a bulk.Action, pace bulk.Pace) (file string) {
	w.Helper()
	where := bulk.Where{"step": "charge"}
	orders, err := bulk.Select(context.Background(), w.client, where, a)
	if err != nil {
		w.Fatal(err)
	}
	file = filepath.Join(w.TempDir(), "list.jsonl")
	if err := bulk.Create(file, bulk.Header{Bulk: "b-1", Action: a, Where: where, Made: time.Now(),
		Pace: pace}, orders); err != nil {
		w.Fatal(err)
	}
	return file
}

func (w *world) work(ctx context.Context, file string, report func(bulk.Report)) bulk.Report {
	w.Helper()
	l, err := bulk.Open(file)
	if err != nil {
		w.Fatal(err)
	}
	r, err := l.Run(ctx, w.client, report)
	if err = errors.Join(err, l.Close()); err != nil {
		w.Fatal(err)
	}
	return r
}

// verdicts returns the verdicts of an order's bulk command.
func (w *world) verdicts(id string) (all []client.Verdict) {
	w.Helper()
	o, err := w.client.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	for _, v := range o.Verdicts {
		if strings.HasPrefix(v.ID, "b-1:") {
			all = append(all, v)
		}
	}
	return all
}

// stopped lets some orders stop at charge.
func (w *world) stopped(n int) []string {
	w.Helper()
	close(w.hold)
	w.refusing("charge")
	all := ids("o", n)
	w.submit("order", all...)
	for _, id := range all {
		w.until(id+" stops", w.inState(id, "Error"))
	}
	return all
}

var quick = bulk.Pace{Canary: 3, Rate: 500, StopAt: 0.2, Patience: 20}

// The listed orders are repaired, and are reported as fixed when their step is done. Orders that stop
// meanwhile are left alone, and one that has changed since the list was made is refused. A second run of the
// list changes nothing.
func TestBulkFixes(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(12)
	file := w.list(why, quick)
	w.submit("order", "late")
	w.until("it stops", w.inState("late", "Error"))
	if _, err := w.client.Resubmit(context.Background(), all[11]); err != nil { // another operator
		t.Fatal(err)
	}
	w.until("it stops again", w.inState(all[11], "Error"))
	w.refusing("")
	r := w.work(context.Background(), file, nil)
	if slices.Sort(r.Fixed); !slices.Equal(r.Fixed, all[:11]) || !slices.Equal(r.Refused, all[11:]) ||
		len(r.Again)+len(r.Unknown)+len(r.NotSent) > 0 || r.Stopped != "" {
		t.Errorf("%+v", r)
	}
	for _, id := range all[:11] {
		w.until(id+" is processed", w.inState(id, "Processed"))
		if v := w.verdicts(id); len(v) != 1 || v[0].By != "ada" || v[0].Note != "the bank is back" {
			t.Errorf("%s: %+v", id, v)
		}
	}
	if !w.inState("late", "Error")() || len(w.verdicts("late")) > 0 {
		t.Error("an order that is not in the list was changed")
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if again := w.work(context.Background(), file, nil); len(again.Fixed) != 11 ||
		len(w.verdicts(all[0])) != 1 {
		t.Errorf("%+v", again)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("a list that is done was changed: %v", err)
	}
}

// If the first orders are not fixed, the commands for the rest are not sent.
func TestBulkStopsAtItsCanary(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(8)
	r := w.work(context.Background(), w.list(why, quick), nil)
	if len(r.Again) != 3 || len(r.NotSent) != 5 || !strings.Contains(r.Stopped,
		"of the canary was not fixed: failed again, ") || !strings.Contains(r.Stopped, "the card is") {
		t.Errorf("%+v", r)
	}
	for _, id := range all {
		if n := len(w.verdicts(id)); n != 0 != slices.Contains(r.Again, id) {
			t.Errorf("%s was sent %d commands", id, n)
		}
	}
}

// An order counts as fixed only when its step is done, not when its command is accepted.
func TestBulkWaitsForTheStep(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(2)
	w.refusing("")
	w.slow.Store(true)
	pace := quick
	pace.Canary, pace.Patience = 0, 0.3
	if r := w.work(context.Background(), w.list(why, pace), nil); len(r.Unknown) != 2 || len(r.Fixed) > 0 ||
		!w.inState(all[0], "Processing")() {
		t.Errorf("%+v", r)
	}
}

// Sending stops when too large a share has failed again. The list still waits for the orders that run.
func TestBulkStopsWhereTooManyFailAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.stopped(40)
	pace := quick
	pace.Canary, pace.Rate = 0, 20
	r := w.work(context.Background(), w.list(why, pace), nil)
	if n := len(r.Again); n < 5 || n > 30 {
		t.Errorf("%d failed again, want 5 to 30: %+v", n, r)
	}
	if got, want := len(r.NotSent), 40-len(r.Again); got != want {
		t.Errorf("%d were not sent, want %d: %+v", got, want, r)
	}
	stopped := regexp.MustCompile(`^([5-9]|[12]\d|30) of ([5-9]|[12]\d|30) failed again$`)
	if !stopped.MatchString(r.Stopped) {
		t.Errorf("it stopped because of %q, want %s", r.Stopped, stopped)
	}
	if len(r.Fixed) > 0 {
		t.Errorf("fixed: %+v, want none", r.Fixed)
	}
}

// After a crash the list continues: no order gets a second command, and none is left out.
func TestBulkGoesOnAfterACrash(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(20)
	w.refusing("")
	pace := quick
	pace.Canary, pace.Rate = 2, 50
	file := w.list(why, pace)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := w.work(ctx, file, func(n bulk.Report) {
		if len(n.Fixed) == 5 {
			cancel()
		}
	})
	if len(r.Fixed) == 20 || r.Stopped != "it was interrupted" {
		t.Fatalf("%+v", r)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The crashed process has not written the last results, and has written only half of a line.
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	cut := strings.Join(lines[:len(lines)-3], "") + `{"orderId":"o-0` + strings.Repeat("0", 10_000)
	if err := os.WriteFile(file, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	if r = w.work(context.Background(), file, nil); len(r.Fixed) != 20 || r.Stopped != "" {
		t.Errorf("%+v", r)
	}
	if text, err = os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("the file has a line that is not JSON: %.100s", line)
		}
	}
	for _, id := range all {
		if v := w.verdicts(id); len(v) != 1 || !v[0].Accepted {
			t.Errorf("%s: %+v", id, v)
		}
	}
}

// The rest of a list is sent at the rate of the list, like its first part. This includes commands that were
// being sent at the interruption.
func TestBulkGoesOnAtItsRate(t *testing.T) {
	w := newWorld(t, nil)
	w.stopped(12)
	w.refusing("")
	pace := quick
	pace.Canary, pace.Rate = 0, 20
	file := w.list(why, pace)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first := w.work(ctx, file, func(n bulk.Report) {
		if len(n.Fixed) == 2 {
			cancel()
		}
	})
	left := 12 - len(first.Fixed)
	began := time.Now()
	r := w.work(context.Background(), file, nil)
	if took, least := time.Since(began), time.Duration(left)*time.Second/20; left < 5 || len(r.Fixed) != 12 ||
		took < least {
		t.Errorf("%d were left, which take %v at least; they took %v: %+v", left, least, took, r)
	}
}

// Each kind of command is sent, and has its effect.
func TestBulkOfEachKind(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("impossible", ids("i", 3)...)
	for _, id := range ids("i", 3) {
		w.until(id+" stops", w.inState(id, "Error"))
	}
	all := w.stopped(2)
	pace := quick
	pace.Rate = 1000
	run := func(name string, where bulk.Where, a bulk.Action) bulk.Report {
		orders, err := bulk.Select(context.Background(), w.client, where, a)
		if err != nil {
			t.Fatal(err)
		}
		a.By, a.Reason = "ada", "settled by hand"
		file := filepath.Join(t.TempDir(), name)
		if err := bulk.Create(file, bulk.Header{Bulk: name, Action: a, Where: where, Made: time.Now(),
			Pace: pace}, orders); err != nil {
			t.Fatal(err)
		}
		return w.work(context.Background(), file, nil)
	}
	if r := run("closing", bulk.Where{"workflow": "impossible"},
		bulk.Action{Command: "close"}); len(r.Fixed) != 3 {
		t.Errorf("%d closed, %+v", len(r.Fixed), r.Stopped)
	}
	if o, err := w.client.Get(context.Background(), ids("i", 1)[0]); err != nil || o.Closed.By != "ada" ||
		o.Closed.Reason != "settled by hand" {
		t.Errorf("%+v %v", o, err)
	}
	if r := run("stating", bulk.Where{"step": "charge", "workflow": "order"}, bulk.Action{Command: "resolve",
		Step: "charge", Fact: "not-happened"}); len(r.Fixed)+len(r.Refused) != 2 {
		t.Errorf("%+v", r)
	}
	if r := run("moving", bulk.Where{"id": "o-000"}, bulk.Action{Command: "move",
		Definition: "latest"}); r.Orders != 1 || len(r.Fixed)+len(r.Refused) != 1 {
		t.Errorf("%+v", r)
	}
	if r := run("undoing", bulk.Where{"step": "charge", "code": "failed"},
		bulk.Action{Command: "undo"}); len(r.Fixed) != 2 || !w.inState(all[0], "Compensated")() {
		t.Errorf("%+v", r)
	}
	if r := run("again", bulk.Where{"state": "compensated"}, why); len(r.Again) != 2 {
		t.Errorf("%+v", r)
	}
	if r := run("cancelling", bulk.Where{"id": "o-"}, bulk.Action{Command: "cancel"}); len(r.Fixed) != 2 ||
		!w.inState(all[1], "Cancelled")() {
		t.Errorf("%+v", r)
	}
}

// A Cancel is sent to an order in any state, but is refused by an order that got another command since the
// list was made.
func TestBulkCancel(t *testing.T) {
	w := newWorld(t, nil)
	all := w.stopped(2)
	file := w.list(bulk.Action{Command: "cancel", By: "ada", Reason: "sold out"}, quick)
	if v, err := w.client.Undo(context.Background(), all[0]); err != nil || !v.Accepted {
		t.Fatal(v, err)
	}
	r := w.work(context.Background(), file, nil)
	if !slices.Equal(r.Refused, all[:1]) || !slices.Equal(r.Fixed, all[1:]) {
		t.Errorf("%+v", r)
	}
	if text, err := os.ReadFile(file); err != nil ||
		!strings.Contains(string(text), "the order got another command after the list was made") {
		t.Errorf("%v %s", err, text)
	}
}

// A wrong list is refused before anything is sent. While one process works on a list, another one does not
// start it.
func TestBulkRefuses(t *testing.T) {
	w := newWorld(t, nil)
	w.stopped(1)
	for want, where := range map[string]bulk.Where{
		"no orders are selected": {}, "perhaps step": {"stp": "charge"}, "step is empty": {"step": " "},
		"there is no state":                           {"state": "Broken"},
		`--where has no field "elephant"; use one of`: {"elephant": "charge"},
		"write a duration":                            {"older": "soon"},
	} {
		if _, err := bulk.Select(context.Background(), w.client, where, why); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", where, err)
		}
	}
	orders, err := bulk.Select(context.Background(), w.client, bulk.Where{"older": "1h"}, why)
	if err != nil || len(orders) > 0 {
		t.Errorf("%+v %v", orders, err)
	}
	good := bulk.Header{Action: why, Where: bulk.Where{"step": "charge"},
		Pace: bulk.Pace{Rate: 1000, StopAt: 1, Patience: 0.1}}
	resolve := bulk.Action{Command: "resolve", Step: "charge", Fact: core.Undone,
		By: strings.Repeat("b", message.MaxBy), Reason: strings.Repeat("r", core.MaxMessage)}
	for want, change := range map[string]func(*bulk.Header){
		"":                              func(*bulk.Header) {},
		" ":                             func(h *bulk.Header) { h.Action = resolve },
		"canary is -1":                  func(h *bulk.Header) { h.Canary = -1 },
		"rate is 0;":                    func(h *bulk.Header) { h.Rate = 0 },
		"rate is 1e-10;":                func(h *bulk.Header) { h.Rate = 1e-10 },
		"rate is NaN;":                  func(h *bulk.Header) { h.Rate = math.NaN() },
		"the share to stop at is NaN;":  func(h *bulk.Header) { h.StopAt = math.NaN() },
		"the patience is 1e+300 s;":     func(h *bulk.Header) { h.Patience = 1e300 },
		"rate is 1000.5;":               func(h *bulk.Header) { h.Rate = 1000.5 },
		"the share to stop at is -0.5;": func(h *bulk.Header) { h.StopAt = -0.5 },
		"the share to stop at is 1.5;":  func(h *bulk.Header) { h.StopAt = 1.5 },
		"the patience is 0 s;":          func(h *bulk.Header) { h.Patience = 0 },
		`"answer" cannot be sent`:       func(h *bulk.Header) { h.Command = "answer" },
		"move has no definition":        func(h *bulk.Header) { h.Command = "move" },
		`definition "new" must be`:      func(h *bulk.Header) { h.Definition = "new" },
		"resolve has no step":           func(h *bulk.Header) { h.Action = resolve; h.Step = "" },
		"fact \"perhaps\" must be":      func(h *bulk.Header) { h.Action = resolve; h.Fact = "perhaps" },
		"by has 0 bytes":                func(h *bulk.Header) { h.By = "" },
		"by has 129 bytes":              func(h *bulk.Header) { h.By = strings.Repeat("b", message.MaxBy+1) },
		"reason has 0 bytes":            func(h *bulk.Header) { h.Reason = "" },
		"reason has 513 bytes": func(h *bulk.Header) {
			h.Reason = strings.Repeat("r",
				core.MaxMessage+1)
		},
		"no orders are selected": func(h *bulk.Header) { h.Where = nil },
	} {
		h := good
		change(&h)
		if err := h.Check(); (err == nil) != (strings.TrimSpace(want) == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	file := w.list(why, quick)
	first, err := bulk.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bulk.Open(file); !errors.Is(err, bulk.ErrBusy) {
		t.Errorf("%v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if r := w.work(over, file, nil); r.Stopped != "it was interrupted" || len(r.NotSent) != 1 {
		t.Errorf("%+v", r)
	}
	if err := bulk.Create(file, first.Header, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a list was written over another one: %v", err)
	}
	if err := bulk.Create(filepath.Join(t.TempDir(), "list"), bulk.Header{}, nil); err == nil {
		t.Error("a list without a header was written")
	}
	for i, text := range []string{"", "{}\n", "5\n", `{"bulk":"b","command":"resubmit","where":{"step":"x"},"orders":2,"by":"a","reason":"b","rate":1,"patience":1}` + "\n" + `{"orderId":"a"}` + "\n",
		`{"bulk":"b","command":"delete","where":{"step":"x"},"orders":0,"by":"a","reason":"b","rate":1,"patience":1}` + "\n"} {
		bad := filepath.Join(t.TempDir(), fmt.Sprint(i))
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := bulk.Open(bad); err == nil {
			t.Errorf("%s was taken as a list of %d", text, l.Report().Orders)
		}
	}
}

// Nothing is sent if the list cannot be kept.
func TestBulkCommandWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *console.Options) { o.Folder = file })
	w.stopped(1)
	action, form := w.form("/bulk?command=resubmit&step=charge&workflow=order", "command", "resubmit")
	form.Set("by", "ada")
	form.Set("reason", "the bank is back")
	_, body := w.post(action, form)
	wants(t, body, "Nothing was sent: mkdir "+file)
}

// The pages show what the command would do to the orders, start with exactly the orders that were shown,
// report the progress, and can stop it.
func TestBulkPages(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, func(o *console.Options) { o.Folder = folder })
	all := w.stopped(12)
	_, body := w.get("/incidents")
	wants(t, body, "/bulk?code=failed&amp;command=resubmit&amp;step=charge&amp;workflow=order")
	const page = "/bulk?command=resubmit&step=charge&workflow=order&code=failed"
	_, body = w.get(page)
	wants(t, body, "12 it would go on with charge",
		"stepkeeper bulk resubmit --where workflow=order,step=charge,code=failed",
		"Send resubmit to 12 orders")
	action, form := w.form(page, "command", "resubmit")
	form.Set("by", "ada <b>")
	form.Set("reason", "the bank is back")
	for _, x := range []struct{ field, value, says string }{
		{"by", "", "Nothing was sent: by has 0 bytes"},
		{"reason", " ", "Nothing was sent: reason has 0 bytes"},
		{"rate", "fast", "Nothing was sent: rate is not a number."},
		{"rate", "1e-10", "Nothing was sent: rate is 1e-10; it must be 0.001 to 1000 commands a second."},
		{"rate", "NaN", "Nothing was sent: rate is NaN"},
		{"rate", "1e999", "Nothing was sent: rate is not a number."},
		{"canary", "-1", "Nothing was sent: canary is -1"},
		{"canary", "1e300", "write a whole number"},
		{"canary", "NaN", "write a whole number"},
		{"stop-at", "101", "Nothing was sent: the share to stop at is 1.01"},
		{"stop-at", "NaN", "Nothing was sent: the share to stop at is NaN"},
		{"step", "", "Nothing was sent: no orders are selected"},
		{"token", "x", "The form is not from this console"},
	} {
		bad := maps.Clone(form)
		bad.Set(x.field, x.value)
		if x.field == "step" {
			for _, key := range []string{"workflow", "code"} {
				bad.Del(key)
			}
		}
		if status, body := w.post(action, bad); status < 400 || !strings.Contains(body, "Refused") ||
			!strings.Contains(body, x.says) {
			t.Errorf("%s=%s: status %d: %s", x.field, x.value, status, body)
		}
	}
	w.submit("order", "late")
	w.until("it stops", w.inState("late", "Error"))
	if status, body := w.post(action, form); status != http.StatusConflict ||
		!strings.Contains(body, "the orders have changed since the page was loaded") {
		t.Errorf("status %d: %s", status, body)
	}
	if n := len(w.verdicts(all[0])); n > 0 {
		t.Errorf("%d commands were sent", n)
	}

	w.refusing("")
	action, form = w.form(page, "command", "resubmit")
	form.Set("by", "ada <b>")
	form.Set("reason", "the bank is back")
	form.Set("rate", "5")
	form.Set("canary", "2")
	status, body := w.post(action, form)
	wants(t, body, "resubmit 13 orders", "running", "ada &lt;b&gt;: the bank is back", "not sent")
	if status != http.StatusOK {
		t.Fatalf("status %d", status)
	}
	_, body = w.get("/bulk")
	at := regexp.MustCompile(`/bulk/[^"]+`).FindString(body)
	w.until("the canary is fixed",
		func() bool { return w.inState(all[0], "Processed")() && w.inState(all[1], "Processed")() })
	action, form = w.form(at, "command", "")
	w.post(action, form)
	w.until("it stops", func() bool { _, body = w.get(at); return strings.Contains(body, "ended") })
	wants(t, body, "Stopped: it was interrupted", "stepkeeper bulk continue "+folder)
	wants(t, regexp.MustCompile(`<strong>\d+`).ReplaceAllString(body, "<strong>N"), `<ul class="tiles"><li><span class="good">fixed</span><strong>N</strong></li><li><span class="bad">failed again</span><strong>N</strong></li>`+
		`<li><span class="">refused</span><strong>N</strong></li><li><span class="">unknown, or running</span><strong>N</strong></li><li><span class="">not sent</span><strong>N</strong></li></ul>`)
	files, err := filepath.Glob(filepath.Join(folder, "bulk-*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("others may read the list: %v %v", info.Mode(), err)
	}
	left, err := bulk.Open(files[0])
	require.NoError(t, err)
	require.Equal(t, 13, left.Report().Orders)
	require.NoError(t, left.Close())
	for path, text := range map[string]string{
		"/bulk/none": "To continue a list of another process, run `stepkeeper bulk " +
			"continue FILE`.",
		"/bulk?command=resubmit&older=soon":                                              "write a duration",
		"/bulk?command=resubmit&step=none":                                               "No order matches.",
		"/bulk?command=resolve&resolve-step=charge&fact=happened&state=processed":        "bulk resolve charge happened --where state=processed --reason",
		"/bulk?command=resolve&resolve-step=a%27%3Breboot&fact=happened&state=processed": "bulk resolve 'a'\\'';reboot' happened --where state=processed --reason",
		"/bulk?command=move&definition=latest&state=processed&workflow=order":            "bulk move --definition latest --where state=processed,workflow=order --reason",
	} {
		_, body := w.get(path)
		wants(t, body, text)
		if strings.Contains(path, "state=processed") { // a further look keeps the filter
			wants(t, body, "<option selected>Processed</option>")
		}
	}
}
