package client_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// send puts a message into a queue of the server, and returns the ID that a listing shows.
func (r *realRig) send(queue, body string) {
	r.Helper()
	at := r.url + "/000000000000/" + queue
	if _, err := r.sdk.SendMessage(r.Context(),
		&sqs.SendMessageInput{QueueUrl: &at, MessageBody: &body}); err != nil {
		r.Fatal(err)
	}
}

// quarantine puts an envelope into quarantine, as an actor does that could not read a message.
func (r *realRig) quarantine(queue, body, reason string) {
	r.Helper()
	text, err := message.Quarantine(queue, port.Delivery{Message: port.Message{Body: []byte(body)},
		ID: "original"}, reason, 1_800_000_000_000).Encode()
	if err != nil {
		r.Fatal(err)
	}
	r.send(port.Quarantine, string(text))
}

func (r *realRig) look(queue string) map[string]client.DeadLetter {
	r.Helper()
	all, err := r.client.DeadLetters(r.Context(), queue, 100)
	if err != nil {
		r.Fatal(err)
	}
	by := map[string]client.DeadLetter{}
	for _, l := range all {
		by[cmp.Or(l.OrderID, string(l.Body))] = l
	}
	return by
}

// handle redrives or discards messages, and returns for each its result and whether its handling was begun
// before.
func (r *realRig) handle(do func(h client.Handling) error,
	h client.Handling) (reported map[string]client.Handled, err error) {
	r.Helper()
	reported = map[string]client.Handled{}
	h.By, h.Reason, h.Rate = "ada", "the bank is back", 1000
	h.Record = func(x client.Handled) error {
		if x.By != "ada" || x.Reason != "the bank is back" || x.At.IsZero() || x.Queue != h.Queue ||
			x.DryRun != h.DryRun {
			r.Errorf("%+v", x)
		}
		done := x.Result == client.Redriven || x.Result == client.Discarded
		if begun := reported[x.ID].Result == client.Begun; done && begun == h.DryRun {
			r.Errorf("%+v was begun: %t", x, begun)
		}
		reported[x.ID] = x
		return nil
	}
	return reported, do(h)
}

func (r *realRig) redrive(h client.Handling) (map[string]client.Handled, error) {
	r.Helper()
	return r.handle(func(h client.Handling) error { return r.client.Redrive(r.Context(), h) }, h)
}

func (r *realRig) discard(h client.Handling) (map[string]client.Handled, error) {
	r.Helper()
	return r.handle(func(h client.Handling) error { return r.client.Discard(r.Context(), h) }, h)
}

func requestOf(id string) string {
	return `{"schema":1,"task":"` + id +
		`","run":0,"step":"charge","attempt":1,"operation":"do","name":"charge","key":"k","timeout":1000,"stopBy":"2026-11-20T12:00:00.000Z","agent":"shop"}`
}

// A server that never ends its response does not fill the memory.
func TestEndlessListsOfQueuesAreCut(t *testing.T) {
	var written atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		block := []byte(strings.Repeat(" ", 1<<20))
		for err := error(nil); err == nil && written.Load() < 1<<30; written.Add(int64(len(block))) {
			_, err = w.Write(block)
		}
	}))
	defer s.Close()
	c, err := client.New(s.URL, client.WithRetry(1, time.Second))
	require.NoError(t, err)
	_, err = c.DeadLetterQueues(t.Context())
	require.ErrorContains(t, err, "has more than")
	require.Less(t, written.Load(), int64(256<<20))
}

