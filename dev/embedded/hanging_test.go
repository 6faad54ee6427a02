package embedded_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// hangingHook is a webhook that answers no call before the test ends.
type hangingHook struct {
	*httptest.Server
	called, left atomic.Int32 // calls that came, and those whose caller has gone
}

func newHangingHook(t *testing.T) *hangingHook {
	h := &hangingHook{}
	ended := make(chan struct{})
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices that the caller goes
		h.called.Add(1)
		select {
		case <-r.Context().Done():
			h.left.Add(1)
		case <-ended:
		}
	}))
	t.Cleanup(h.Close)
	t.Cleanup(func() { close(ended) })
	return h
}

// stopsAt is a workflow that stops for the operator at its first failure, of a queue of its own incident. The
// test takes each request once, so that none may wait in its queue for longer than queueAllowance (P32).
const stopsAt = `workflow: stops-%[1]d
grace: 100ms
agents:
  shop: {queueAllowance: 5s, clockSkew: 10ms}
steps:
  first: {agent: shop, operation: first, timeout: 100ms, onFailure: stop, undo: none, grade: fenced, retry: {maxFailures: 1}}
`

// Twelve incidents, of orders that the Supervisor stops and of orders that an agent has failed, whose alerts
// are never taken: an overdue order gets its next attempt, another one its next step, and the alerts are in
// the log.
func TestSinksThatHangDelayNoOrder(t *testing.T) {
	const incidents = 12
	w := newFixture(t, "100ms")
	w.outside()
	for i := range incidents {
		file := filepath.Join(w.dir, "workflows", fmt.Sprintf("stops-%d.yaml", i))
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, stopsAt, i), 0o600))
	}
	hook := newHangingHook(t)
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	log := w.logs()
	w.options.OnAlert = embedded.OnAlert{
		Webhook: hook.URL, Command: []string{"sleep", "1000"},
		Timeout: time.Hour,
	}
	s := w.open()
	defer func() { // alerts that wait for their turn end too
		closeRuntime(t, s)
		if text := log.String(); strings.Contains(text, "panicked") {
			t.Errorf("logged %s", text)
		}
	}()
	take := requestsOf(t, s)
	replies := queueOf(t, s, port.Replies)
	for i := range incidents {
		o := message.SubmitOrder{
			Schema: 1, OrderID: fmt.Sprintf("stop-%d", i),
			Workflow: fmt.Sprintf("stops-%d", i), Order: json.RawMessage(`{}`),
		}
		require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
	}
	for i := range incidents {
		request := take("")
		if i%2 == 0 {
			continue // the Supervisor finds it overdue
		}
		reply := message.Reply{
			Schema: 1, OrderID: request.OrderID, Run: request.Run, Step: request.Step,
			Attempt: request.Attempt, Operation: request.Operation,
			Outcome: core.OutcomeFailed, Error: &message.ReplyError{Code: "failed"}, Agent: "shop",
		}
		require.NoError(t, replies.Send(t.Context(), []port.Message{{Value: &reply}})[0])
	}
	alerts := func() int { return log.count("ALERT: ") }
	eventually(t, "the alerts of failed steps are in the log", func() bool { return alerts() == incidents/2 })
	clock.Advance(10 * time.Second)
	eventually(t, "the alerts are in the log, and some with the webhook", func() bool {
		return alerts() == incidents && hook.called.Load() > 0
	})
	for i := range incidents { // they are reported, and settled (P11)
		_, err := s.Wait(t.Context(), fmt.Sprintf("stop-%d", i),
			func(x *protocol.Task) bool {
				return x.ProcessState == core.Error && x.End.ResendAt == 0
			})
		require.NoError(t, err)
	}
	submit(t, s, "late", "")
	take("late")
	eventually(t, "the overdue order has its next attempt", func() bool {
		clock.Advance(100 * time.Millisecond)
		task, _, err := s.Task(t.Context(), "late")
		return err == nil && task.Steps[0].Attempt > 1
	})
	require.LessOrEqual(t, hook.called.Load(), int32(4))
}

