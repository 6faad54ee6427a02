package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/chromedp/chromedp"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/journal"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// quarantined returns an order in quarantine.
func quarantined(id, workflow string) port.Message {
	body := `{"schema":1,"orderId":"` + id + `","workflow":"` + workflow +
		`","order":{"card":"4111111111111111","customer":{"name":"Ada"},"note":"fragile"}}`
	return port.Message{Value: message.Quarantine(port.Intake,
		port.Delivery{Message: port.Message{Body: []byte(body)}, ID: "first"}, "no workflow <gone>",
		1_800_000_000_000)}
}

// recordedQueues replies in the protocol of SQS like a server with two quarantined orders and a dead reply.
func recordedQueues(t *testing.T) http.Handler {
	t.Helper()
	clock := port.ClockFunc(func() time.Time { return moment(30).Std() })
	queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: port.Quarantine},
		{Name: port.Dead(port.Replies)}, {Name: port.Dead(port.Control)}, {Name: port.Replies}})
	if err != nil {
		t.Fatal(err)
	}
	for queue, messages := range map[string][]port.Message{port.Quarantine: {quarantined("busy", "order"),
		quarantined("other", "gone")},
		port.Dead(port.Replies): {
			{Body: []byte(`{"schema":1,"task":"broken","step":"charge","attempt":3,"outcome":"done"}`)}}} {
		q, err := queues.Queue(queue)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range q.Send(t.Context(), messages) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return sqsproto.New(sqsproto.Config{Queues: queues, Clock: clock})
}

// giveUp puts messages into a dead-letter queue of the server.
func (w *world) giveUp(queue string, messages ...port.Message) {
	w.Helper()
	q, err := sqs.New(sdk.Config{Region: "local", BaseEndpoint: &w.url,
		Credentials: sdk.AnonymousCredentials{}}, sqs.Config{LookUp: true}).Queue(queue)
	if err != nil {
		w.Fatal(err)
	}
	for _, err := range q.Send(context.Background(), messages) {
		if err != nil {
			w.Fatal(err)
		}
	}
}

// Dead letters can be listed, read, redriven and discarded. Each action is recorded in a file before.
func TestDeadLetterPages(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "made")
	w := newWorld(t, func(o *console.Options) {
		o.Folder = folder
		o.Redact = console.Redaction{{"card"}, {"customer", "name"}}
	})
	close(w.hold)
	w.giveUp(port.Quarantine, quarantined("o-1", "order"), quarantined("o-2", "gone"),
		quarantined("o-3", "order"), port.Message{Body: []byte("no envelope")})
	_, body := w.get("/dead-letters")
	wants(t, body, "quarantine", "requests-shop", "<td class=\"number\">4</td>",
		"stepkeeper dead-letters list")
	const page = "/dead-letters/quarantine"
	_, body = w.get(page)
	wants(t, body, "In quarantine: no workflow <gone>", "Can be redriven to intake.",
		"Cannot be redriven to intake: there is no workflow gone", "it cannot be read", "of order o-1")
	if strings.Contains(body, "4111111111111111") || strings.Contains(body, "note") {
		t.Errorf("a body is shown: %s", body)
	}
	ids := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)name="id" value="([^"]+)".*?</p>`).FindAllStringSubmatch(body,
		-1) {
		for _, order := range []string{"o-1", "o-2", "o-3", "order unknown"} {
			if strings.Contains(m[0], order) {
				ids[order] = m[1]
			}
		}
	}
	if len(ids) != 4 {
		t.Fatalf("%v in %s", ids, body)
	}
	_, body = w.get(page + "?body=" + ids["o-1"])
	wants(t, body, `"note": "fragile"`, "(hidden)")
	if strings.Contains(body, "4111111111111111") || strings.Contains(body, "Ada") {
		t.Errorf("what is redacted is shown: %s", body)
	}
	if _, body = w.get(page + "?body=" + ids["order unknown"]); strings.Contains(body, "no envelope") {
		t.Errorf("what cannot be redacted is shown: %s", body)
	}

	form := w.handlingForm(page)
	form["id"] = []string{ids["o-1"], ids["o-2"]}
	form.Set("by", "ada")
	form.Set("reason", "the workflow is there")
	form.Set("action", "redrive")
	for name, value := range map[string]string{"by": "", "reason": " ", "token": "x", "action": "",
		"id": ""} {
		bad := url.Values{}
		maps.Copy(bad, form)
		if bad.Set(name, value); name == "id" {
			bad.Del(name)
		}
		_, body := w.post(page, bad)
		if !strings.Contains(body, "nothing was done") && !strings.Contains(body, "Refused") &&
			!strings.Contains(body, "name in 1 to") && !strings.Contains(body, "give it in 1 to") {
			t.Errorf("%s=%q: %s", name, value, body)
		}
	}
	status, body := w.post(page, form)
	wants(t, body, ids["o-1"]+": redriven", ids["o-2"]+": refused, there is no workflow gone", `role="alert"`)
	if status != http.StatusOK || strings.Contains(body, `id="letter-`+ids["o-1"]) ||
		!strings.Contains(body, `id="letter-`+ids["o-3"]) {
		t.Errorf("status %d: %s", status, body)
	}
	w.until("the redriven order is processed", w.inState("o-1", "Processed"))
	if _, err := w.client.Get(t.Context(), "o-3"); err == nil {
		t.Error("a message that was not chosen was redriven")
	}
	form.Set("action", "discard")
	form["id"] = []string{ids["o-2"], ids["order unknown"]}
	_, body = w.post(page, form)
	wants(t, body, ids["o-2"]+": discarded", ids["order unknown"]+": discarded", `role="status"`)
	_, body = w.post(page, form)
	wants(t, body, ids["o-2"]+": missing", `role="alert"`)
	_, body = w.get("/dead-letters")
	wants(t, body, "<td class=\"number\">1</td>")

	text, err := os.ReadFile(filepath.Join(folder, "dead-letters.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for line := range strings.Lines(string(text)) {
		var h struct{ Result, By, Reason string }
		if err := json.Unmarshal([]byte(line), &h); err != nil || h.By != "ada" ||
			h.Reason != "the workflow is there" {
			t.Errorf("%s: %v", line, err)
		}
		results = append(results, h.Result)
	}
	slices.Sort(results)
	if got := strings.Join(results,
		" "); got != "begun begun begun discarded discarded missing missing redriven refused" {
		t.Error(got)
	}
	if status, body := w.get("/dead-letters/replys"); status != http.StatusNotFound ||
		!strings.Contains(body, "There is no such queue") {
		t.Errorf("status %d: %s", status, body)
	}
}