// Messages that wait for the operator can be counted and read without being taken. Those in quarantine show
// what was wrong.
func TestDeadLettersAreLookedAt(t *testing.T) {
	r := newRealRig(t)
	for i := range 12 {
		r.send(port.Dead(port.Requests("shop")), requestOf(fmt.Sprintf("o-%d", i)))
	}
	r.quarantine(port.Replies, `{"schema":1,"task":"o-1"`, "unexpected end")
	all, err := r.client.DeadLetterQueues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range all {
		names = append(names, fmt.Sprint(q.Queue, " ", q.Messages))
		if (q.Messages > 0) != (time.Since(q.Oldest) < time.Minute) || q.LookedAt != min(q.Messages, 10) ||
			q.Problem != "" {
			t.Errorf("%+v", q)
		}
	}
	if got := strings.Join(names,
		", "); got != "control 0, quarantine 1, replies 0, requests-shop 12, tasks 0" {
		t.Error(got)
	}
	for range 2 { // they are returned to the queue
		seen := r.look(port.Requests("shop"))
		if l := seen["o-3"]; len(seen) != 12 || l.Kind != "request" || l.Step != "charge" || l.Attempt != 1 ||
			l.Queue != "requests-shop" ||
			l.Refused != "" || len(l.SHA256) != 64 || string(l.Body) != requestOf("o-3") ||
			time.Since(l.Sent) > time.Minute || l.Received < 1 {
			t.Errorf("%d: %+v", len(seen), l)
		}
	}
	if some, err := r.client.DeadLetters(t.Context(), port.Requests("shop"), 3); err != nil ||
		len(some) != 3 {
		t.Errorf("%d, %v", len(some), err)
	}
	for _, l := range r.look(port.Quarantine) {
		if l.Reason != "unexpected end" || l.Queue != port.Replies ||
			!strings.HasPrefix(l.Refused, "its queue would not accept it: ") ||
			string(l.Body) != `{"schema":1,"task":"o-1"` {
			t.Errorf("%+v", l)
		}
	}
	if _, err := r.client.DeadLetters(t.Context(), "replys", 1); !errors.Is(err, client.ErrNotFound) ||
		!strings.Contains(err.Error(),
			"there are those of control, quarantine, replies, requests-shop, tasks") {
		t.Errorf("%v", err)
	}
	checks, err := r.client.Checks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(checks,
		func(c client.Check) bool { return c.Name == "dead letters of requests-shop" })
	if i < 0 || checks[i].Result != client.CheckFailed ||
		!strings.HasPrefix(checks[i].Text, "12 messages; the oldest of 10 looked at was sent 0s ago") ||
		!strings.Contains(checks[i].Fix, "stepkeeper dead-letters look requests-shop") {
		t.Errorf("%+v", checks)
	}
}

// The chosen messages go back to their queue, or are deleted, and no others.
func TestRedriveAndDiscardTheChosen(t *testing.T) {
	r := newRealRig(t)
	dead := port.Requests("shop")
	for i := range 25 {
		r.send(port.Dead(dead), requestOf(fmt.Sprintf("o-%d", i)))
	}
	seen := r.look(dead)
	chosen := client.Handling{Queue: dead, IDs: []string{seen["o-7"].ID, seen["o-21"].ID, "none"}}
	dry := chosen
	dry.DryRun = true
	reported, err := r.redrive(dry)
	if err != nil || reported[seen["o-7"].ID].Result != client.Redriven || len(r.look(dead)) != 25 {
		t.Fatalf("%+v, %v", reported, err)
	}
	reported, err = r.redrive(chosen)
	x := reported[seen["o-7"].ID]
	if err != nil || len(reported) != 3 {
		t.Fatalf("%+v, %v", reported, err)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"x.Result", x.Result, client.Redriven},
		{"x.To", x.To, dead},
		{"x.OrderID", x.OrderID, "o-7"},
		{"x.SHA256", x.SHA256, seen["o-7"].SHA256},
		{`reported["none"].Result`, reported["none"].Result, client.Missing},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %+v, %v", field.name, field.got, field.want, reported, err)
		}
	}
	left := r.look(dead)
	if len(left) != 23 || left["o-7"].ID != "" || left["o-21"].ID != "" {
		t.Errorf("%d are left", len(left))
	}
	if reported, err = r.redrive(chosen); err != nil || reported[seen["o-7"].ID].Result != client.Missing {
		t.Errorf("%+v, %v", reported, err)
	}
	if reported, err = r.discard(client.Handling{Queue: dead, IDs: []string{seen["o-8"].ID}}); err != nil ||
		reported[seen["o-8"].ID].Result != client.Discarded {
		t.Errorf("%+v, %v", reported, err)
	}
	if left = r.look(dead); len(left) != 22 || left["o-8"].ID != "" {
		t.Errorf("%d are left", len(left))
	}
	if reported, err = r.discard(client.Handling{Queue: dead, All: true}); err != nil ||
		len(reported) != 22 || len(r.look(dead)) != 0 {
		t.Errorf("%d, %v", len(reported), err)
	}
}