// requestsOf returns a function that takes the next request of an order from the queue of the agent shop; ""
// is any order.
func requestsOf(t *testing.T, s *embedded.Runtime) func(order string) message.Request {
	q := queueOf(t, s, port.Requests("shop"))
	return func(order string) (r message.Request) {
		t.Helper()
		eventually(t, "a request of order "+order, func() bool {
			taken, err := q.Receive(t.Context(), 1, time.Second, time.Minute)
			require.NoError(t, err)
			for _, d := range taken {
				got, err := message.Of[message.Request](d)
				require.NoError(t, err)
				r = *got
			}
			return len(taken) > 0 && (order == "" || r.OrderID == order)
		})
		return r
	}
}

// The webhook and the command have a limited time each, the command with all that it has started; what either
// says is in the log, cut.
func TestSinksThatHangAreEnded(t *testing.T) {
	w := newFixture(t, "5s")
	w.stopping()
	hook := newHangingHook(t)
	fifo := filepath.Join(w.dir, "fifo")
	script := filepath.Join(w.dir, "alert.sh")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	// What the script starts holds the pipe open as long as it runs.
	text := fmt.Sprintf("exec 3>%s\nprintf '%%01000d' 7\nsleep 1000 &\nsleep 1000\n", fifo)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o600))
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	log := w.logs()
	w.options.SweepEvery = quick
	w.options.OnAlert = embedded.OnAlert{
		Webhook: hook.URL, Command: []string{"sh", script},
		Timeout: 300 * time.Millisecond,
	}
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "o-1", "")
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(fifo) // until no process has it open for writing
		ended <- err
	}()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("what the command has started runs on")
	}
	eventually(t, "the webhook's caller goes", func() bool { return hook.left.Load() > 0 })
	eventually(t, "the failure is logged",
		func() bool { return strings.Contains(log.String(), "could not be published") })
	line := log.String()
	require.True(t, regexp.MustCompile(
		`the webhook: [^\n]*deadline exceeded[^\n]*the command sh: it was ended after 300ms`).MatchString(
		line))
	require.NotContains(t, line, strings.Repeat("0", 501))
	go func() { _, _ = os.ReadFile(fifo) }()
	eventually(t, "it is tried again",
		func() bool { clock.Advance(10 * time.Second); return hook.called.Load() > 1 })
}

// unparseable stands for a redirect whose address cannot be parsed.
const unparseable = 0

// A webhook that redirects has not taken the alert, and no other host gets it: neither as a POST nor as a GET
// of a login page.
func TestWebhookFollowsNoRedirect(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308, unparseable} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			w := newFixture(t, "5s")
			w.stopping()
			var elsewhere atomic.Int32
			login := httptest.NewServer(
				http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
			t.Cleanup(login.Close)
			target := `\"` + login.URL + `\"`
			hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if status == unparseable {
					w.Header().Set("Location", "https://%zz/?secret=1")
					w.WriteHeader(http.StatusFound)
					return
				}
				http.Redirect(w, r, login.URL+"/login?secret=1", status)
			}))
			t.Cleanup(hook.Close)
			log := w.logs()
			w.options.OnAlert = embedded.OnAlert{Webhook: hook.URL}
			s := w.open()
			defer closeRuntime(t, s)
			submit(t, s, "o-1", "")
			want := fmt.Sprintf("the webhook answered %d", status)
			if status == unparseable {
				target = "an address that is missing or cannot be read"
				want = "the webhook answered 302"
			}
			eventually(t, "the redirect is logged as a failure",
				func() bool { return strings.Contains(log.String(), want) })
			text := log.String()
			require.Contains(t, text, "set its final address")
			require.Contains(t, text, "a redirect to "+target+",")
			require.NotContains(t, text, "secret")
			require.Zero(t, elsewhere.Load())
		})
	}
}

// The metric of the sweeps' lag is true also while no sweep ends.
func TestLagOfSweepsThatStandStill(t *testing.T) {
	w := newFixture(t, "5s")
	w.outside()
	clock := memory.NewClock(time.Now())
	w.options.Clock = clock
	w.options.SweepEvery = time.Hour
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "o-1", "")
	take := requestsOf(t, s)
	take("o-1")
	clock.Advance(3 * time.Hour)
	match := regexp.MustCompile(`(?m)^stepkeeper_sweep_lag_seconds (\S+)$`).FindStringSubmatch(scraped(s))
	require.NotNil(t, match, "no metric of the lag")
	lag, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, lag, 2.9*3600)
	require.LessOrEqual(t, lag, 3.0*3600)
}
