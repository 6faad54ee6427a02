package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// stops submits an order, and waits until it is in Error.
func (w *world) stops(workflow, id string) {
	w.Helper()
	w.submit(workflow, id)
	w.until(id+" stops", w.inState(id, "Error"))
}

// The actions of the pages are the same commands as on the command line. The page shows their verdicts.
func TestFormsSendCommands(t *testing.T) {
	w := newWorld(t, nil)
	close(w.hold)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, w *world)
	}{
		{"resubmit, and the same form again is the same command", resubmitsOnce},
		{"close", closes},
		{"resubmit with another input", resubmitsWithAnInput},
		{"state what happened, with the output", statesWhatHappened},
		{"answer a question", answersAQuestion},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, w) })
	}
}

func resubmitsOnce(t *testing.T, w *world) {
	w.refusing("charge")
	w.stops("order", "o-1")
	w.refusing("")
	action, form := w.form("/orders/o-1", "kind", "resubmit")
	form.Set("by", "grace <b>")
	form.Set("reason", "the bank is back")
	status, body := w.post(action, form)
	require.Equal(t, http.StatusOK, status)
	wants(t, body, `<p class="box good" role="status">resubmit was accepted`)
	w.until("it is processed", w.inState("o-1", "Processed"))

	_, body = w.post(action, form)
	require.Contains(t, body, "resubmit was accepted")
	_, body = w.get("/orders/o-1")
	wants(t, body, "received command resubmit from grace &lt;b&gt;, accepted: the bank is back")
	o, err := w.client.Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.Len(t, o.Verdicts, 1)
	require.Equal(t, 0, o.Run)
	require.Equal(t, "grace <b>", o.Verdicts[0].By)
	require.Equal(t, "the bank is back", o.Verdicts[0].Note)
}

func closes(t *testing.T, w *world) {
	w.stops("impossible", "i-1")
	action, form := w.form("/orders/i-1", "kind", "close")
	form.Set("by", "ada")
	form.Set("reason", "paid in cash")
	w.post(action, form)
	o, err := w.client.Get(t.Context(), "i-1")
	require.NoError(t, err)
	require.EqualValues(t, "Closed", o.State)
	require.Equal(t, "ada", o.Closed.By)
	require.Equal(t, "paid in cash", o.Closed.Reason)
}

// The input of the step cannot be computed, so no request was sent. The step gets another input (P51).
func resubmitsWithAnInput(t *testing.T, w *world) {
	w.stops("impossible", "i-2")
	_, body := w.get("/orders/i-2")
	wants(t, body, "stepkeeper resubmit i-2 --input charge=FILE", `name="input"`)
	action, form := w.form("/orders/i-2", "kind", "resubmit")
	form.Set("step", "charge")
	form.Set("by", "ada")
	form.Set("input", `{"amount": `)
	_, body = w.post(action, form)
	require.Contains(t, body, `role="alert"`, "half an input is refused")
	form.Set("input", `{"amount": 12, "card": "4111111111111111"}`)
	_, body = w.post(action, form)
	wants(t, body, "resubmit was accepted: with another input for charge")
	w.until("it is processed", w.inState("i-2", "Processed"))
	_, body = w.get("/orders/i-2")
	wants(t, body, "ada replaced the input", "got another input (ada)", "&#34;amount&#34;: 12")
}

// The call took effect, and its result is needed later. The page shows from which time the operator can state
// this.
func statesWhatHappened(t *testing.T, w *world) {
	w.refusing("charge")
	w.stops("billed", "b-1")
	_, body := w.get("/orders/b-1")
	wants(t, body, "These commands become possible at the time shown", "stepkeeper resolve b-1 charge happened")
	require.NotContains(t, body, `name="fact" value="happened"`, "what would be refused now is not offered")
	w.ahead.Add(int64(10 * time.Minute))
	w.until("the fact can be stated", func() bool {
		_, body = w.get("/orders/b-1")
		return strings.Contains(body, `name="output"`)
	})
	require.NotContains(t, body, "Later, when")
	action, form := w.form("/orders/b-1", "fact", "happened")
	form.Set("output", `{"invoice": `)
	_, body = w.post(action, form)
	require.Contains(t, body, `role="alert"`, "half an output is refused")
	form.Set("output", `{"invoice": 4711}`)
	_, body = w.post(action, form)
	wants(t, body, "resolve was accepted: with an output for charge")
	action, form = w.form("/orders/b-1", "kind", "resubmit")
	w.post(action, form)
	w.until("it is processed", w.inState("b-1", "Processed"))
	_, body = w.get("/orders/b-1")
	wants(t, body, "&#34;number&#34;: 4711")
}

func answersAQuestion(t *testing.T, w *world) {
	w.submit("expense", "e-1")
	w.until("the question is open", func() bool {
		_, body := w.get("/answers")
		return strings.Contains(body, "e-1")
	})
	action, form := w.form("/answers", "kind", "answer")
	form.Set("by", "mallory")
	form.Set("value", "approve")
	_, body := w.post(action, form)
	require.Contains(t, body, `role="alert"`, "an unknown person's answer is refused")
	form.Set("by", "ada")
	form.Set("reason", "agreed by <phone>")
	w.post(action, form)
	w.until("it is paid", w.inState("e-1", "Processed"))
	_, body = w.get("/orders/e-1")
	wants(t, body, "from ada, attempt 1: agreed by &lt;phone&gt;")
}