// A quarantined message goes back as it was sent, if its queue would accept it now. Otherwise it stays.
func TestRedriveFromQuarantine(t *testing.T) {
	r := newRealRig(t)
	submission := func(id, workflow string) string {
		return `{"schema":1,"orderId":"` + id + `","workflow":"` + workflow + `","order":{"n":1}}`
	}
	if _, err := r.client.Submit(t.Context(), order("there")); err != nil {
		t.Fatal(err)
	}
	r.quarantine(port.Intake, submission("good", "order"), "unknown-workflow")
	r.quarantine(port.Intake, submission("elsewhere", "other"), "unknown-workflow")
	r.quarantine(port.Intake, submission("large", "order")+strings.Repeat(" ", 50_000), "too large")
	r.quarantine(port.Intake, `{"schema":1,"kind":"cancel","task":"early","id":"c"}`, "odd")
	r.quarantine(port.Intake,
		`{"schema":1,"kind":"close","task":"ended","id":"c","command":0,"by":"app","reason":"r"}`, "odd")
	r.quarantine(port.Intake,
		`{"schema":1,"kind":"answer","task":"gone2","id":"c","round":1,"value":"yes","token":"x"}`, "odd")
	r.quarantine(port.Control, `{"schema":1,"kind":"undo","task":"gone","id":"c","command":0}`,
		"unknown-task")
	r.quarantine(port.Control, `{"schema":1,"kind":"wake","task":"there"}`, "odd")
	r.quarantine("nowhere", `{"schema":1,"task":"lost"}`, "odd")
	r.quarantine(port.Replies,
		`{"schema":1,"task":"repeating","output":"00000000.MC9hL2Fubg.dXllGwql4haxUySnKXUr6A"}`,
		"odd 00000000.MC9hL2Fubg.dXllGwql4haxUySnKXUr6A")
	r.quarantine(port.Tasks, `{"schema":1,"task":"child"}`, "odd")
	r.send(port.Quarantine, "no envelope")
	seen := r.look(port.Quarantine)
	reported, err := r.redrive(client.Handling{Queue: port.Quarantine, All: true})
	if err != nil || len(reported) != 12 {
		t.Fatalf("%+v, %v", reported, err)
	}
	// P39
	if x := seen["repeating"]; x.Reason != "odd (token)" || !strings.Contains(string(x.Body), `"(token)"`) {
		t.Errorf("a token is kept: %s, %s", x.Reason, x.Body)
	}
	for order, why := range map[string]string{"elsewhere": "there is no workflow other",
		"large": "only its first 40000 bytes were kept", "gone": "there is no order gone",
		"gone2": "there is no order gone2", "ended": "send this close to the control queue",
		"there": "sent by the server itself", "repeating": "it held a token",
		"lost": `"nowhere", which this deployment does not have`, "child": "only the Scheduler may send",
		"no envelope": "it cannot be read"} {
		if x := reported[seen[order].ID]; x.Result != client.NotTaken || !strings.Contains(x.Text, why) {
			t.Errorf("%s: %+v", order, x)
		}
	}
	for _, order := range []string{"good", "early"} {
		if x := reported[seen[order].ID]; x.Result != client.Redriven || x.To != port.Intake {
			t.Errorf("%s: %+v", order, x)
		}
	}
	if x, err := r.client.Wait(t.Context(), "good"); err != nil || x.State != "Processed" {
		t.Errorf("%+v, %v", x, err)
	}
	if left := r.look(port.Quarantine); len(left) != 10 || left["good"].ID != "" {
		t.Errorf("%d are left", len(left))
	}
}

