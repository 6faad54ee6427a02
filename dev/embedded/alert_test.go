package embedded_test

import (
	"bytes"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// quick is an interval of sweeps. The runtime looks for alerts at each twentieth sweep.
const quick = 5 * time.Millisecond

// An order that stops is in the log with all that is known of it, and with the commands that it
// accepts, for this very server.
func TestAlertIsLogged(t *testing.T) {
	w := newFixture(t, "5s")
	w.stopping()
	log := &logged{}
	w.options.Log = slog.New(slog.NewJSONHandler(log, nil))
	started, _ := w.run()
	server := started.Address
	status, body := post(t, server+"/v1/orders", "application/json", "",
		`{"schema":1,"orderId":"o-1","workflow":"pair","order":{"n":1}}`)
	require.Equal(t, 202, status, body)
	var line string
	eventually(t, "the alert", func() bool {
		for l := range strings.Lines(log.String()) {
			if strings.Contains(l, "ALERT") {
				line = l
			}
		}
		return line != ""
	})
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(line), &got))
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
	require.Equal(t, want, got)
}

// An alert is posted to the webhook and given to the command; one that was not taken is tried again by the
// next sweep, over the same connection, although the webhook answers with a text. A second order that stops for the
// same reason is of the same incident, and reports nothing at once.
func TestAlertIsSent(t *testing.T) {
	w := newFixture(t, "5s")
	w.stopping()
	posted := make(chan []byte, 10)
	var refusals, connections atomic.Int32
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if refusals.Add(1) == 1 {
			http.Error(rw, "busy", http.StatusServiceUnavailable)
			return
		}
		_, _ = rw.Write(bytes.Repeat([]byte("ok "), 5000))
		if r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/json" {
			posted <- body
		}
	}))
	hook.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	hook.Start()
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
	submit(t, s, "o-1", "")
	settled(t, s, "o-1", core.Error)
	next("first", 1, 10*time.Second)
	submit(t, s, "o-2", "")
	settled(t, s, "o-2", core.Error)
	next("reminder", 2, 5*time.Minute)
	eventually(t, "the command was given the first one twice, and the reminder", func() bool {
		text, _ := os.ReadFile(file)
		return bytes.Count(text, []byte("\n")) >= 3
	})
	require.Less(t, connections.Load(), int32(3), "three posts use a connection again")
	require.NoError(t, s.Close())
}

// That a webhook fails is logged without its address, which may hold a secret; and the order is settled all
// the same (P11).
func TestAlertWebhookIsKeptSecret(t *testing.T) {
	w := newFixture(t, "5s")
	w.stopping()
	log := w.logs()
	w.options.OnAlert = embedded.OnAlert{Webhook: "http://127.0.0.1:1/hooks/top-secret"}
	s := w.open()
	submit(t, s, "o-1", "")
	settled(t, s, "o-1", core.Error)
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
		_, err := embedded.Open(t.Context(), w.options)
		require.ErrorContains(t, err, want)
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
