package embedded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// quick is an interval of sweeps. The runtime looks for alerts at each twentieth sweep.
const quick = 5 * time.Millisecond

// alertLines are those of a log as they are written.
type alertLines struct {
	mu    sync.Mutex
	alert chan []byte
}

func (l *alertLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(line, []byte("ALERT")) {
		select {
		case l.alert <- bytes.Clone(line):
		default:
		}
	}
	return len(line), nil
}

// An order that stops is in the log with all that is known of it, and with the commands that it
// accepts, for this very server.
func TestAlertIsLogged(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo",
		"second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
	log := &alertLines{alert: make(chan []byte, 1)}
	ready := make(chan string, 1)
	w.options.Log = slog.New(slog.NewJSONHandler(log, nil))
	w.options.Listen = "127.0.0.1:0"
	w.options.Ready = func(s embedded.Started) { ready <- s.Address }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- embedded.Run(ctx, w.options) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	server := <-ready
	answer, err := http.Post(server+"/v1/orders", "application/json",
		strings.NewReader(`{"schema":1,"orderId":"o-1","workflow":"pair","order":{"n":1}}`))
	require.NoError(t, err)
	_ = answer.Body.Close()
	var line []byte
	select {
	case line = <-log.alert:
	case <-time.After(patience):
		t.Fatal("no alert")
	}
	var got map[string]any
	require.NoError(t, json.Unmarshal(line, &got))
	for _, name := range []string{"since", "stopped", "tried"} {
		at, _ := got[name].(string)
		require.True(t, regexp.MustCompile(`^20\d\d-.*Z$`).MatchString(at), "%s %q", name, at)
		delete(got, name)
	}
	delete(got, "time")
	title, since, _ := strings.Cut(got["msg"].(string), " since ")
	got["msg"] = title
	require.True(t, regexp.MustCompile(`^20\d\d-\d\d-\d\d \d\d:\d\d UTC$`).MatchString(since), "since %q", since)
	want := map[string]any{
		"level": "ERROR", "msg": "ALERT: pair, step second: order o-1 in Error", "kind": "first",
		"in":     server,
		"orders": "1", "order": "o-1", "workflow": "pair", "phase": "forward", "step": "second",
		"attempts": "1", "key": "o-1/0/second", "code": "failed", "reason": "no such thing", "run": "0",
		"commands": []any{"stepkeeper --server " + server + " show o-1", "stepkeeper --server " + server +
			" resubmit o-1", "stepkeeper --server " + server + " undo o-1", "stepkeeper --server " + server +
			" resolve o-1 second happened", "stepkeeper --server " + server + " resolve o-1 second not-happened"},
	}
	a, b := fmt.Sprint(got), fmt.Sprint(want)
	require.Equal(t, b, a)
}

// An order that is undone because a step failed is posted too, where its workflow asks for that: the whole of
// what a program reads.
func TestAlertOfAnUndoIsSent(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "notify: [started, step-finished]", "notify: [undone]",
		1))
	w.shop.refuse.Store(true)
	posted := make(chan []byte, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- body
	}))
	t.Cleanup(hook.Close)
	w.options.Log = slog.New(slog.DiscardHandler)
	w.options.OnAlert = embedded.OnAlert{Webhook: hook.URL}
	s := w.open()
	r := s.Submit(t.Context(), []message.SubmitOrder{{
		Schema: 1, OrderID: "o-1", Workflow: "pair",
		Order: json.RawMessage(`{"n":1}`),
	}})[0]
	require.NoError(t, r.Err)
	// reported, and settled (P11)
	_, err := s.Wait(t.Context(), "o-1", func(x *protocol.Task) bool {
		return x.ProcessState == core.Compensated && x.End.ResendAt == 0
	})
	require.NoError(t, err)
	select {
	case body := <-posted:
		times := regexp.MustCompile(`20\d\d-[0-9T:.-]*Z`)
		const want = `{"kind":"first","deployment":"","orderId":"o-1","workflow":"pair","run":0,"command":0,"phase":"","undone":true,"step":"second","code":"failed","message":"no such thing","at":"T",` +
			`"accepts":{"resubmit":true,"undo":false,"resolve":false},"orders":0,"since":"T","commands":["stepkeeper show o-1","stepkeeper list --where state=Compensated,workflow=pair","stepkeeper resubmit o-1"],"subject":"Stepkeeper: `
		require.Contains(t, times.ReplaceAllString(string(body), "T"), want)
	case <-time.After(patience):
		t.Fatal("no alert")
	}
	require.NoError(t, s.Close())
	require.Empty(t, posted)
}

