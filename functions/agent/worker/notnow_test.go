package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// asked hands a request of an order to the worker, and answers its reply.
func (b *bench) asked(order string, change ...func(*message.Request)) *message.Reply {
	b.t.Helper()
	req := request(b.worker.Clock.Now())
	req.OrderID = order
	req.Key = order + "/0/pay"
	for _, c := range change {
		c(req)
	}
	b.worker.Handle(context.Background(), delivery(req))
	return b.reply()
}

// P45. However often one order fails, and however many attempts it makes, the breaker stays closed: the
// calls of all others are made. As many failures of different orders open it. Broken by: a key counts
// each time.
func TestOnePoisonOrderDoesNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		sick := false
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{
			Retry: worker.Retry{Tries: 3},
			Operations: charge(func(_ context.Context, c worker.Call) (any, error) {
				calls++
				if sick || strings.HasPrefix(c.Key, "poison") {
					return nil, errors.New("down")
				}
				return nil, nil
			}),
		})
		others := 0
		for attempt := range 60 {
			r := b.asked("poison")
			require.Equal(t, core.OutcomeRetryLater, r.Outcome, "%+v", attempt)
			require.Equal(t, "failed", r.Error.Code, "%+v", attempt)
			if attempt%4 == 3 { // now and then another one
				others++
				require.Equal(t, core.OutcomeDone, b.asked(fmt.Sprint("good-", attempt)).Outcome, "%v", attempt)
			}
		}
		require.Equal(t, 60*3+others, calls)
		require.Equal(t, "closed", b.worker.Stats().Breakers["charge"])
		sick = true
		for n := range 4 {
			b.asked(fmt.Sprint("sick-", n))
		}
		// with the one that has failed before
		require.Equal(t, "open", b.worker.Stats().Breakers["charge"])
	})
}

// P45. breaker-open is answered only where no call was made, and says what opened the breaker; the first
// call after it counts as ever. Broken by: an own retry that meets the open breaker answers breaker-open.
func TestBreakerOpenMeansThatNoCallWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{
				Retry: worker.Retry{Tries: 2}, Breaker: worker.Breaker{Failures: 2, Window: 4},
				Operations: charge(counting(&calls, nil, worker.WithCode(errors.New("down"), "http-503"))),
			})
		// no time to wait in the queue
		twice := func(req *message.Request) { req.StopBy = req.ClaimedAt + 4000 }
		for n := range 20 {
			before := calls
			r := b.asked(fmt.Sprint("o-", n), twice)
			made := calls > before
			require.NotEqual(t, r.Error.Code == core.CodeBreakerOpen, made)
			require.NotEqual(t, strings.Contains(r.Error.Message, "not made"), made)
			if r.Error.Code == core.CodeBreakerOpen &&
				(!strings.Contains(r.Error.Message, "http-503: down") || r.RetryAfter <= 0) {
				t.Errorf("%+v, again after %s", r.Error, r.RetryAfter)
			}
			time.Sleep(time.Second)
		}
		require.GreaterOrEqual(t, calls, 5)
		require.LessOrEqual(t, calls, 12)
	})
}

// P45. While the credentials are refused the breaker holds back the calls, and says why: an operator reads
// unauthorized, not that a breaker is open. One call shows that they were renewed.
func TestABreakerOpenedByRefusedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		expired := true
		b := newBench(t, port.ClockFunc(time.Now),
			worker.Config{Operations: worker.Operations{
				"charge": {Run: func(context.Context, worker.Call) (any, error) {
					calls++
					if expired {
						return nil, worker.Unauthorized(errors.New("the token has expired"))
					}
					return nil, nil
				}},
				"refund": {Run: always(nil, nil)},
			}})
		short := func(req *message.Request) { req.StopBy = req.ClaimedAt + 4000 }
		for n := range 50 {
			r := b.asked(fmt.Sprint("o-", n), short)
			require.Equal(t, core.CodeUnauthorized, r.Error.Code, "%v", n)
			require.Equal(t, core.OutcomeRetryLater, r.Outcome, "%v", n)
		}
		require.Equal(t, 5, calls)
		other := b.asked("o-50", func(req *message.Request) { req.Name = "refund" })
		require.Equal(t, core.OutcomeDone, other.Outcome, "the breaker of another operation")
		require.Equal(t, map[string]string{"charge": "open", "refund": "closed"}, b.worker.Stats().Breakers)
		expired = false
		time.Sleep(6 * time.Second)
		require.Equal(t, core.OutcomeDone, b.asked("o-51", short).Outcome)
		require.Equal(t, "closed", b.worker.Stats().Breakers["charge"])
	})
}

// P45. A key counts once among the calls that the breaker looks at, and not once for ever: what failed
// before them is forgotten. Broken by: the keys of all calls are kept.
func TestAKeyCountsAgainAfterAWhile(t *testing.T) {
	b := newBench(t, memory.NewClock(noon), worker.Config{
		Breaker: worker.Breaker{Failures: 2, Window: 3},
		Operations: charge(func(_ context.Context, c worker.Call) (any, error) {
			if strings.HasPrefix(c.Key, "bad") {
				return nil, errors.New("down")
			}
			return nil, nil
		}),
	})
	for _, order := range []string{"bad-1", "good-1", "good-2", "good-3", "bad-1", "bad-2"} {
		b.asked(order)
	}
	require.Equal(t, "open", b.worker.Stats().Breakers["charge"])
}

// P45. A call that had no effect while the breaker is not closed counts for the breaker, and never for the
// order: neither the calls that open the breaker nor its probes. A call with an unknown effect counts.
func TestAProbeWithoutEffectIsNoFailureOfItsOrder(t *testing.T) {
	refused := worker.WithCode(worker.NoEffect(errors.New("connection refused")), "network")
	for name, tt := range map[string]struct {
		err     error
		counted bool
	}{
		"not sent": {refused, false},
		"http-503": {worker.WithCode(errors.New("down"), "http-503"), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b := newBench(t, port.ClockFunc(time.Now), worker.Config{
					Retry:      worker.Retry{Tries: 2},
					Breaker:    worker.Breaker{Failures: 2, Window: 4},
					Operations: charge(counting(&calls, nil, tt.err)),
				})
				soon := func(req *message.Request) { req.StopBy = req.ClaimedAt + 4000 }
				first := b.asked("first", soon) // the breaker is closed after it
				require.NotEqual(t, core.CodeBreakerOpen, first.Error.Code)
				for n := range 20 {
					before := calls
					r := b.asked(fmt.Sprint("o-", n), soon)
					if called := calls > before; called && tt.counted == (r.Error.Code == core.CodeBreakerOpen) ||
						!called && r.Error.Code != core.CodeBreakerOpen {
						t.Fatalf("order %d: called %v, and the reply is %+v", n, called, r.Error)
					}
					time.Sleep(time.Second)
				}
				require.GreaterOrEqual(t, calls, 4)
				require.NotEqual(t, "closed", b.worker.Stats().Breakers["charge"])
			})
		})
	}
}