// A message is not deleted if it was not sent, if it is unknown whether it was sent, or if it could not be
// recorded.
func TestRedriveLosesNothing(t *testing.T) {
	r := newRealRig(t)
	target, err := url.Parse(r.url)
	if err != nil {
		t.Fatal(err)
	}
	failing, code, calls := "", "AccessDenied", []string{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, action, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
		calls = append(calls, action)
		if failing != "" && strings.HasPrefix(action, failing) {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{"__type": code,
				"message": "not for you"})
			return
		}
		q.Host = target.Host
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	if r.client, err = client.New(server.URL, client.WithRetry(1, time.Second)); err != nil {
		t.Fatal(err)
	}
	dead := port.Requests("shop")
	r.send(port.Dead(dead), requestOf("o-1"))
	id := r.look(dead)["o-1"].ID
	one := client.Handling{Queue: dead, IDs: []string{id}}
	for action, text := range map[string]string{"SendMessage": "it was not sent: ",
		"DeleteMessage": "it was sent to requests-shop and is here still"} {
		failing = action
		reported, err := r.redrive(one)
		if x := reported[id]; !errors.Is(err, client.ErrForbidden) || x.Result != client.Failed ||
			!strings.HasPrefix(x.Text, text) || !strings.Contains(x.Text, "not for you") {
			t.Errorf("without %s: %+v, %v", action, reported, err)
		}
		failing = ""
		if r.look(dead)["o-1"].ID != id {
			t.Fatalf("without %s the message is gone", action)
		}
	}
	failing, code = "SendMessage", "QueueDoesNotExist"
	if reported, err := r.redrive(one); err != nil || reported[id].Result != client.Failed ||
		!strings.Contains(reported[id].Text, "the server has no queue requests-shop") {
		t.Errorf("to a queue that is gone: %+v, %v", reported, err)
	}
	failing, code = "", "AccessDenied"
	full := errors.New("the disk is full")
	for _, do := range []func(client.Handling) error{
		func(h client.Handling) error { return r.client.Redrive(t.Context(), h) },
		func(h client.Handling) error { return r.client.Discard(t.Context(), h) },
	} {
		calls = nil
		h := client.Handling{Queue: dead, IDs: []string{id}, By: "ada", Reason: "why",
			Record: func(client.Handled) error { return full }}
		if err := do(h); !errors.Is(err, full) || slices.ContainsFunc(calls, func(a string) bool {
			return strings.HasPrefix(a, "Send") || strings.HasPrefix(a, "Delete")
		}) {
			t.Errorf("%v after %v", err, calls)
		}
	}
	if r.look(dead)["o-1"].ID != id {
		t.Error("the message is gone")
	}
	for call, queue := range map[string]string{"ListQueues": "dead letters", "ReceiveMessage": dead} {
		failing = call
		if _, err := r.client.DeadLetters(t.Context(), dead, 1); !errors.Is(err, client.ErrForbidden) ||
			err.Error() != call+" of "+queue+": not for you" {
			t.Errorf("without %s: %v", call, err)
		}
	}
	failing = "GetQueueAttributes"
	if all, err := r.client.DeadLetterQueues(t.Context()); err != nil || len(all) != 5 ||
		all[0].Problem != "GetQueueAttributes of control: not for you" {
		t.Errorf("%+v, %v", all, err)
	}
	server.Close()
	if _, err := r.client.DeadLetters(t.Context(), dead, 1); !errors.Is(err, client.ErrConnection) {
		t.Errorf("%v", err)
	}
}

// A message that comes back while all are redriven is left alone, because it would come back for ever.
func TestRedriveOfAllEnds(t *testing.T) {
	r := newRealRig(t)
	dead := port.Requests("shop")
	for i := range 3 {
		r.send(port.Dead(dead), requestOf(fmt.Sprintf("o-%d", i)))
	}
	seen := r.look(dead)
	n := 0
	err := r.client.Redrive(t.Context(), client.Handling{Queue: dead, All: true, By: "ada", Reason: "why",
		Rate: 1000, Record: func(x client.Handled) error {
			if n > 10 {
				return errors.New("it does not end")
			}
			if x.Result == client.Redriven {
				n++
				r.ahead.Add(int64(time.Second))
				r.send(port.Dead(dead), requestOf(x.OrderID))
			}
			return nil
		}})
	again := r.look(dead)
	if err != nil || n != 3 || len(again) != 3 || again["o-1"].ID == seen["o-1"].ID {
		t.Errorf("%d redriven, %d again, %v", n, len(again), err)
	}
}

// A wrong call is refused before any message is read.
func TestHandlingsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", client.WithRetry(1, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		good := client.Handling{Queue: "replies", IDs: []string{"a"}, By: "ada", Reason: "why",
			Record: func(client.Handled) error { return nil }}
		for what, change := range map[string]func(h *client.Handling){
			"no Record":            func(h *client.Handling) { h.Record = nil },
			"give the IDs":         func(h *client.Handling) { h.IDs = nil },
			"and not both":         func(h *client.Handling) { h.All = true },
			"by has 1 bytes":       func(h *client.Handling) { h.By = " " },
			"by has 129 bytes":     func(h *client.Handling) { h.By = strings.Repeat("a", 129) },
			"reason has 0 bytes":   func(h *client.Handling) { h.Reason = "" },
			"reason has 513 bytes": func(h *client.Handling) { h.Reason = strings.Repeat("a", 513) },
			"by holds a line end":  func(h *client.Handling) { h.By = "ada\nbob" },
			"reason holds a line":  func(h *client.Handling) { h.Reason = "why\u202e" },
			"rate is -1":           func(h *client.Handling) { h.Rate = -1 },
			"rate is 1001":         func(h *client.Handling) { h.Rate = 1001 },
		} {
			h := good
			change(&h)
			if err := c.Redrive(t.Context(), h); !errors.Is(err, client.ErrInvalid) ||
				!strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := c.Discard(t.Context(), good); !errors.Is(err, client.ErrConnection) {
			t.Errorf("%v", err)
		}
	})
}