// An alert is posted to the webhook and given to the command; one that was not taken is tried again by the
// next sweep. A second order that stops for the same reason is of the same incident, and reports nothing at
// once.
func TestAlertIsSent(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo",
		"second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
	posted := make(chan []byte, 10)
	refusals := atomic.Int32{}
	hook := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if refusals.Add(1) == 1 {
			http.Error(rw, "busy", http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json" {
			posted <- body
		}
	}))
	t.Cleanup(hook.Close)
	file := filepath.Join(t.TempDir(), "alerts")
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	w.options.SweepEvery = quick
	w.options.OnAlert = embedded.OnAlert{
		Webhook: hook.URL, Command: []string{"tee", "-a", file},
		Window: time.Minute, Reminder: time.Hour,
	}
	s := w.open()
	submit := func(id string) {
		r := s.Submit(t.Context(), []message.SubmitOrder{{
			Schema: 1, OrderID: id, Workflow: "pair",
			Order: json.RawMessage(`{"n":1}`),
		}})[0]
		require.NoError(t, r.Err)
		// reported, and settled (P11)
		_, err := s.Wait(t.Context(), id, func(x *protocol.Task) bool {
			return x.ProcessState == core.Error &&
				x.End.ResendAt == 0
		})
		require.NoError(t, err)
	}
	next := func(kind string, orders int, step time.Duration) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; {
			select {
			case body := <-posted:
				var a message.Alert
				require.NoError(t, json.Unmarshal(body, &a))
				require.Equal(t, kind, string(a.Kind))
				require.Equal(t, orders, a.Orders)
				require.Equal(t, "o-1", a.OrderID)
				require.Equal(t, "failed", a.Code)
				return
			case <-time.After(20 * time.Millisecond):
				clock.Advance(step)
			}
			require.False(t, time.Now().After(deadline), "no alert %s", kind)
		}
	}
	submit("o-1")
	next("first", 1, 10*time.Second)
	submit("o-2")
	next("reminder", 2, 5*time.Minute)
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if bytes.Count(text, []byte("\n")) >= 3 { // the first one twice
			break
		}
		require.False(t, time.Now().After(deadline), "the command was given %v: %s", err, text)
	}
	require.NoError(t, s.Close())
}

// Alerts to a webhook share a connection, although it answers with a text.
func TestAlertsShareAConnection(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo",
		"second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
	var alerts, connections atomic.Int32
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = rw.Write(bytes.Repeat([]byte("ok "), 5000))
		alerts.Add(1)
	}))
	hook.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	hook.Start()
	t.Cleanup(hook.Close)
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	w.options.SweepEvery = quick
	w.options.OnAlert = embedded.OnAlert{Webhook: hook.URL, Window: time.Minute, Reminder: time.Hour}
	s := w.open()
	submit(t, s, "o-1", "")
	// Until the order is in Error, a minute more would make its requests late, and it would be undone.
	_, err := s.Wait(t.Context(), "o-1",
		func(x *protocol.Task) bool { return x.ProcessState == core.Error })
	require.NoError(t, err)
	eventually(t, "three alerts", func() bool {
		clock.Advance(time.Minute)
		return alerts.Load() >= 3
	})
	require.EqualValues(t, 1, connections.Load())
	require.NoError(t, s.Close())
}

// That a webhook fails is logged without its address, which may hold a secret; and the order is settled all
// the same (P11).
func TestAlertWebhookIsKeptSecret(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo",
		"second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
	var log logged
	w.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	w.options.OnAlert = embedded.OnAlert{Webhook: "http://127.0.0.1:1/hooks/top-secret"}
	s := w.open()
	r := s.Submit(t.Context(), []message.SubmitOrder{{
		Schema: 1, OrderID: "o-1", Workflow: "pair",
		Order: json.RawMessage(`{"n":1}`),
	}})[0]
	require.NoError(t, r.Err)
	_, err := s.Wait(t.Context(), "o-1", func(x *protocol.Task) bool {
		return x.ProcessState == core.Error &&
			x.End.ResendAt == 0
	})
	require.NoError(t, err)
	eventually(t, "the failure is logged",
		func() bool { return strings.Contains(log.String(), "the webhook: ") })
	require.NoError(t, s.Close())
	require.NotContains(t, log.String(), "top-secret")
}

// Settings that cannot work are refused at the start.
func TestAlertSettings(t *testing.T) {
	for want, o := range map[string]embedded.OnAlert{
		"a URL like": {Webhook: "alerts.example.com"}, `"https:///hook"`: {Webhook: "https:///hook"},
		"cannot be run": {Command: []string{"no-such-program-here"}}, "a time like 15m": {Window: -1},
	} {
		w := newFixture(t, "5s")
		w.options.OnAlert = o
		if s, err := embedded.Open(t.Context(), w.options); err == nil ||
			!strings.Contains(err.Error(), want) {
			if s != nil {
				_ = s.Close()
			}
			t.Errorf("%+v: %v; want %s", o, err, want)
		}
	}
}

// The operator gets one alert while new orders are refused because as many as --max-open are active, with the
// number, the limit and the flag; one that it is over; and another one the next time.
func TestAlertWhileOrdersAreRefused(t *testing.T) {
	w := newFixture(t, "5m")
	posted := make(chan message.Alert, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var a message.Alert
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		posted <- a
	}))
	t.Cleanup(hook.Close)
	clock := memory.NewClock(time.Now())
	w.shop.gate = make(chan struct{})
	w.options.Clock = clock
	w.options.SweepEvery = quick
	w.options.MaxOpen = 3
	w.options.OnAlert = embedded.OnAlert{Webhook: hook.URL}
	s := w.open()
	defer closeRuntime(t, s)
	next := func(kind message.AlertKind) {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); clock.Advance(time.Second) {
			select {
			case a := <-posted:
				text := a.RaiseAlert.Message
				require.Equal(t, kind, a.Kind)
				require.True(t, a.Intake, "the alert is %+v, want %s of the intake", a, kind)
				require.Equal(t, "busy", a.Code)
				require.True(t, strings.HasPrefix(text, "3 orders are active and the limit is 3 (--max-open)"))
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		t.Fatalf("no alert %s", kind)
	}
	n := 0
	for range 2 {
		for range 10 {
			n++
			s.Submit(t.Context(), []message.SubmitOrder{order(t, fmt.Sprintf("o-%d", n), "")})
		}
		next(message.AlertFirst)
		for range 3 * 2 { // both steps of the orders that were taken
			w.shop.gate <- struct{}{}
		}
		eventually(t, "there is room again",
			func() bool { return s.Health(t.Context()).Checks["intake"] == "ok" })
		next(message.AlertOver)
	}
}