// handlingForm returns the form of a page of messages, with nothing chosen.
func (w *world) handlingForm(page string) url.Values {
	w.Helper()
	_, body := w.get(page)
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(body)
	if token == nil {
		w.Fatalf("%s has no form: %s", page, body)
	}
	return url.Values{"token": token[1:]}
}

// No message is handled if this cannot be recorded, and none by a console that only reads.
func TestDeadLettersAreNotHandled(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, func(o *console.Options) { o.Folder = filepath.Join(folder, "file") })
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.giveUp(port.Dead(port.Replies), port.Message{Body: []byte(`{"task":"o-1"}`)})
	_, body := w.get("/dead-letters/replies")
	id := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(body)[1]
	form := w.handlingForm("/dead-letters/replies")
	form.Set("id", id)
	form.Set("by", "ada")
	form.Set("reason", "why")
	form.Set("action", "discard")
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "Nothing was done, because it cannot be recorded", `id="letter-`+id)
	record := filepath.Join(folder, "file", journal.Name)
	if err := errors.Join(os.Remove(filepath.Join(folder, "file")), os.MkdirAll(record, 0o700)); err != nil {
		t.Fatal(err)
	}
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "Nothing was done, because it cannot be recorded", `id="letter-`+id)
	if err := errors.Join(os.Remove(record), os.Symlink("/dev/full", record)); err != nil {
		t.Fatal(err)
	}
	_, body = w.post("/dead-letters/replies", form)
	wants(t, body, "no space left on device", `id="letter-`+id)

	reads := newWorld(t, func(o *console.Options) { o.ReadOnly = true; o.Folder = t.TempDir() })
	reads.giveUp(port.Dead(port.Replies), port.Message{Body: []byte(`{"task":"o-1"}`)})
	_, body = reads.get("/dead-letters/replies")
	if strings.Contains(body, "<button") || !strings.Contains(body, "o-1") {
		t.Error(body)
	}
	if status, _ := reads.post("/dead-letters/replies", form); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
}

// In a browser, chosen messages stay chosen while the page is open, and are redriven. Refusals are reported.
func TestBrowserDeadLetters(t *testing.T) {
	b := newTab(t)
	close(b.hold)
	b.giveUp(port.Quarantine, quarantined("o-1", "order"), quarantined("o-2", "gone"))
	b.open("/health")
	b.do(chromedp.Click("#page a[href='/dead-letters']"))
	b.live()
	b.shows("quarantine")
	b.shot("dead-letters")
	b.clean("dead letters")
	b.do(chromedp.Click("#queue-quarantine a"))
	b.live()
	b.shows("In quarantine: no workflow <gone>", "Cannot be redriven")
	b.shot("quarantine")
	b.clean("quarantine")
	evaluate[bool](b, `document.querySelectorAll("input[name=id]").forEach((c) => c.click()); true`)
	b.do(chromedp.SendKeys("#dead-by", "ada"), chromedp.SendKeys("#dead-reason", "it is there now"),
		chromedp.Click("#do-redrive"))
	b.shows(": redriven", ": refused, there is no workflow gone")
	b.live()
	b.changed("redriven")
	b.until("it is processed", b.inState("o-1", "Processed"))
	evaluate[bool](b, `document.querySelector("input[name=id]").click(); true`)
	b.do(chromedp.SendKeys("#dead-by", "ada"), chromedp.SendKeys("#dead-reason", "a mistake"),
		chromedp.Click("#do-discard"))
	b.shows(": discarded", "No messages. A message appears here")
	b.live()
	b.changed("discarded")
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.giveUp(port.Quarantine, quarantined("o-3", "gone"))
	b.open("/dead-letters/quarantine")
	b.shows("o-3")
	if wide := evaluate[float64](b,
		`document.documentElement.scrollWidth - document.documentElement.clientWidth`); wide > 0 {
		t.Errorf("it is %.0f pixels wider than a phone", wide)
	}
	b.clean("quarantine on a phone")
}
