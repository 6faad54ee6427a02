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
	_, err := r.sdk.SendMessage(r.Context(),
		&sqs.SendMessageInput{QueueUrl: &at, MessageBody: &body})
	require.NoError(r, err)
}

// quarantine puts an envelope into quarantine, as an actor does that could not read a message.
func (r *realRig) quarantine(queue, body, reason string) {
	r.Helper()
	text, err := message.Quarantine(queue, port.Delivery{
		Message: port.Message{Body: []byte(body)},
		ID:      "original",
	}, reason, 1_800_000_000_000).Encode()
	require.NoError(r, err)
	r.send(port.Quarantine, string(text))
}

func (r *realRig) look(queue string) map[string]client.DeadLetter {
	r.Helper()
	all, err := r.client.DeadLetters(r.Context(), queue, 100)
	require.NoError(r, err)
	by := map[string]client.DeadLetter{}
	for _, l := range all {
		by[cmp.Or(l.OrderID, string(l.Body))] = l
	}
	return by
}

// handle redrives or discards messages, and returns for each its result and whether its handling was begun
// before.
func (r *realRig) handle(do func(h client.Handling) error,
	h client.Handling,
) (reported map[string]client.Handled, err error) {
	r.Helper()
	reported = map[string]client.Handled{}
	h.By = "ada"
	h.Reason = "the bank is back"
	h.Rate = 1000
	h.Record = func(x client.Handled) error {
		require.Equal(r, "ada", x.By)
		require.Equal(r, "the bank is back", x.Reason)
		require.False(r, x.At.IsZero())
		require.Equal(r, h.Queue, x.Queue)
		require.Equal(r, h.DryRun, x.DryRun)
		done := x.Result == client.Redriven || x.Result == client.Discarded
		if done {
			require.NotEqual(r, h.DryRun, reported[x.ID].Result == client.Begun)
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
	require.NoError(t, err)
	var names []string
	for _, q := range all {
		names = append(names, fmt.Sprint(q.Queue, " ", q.Messages))
		require.Equal(t, (time.Since(q.Oldest) < time.Minute), q.Messages > 0)
		require.Equal(t, min(q.Messages, 10), q.LookedAt)
		require.Empty(t, q.Problem)
	}
	got := strings.Join(names,
		", ")
	require.Equal(t, "control 0, quarantine 1, replies 0, requests-shop 12, tasks 0", got)
	for range 2 { // they are returned to the queue
		seen := r.look(port.Requests("shop"))
		l := seen["o-3"]
		require.Len(t, seen, 12)
		require.Equal(t, "request", l.Kind)
		require.Equal(t, "charge", l.Step)
		require.Equal(t, 1, l.Attempt)
		require.Equal(t, "requests-shop", l.Queue)
		require.Empty(t, l.Refused)
		require.Len(t, l.SHA256, 64)
		require.Equal(t, requestOf("o-3"), string(l.Body))
		require.LessOrEqual(t, time.Since(l.Sent), time.Minute)
		require.GreaterOrEqual(t, l.Received, 1)
	}
	some, err := r.client.DeadLetters(t.Context(), port.Requests("shop"), 3)
	require.NoError(t, err)
	require.Len(t, some, 3)
	for _, l := range r.look(port.Quarantine) {
		require.Equal(t, "unexpected end", l.Reason)
		require.Equal(t, port.Replies, l.Queue)
		require.True(t, strings.HasPrefix(l.Refused, "its queue would not accept it: "), l.Refused)
		require.Equal(t, `{"schema":1,"task":"o-1"`, string(l.Body))
	}
	_, err = r.client.DeadLetters(t.Context(), "replys", 1)
	require.ErrorIs(t, err, client.ErrNotFound)
	require.ErrorContains(t, err, "there are those of control, quarantine, replies, requests-shop, tasks")
	checks, err := r.client.Checks(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(checks,
		func(c client.Check) bool { return c.Name == "dead letters of requests-shop" })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, client.CheckFailed, checks[i].Result)
	require.True(t, strings.HasPrefix(checks[i].Text, "12 messages; the oldest of 10 looked at was sent 0s ago"), checks[i].Text)
	require.Contains(t, checks[i].Fix, "stepkeeper dead-letters list requests-shop")
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
	require.NoError(t, err)
	require.Equal(t, client.Redriven, reported[seen["o-7"].ID].Result)
	require.Len(t, r.look(dead), 25)
	reported, err = r.redrive(chosen)
	x := reported[seen["o-7"].ID]
	require.NoError(t, err)
	require.Len(t, reported, 3)
	require.Equal(t, client.Redriven, x.Result)
	require.Equal(t, dead, x.To)
	require.Equal(t, "o-7", x.OrderID)
	require.Equal(t, seen["o-7"].SHA256, x.SHA256)
	require.Equal(t, client.Missing, reported["none"].Result)
	left := r.look(dead)
	require.Len(t, left, 23)
	require.Empty(t, left["o-7"].ID)
	require.Empty(t, left["o-21"].ID)
	reported, err = r.redrive(chosen)
	require.NoError(t, err)
	require.Equal(t, client.Missing, reported[seen["o-7"].ID].Result)
	reported, err = r.discard(client.Handling{Queue: dead, IDs: []string{seen["o-8"].ID}})
	require.NoError(t, err)
	require.Equal(t, client.Discarded, reported[seen["o-8"].ID].Result)
	left = r.look(dead)
	require.Len(t, left, 22)
	require.Empty(t, left["o-8"].ID)
	reported, err = r.discard(client.Handling{Queue: dead, All: true})
	require.NoError(t, err)
	require.Len(t, reported, 22)
	require.Empty(t, r.look(dead))
}

// A quarantined message goes back as it was sent, if its queue would accept it now. Otherwise it stays.
func TestRedriveFromQuarantine(t *testing.T) {
	r := newRealRig(t)
	submission := func(id, workflow string) string {
		return `{"schema":1,"orderId":"` + id + `","workflow":"` + workflow + `","order":{"n":1}}`
	}
	_, err := r.client.Submit(t.Context(), order("there"))
	require.NoError(t, err)
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
	r.quarantine(port.Control, `{"schema":1,"kind":"settle","task":"there"}`, "odd")
	r.quarantine("nowhere", `{"schema":1,"task":"lost"}`, "odd")
	r.quarantine(port.Replies,
		`{"schema":1,"task":"repeating","output":"00000000.MC9hL2Fubg.dXllGwql4haxUySnKXUr6A"}`,
		"odd 00000000.MC9hL2Fubg.dXllGwql4haxUySnKXUr6A")
	r.quarantine(port.Tasks, `{"schema":1,"task":"child"}`, "odd")
	r.send(port.Quarantine, "no envelope")
	seen := r.look(port.Quarantine)
	reported, err := r.redrive(client.Handling{Queue: port.Quarantine, All: true})
	require.NoError(t, err)
	require.Len(t, reported, 12)
	// P39
	x := seen["repeating"]
	require.Equal(t, "odd (token)", x.Reason, "a token is kept")
	require.Contains(t, string(x.Body), `"(token)"`)
	for order, why := range map[string]string{
		"elsewhere": "there is no workflow other",
		"large":     "only its first 40000 bytes were kept", "gone": "there is no order gone",
		"gone2": "there is no order gone2", "ended": "send this close to the control queue",
		"there": "sent by the server itself", "repeating": "it held a token",
		"lost": `"nowhere", which this deployment does not have`, "child": "only the Scheduler may send",
		"no envelope": "it cannot be read",
	} {
		x := reported[seen[order].ID]
		require.Equal(t, client.NotTaken, x.Result, order)
		require.Contains(t, x.Text, why, order)
	}
	for _, order := range []string{"good", "early"} {
		x := reported[seen[order].ID]
		require.Equal(t, client.Redriven, x.Result, order)
		require.Equal(t, port.Intake, x.To, order)
	}
	good, err := r.client.Wait(t.Context(), "good")
	require.NoError(t, err)
	require.EqualValues(t, "Processed", good.State)
	left := r.look(port.Quarantine)
	require.Len(t, left, 10)
	require.Empty(t, left["good"].ID)
}

// A message is not deleted if it was not sent, if it is unknown whether it was sent, or if it could not be
// recorded.
func TestRedriveLosesNothing(t *testing.T) {
	r := newRealRig(t)
	target, err := url.Parse(r.url)
	require.NoError(t, err)
	failing := ""
	code := "AccessDenied"
	calls := []string{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		_, action, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
		calls = append(calls, action)
		if failing != "" && strings.HasPrefix(action, failing) {
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(map[string]string{
				"__type":  code,
				"message": "not for you",
			})
			return
		}
		q.Host = target.Host
		proxy.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	r.client, err = client.New(server.URL, client.WithRetry(1, time.Second))
	require.NoError(t, err)
	dead := port.Requests("shop")
	r.send(port.Dead(dead), requestOf("o-1"))
	id := r.look(dead)["o-1"].ID
	one := client.Handling{Queue: dead, IDs: []string{id}}
	for action, text := range map[string]string{
		"SendMessage":   "it was not sent: ",
		"DeleteMessage": "it was sent to requests-shop and is here still",
	} {
		failing = action
		reported, err := r.redrive(one)
		x := reported[id]
		require.ErrorIs(t, err, client.ErrForbidden, action)
		require.Equal(t, client.Failed, x.Result, action)
		require.True(t, strings.HasPrefix(x.Text, text), x.Text)
		require.Contains(t, x.Text, "not for you", action)
		failing = ""
		require.Equal(t, id, r.look(dead)["o-1"].ID, action)
	}
	failing = "SendMessage"
	code = "QueueDoesNotExist"
	reported, err := r.redrive(one)
	require.NoError(t, err)
	require.Equal(t, client.Failed, reported[id].Result, "to a queue that is gone")
	require.Contains(t, reported[id].Text, "SendMessage of requests-shop")
	failing = ""
	code = "AccessDenied"
	full := errors.New("the disk is full")
	for _, do := range []func(client.Handling) error{
		func(h client.Handling) error { return r.client.Redrive(t.Context(), h) },
		func(h client.Handling) error { return r.client.Discard(t.Context(), h) },
	} {
		calls = nil
		h := client.Handling{
			Queue: dead, IDs: []string{id}, By: "ada", Reason: "why",
			Record: func(client.Handled) error { return full },
		}
		require.ErrorIs(t, do(h), full)
		require.False(t, slices.ContainsFunc(calls, func(a string) bool {
			return strings.HasPrefix(a, "Send") || strings.HasPrefix(a, "Delete")
		}))
	}
	require.Equal(t, id, r.look(dead)["o-1"].ID, "the message is gone")
	for call, queue := range map[string]string{"ListQueues": "dead letters", "ReceiveMessage": dead} {
		failing = call
		_, err := r.client.DeadLetters(t.Context(), dead, 1)
		require.ErrorIs(t, err, client.ErrForbidden, call)
		require.Equal(t, call+" of "+queue+": not for you", err.Error())
	}
	failing = "GetQueueAttributes"
	all, err := r.client.DeadLetterQueues(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 5)
	require.Equal(t, "GetQueueAttributes of control: not for you", all[0].Problem)
	server.Close()
	_, err = r.client.DeadLetters(t.Context(), dead, 1)
	require.ErrorIs(t, err, client.ErrConnection)
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
	err := r.client.Redrive(t.Context(), client.Handling{
		Queue: dead, All: true, By: "ada", Reason: "why",
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
		},
	})
	again := r.look(dead)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Len(t, again, 3)
	require.NotEqual(t, seen["o-1"].ID, again["o-1"].ID)
}

// A wrong call is refused before any message is read.
func TestHandlingsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", client.WithRetry(1, time.Second))
		require.NoError(t, err)
		good := client.Handling{
			Queue: "replies", IDs: []string{"a"}, By: "ada", Reason: "why",
			Record: func(client.Handled) error { return nil },
		}
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
			err := c.Redrive(t.Context(), h)
			require.ErrorIs(t, err, client.ErrInvalid, what)
			require.ErrorContains(t, err, what)
		}
		require.ErrorIs(t, c.Discard(t.Context(), good), client.ErrConnection)
	})
}