// P5: a form carries the command number of the page that shows it. A form of an older page is refused, and
// one of the present page is accepted, after earlier commands too. The log has each command.
func TestFormsOfAnOlderPageAreRefused(t *testing.T) {
	log := awsstub.NewLog(t)
	w := newWorld(t, func(o *console.Options) { o.Log = log.Logger })
	close(w.hold)
	w.refusing("charge")
	w.stops("order", "o-1")
	const page = "/orders/o-1"
	offered := func() bool { _, body := w.get(page); return strings.Contains(body, `value="undo"`) }
	w.until("the page offers it", offered)
	oldAction, old := w.form(page, "kind", "undo")
	action, again := w.form(page, "kind", "resubmit")
	w.post(action, again) // raises the command number; the step fails again
	w.until("it stops again", func() bool {
		o, err := w.client.Get(context.Background(), "o-1")
		return err == nil && o.Command == 1 && o.State == "Error"
	})
	_, body := w.post(oldAction, old)
	require.Contains(t, body, "undo was refused", "the form of the older page")
	w.until("the page offers it again", offered)
	action, form := w.form(page, "kind", "undo")
	require.Equal(t, "1", form.Get("number"))
	log.Lines() // those of the commands before
	_, body = w.post(action, form)
	require.Contains(t, body, "undo was accepted", "the form of the present page")
	require.Equal(t, "undo", awsstub.About(t, log.Lines(), "command of the console")["kind"])
}

// Only a form that a page of this console sends has an effect.
func TestFormsOfOthersAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.submit("order", "o-1")
	w.until("it can be cancelled",
		func() bool { _, body := w.get("/orders/o-1"); return strings.Contains(body, `value="cancel"`) })
	action, form := w.form("/orders/o-1", "kind", "cancel")
	without := url.Values{"kind": {"cancel"}, "number": {form.Get("number")}}
	wrong := url.Values{
		"kind": {"cancel"}, "number": {form.Get("number")},
		"token": {strings.Repeat("A", len(form.Get("token")))},
	}
	const stale = "<p>The form is not from this console, or the console was restarted after the page was " +
		"loaded.</p><p>Open the order"
	for name, c := range map[string]struct {
		form   url.Values
		header []string
		status int
		says   string
	}{
		"no token":       {without, nil, 403, stale},
		"another token":  {wrong, nil, 403, stale},
		"another origin": {form, []string{"Origin", "http://evil.example"}, 403, ""},
		"another site":   {form, []string{"Sec-Fetch-Site", "cross-site"}, 403, ""},
		"a form without end": {
			url.Values{"token": {strings.Repeat("x", 200_000)}},
			nil,
			413,
			"<p>The form is larger than ",
		},
		"no number": {
			url.Values{"kind": {"undo"}, "token": form["token"]},
			nil,
			200,
			`number is &#34;&#34;; write a whole number`,
		},
		"an unknown command": {
			url.Values{"kind": {"forget"}, "number": {"0"}, "token": form["token"]},
			nil,
			200,
			"there is no command &#34;forget&#34;",
		},
		"an answer to no one": {
			url.Values{"kind": {"answer"}, "number": {"0"}, "token": form["token"]},
			nil,
			200,
			`round is &#34;&#34;; write a whole number`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := w.post(action, c.form, c.header...)
			require.Equal(t, c.status, status)
			if status == http.StatusOK {
				require.Contains(t, body, `role="alert"`)
			}
			require.Contains(t, body, c.says)
			require.True(t, w.inState("o-1", "Processing")(), "nothing has changed")
		})
	}
}

// The pages of a console that only reads have no form, and a form of another console is refused.
func TestAConsoleThatOnlyReads(t *testing.T) {
	reader := newWorld(t, func(o *console.Options) { o.ReadOnly = true })
	reader.submit("order", "o-1")
	reader.submit("expense", "e-1")
	reader.until("the question is open",
		func() bool { _, body := reader.get("/answers"); return strings.Contains(body, "e-1") })
	for _, page := range []string{"/orders/o-1", "/orders/e-1", "/answers"} {
		_, body := reader.get(page)
		p := parsed(t, page, http.StatusOK, strings.NewReader(body))
		require.Empty(t, p.actions(), page)
		require.NotContains(t, body, `name="token"`, page)
	}
	reader.giveUp(port.Dead(port.Replies), port.Message{Body: []byte(`{"task":"o-1"}`)})
	_, body := reader.get("/dead-letters/replies")
	page, _, _ := strings.Cut(body, "<footer>")
	require.NotContains(t, page, "<button")
	for _, path := range []string{"/orders/o-1/command", "/dead-letters/replies", "/bulk"} {
		status, body := reader.post(path, url.Values{"kind": {"cancel"}, "number": {"0"}})
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, body, "--read-only")
	}
	require.True(t, reader.inState("o-1", "Processing")())
}
