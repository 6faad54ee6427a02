package sqs_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// overSlow returns a queue with the stated defaults of package wire. SQS answers each request after its own time, or
// never if that is negative.
func overSlow(t *testing.T, times []time.Duration) (q port.Queue, calls *int) {
	t.Helper()
	calls = new(int)
	env := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
	c, err := wire.Environment(func(name string) (string, bool) { v, set := env[name]; return v, set })
	require.NoError(t, err)
	c.HTTPClient = &http.Client{Transport: awsstub.Answers(func(awsstub.Call) (int, string) {
		takes := times[min(*calls, len(times)-1)]
		*calls++
		if takes < 0 {
			return 0, ""
		}
		time.Sleep(takes)
		return http.StatusOK, `{}`
	})}
	queues := sqs.New(c, sqs.Config{URLs: map[string]string{"replies": "http://127.0.0.1/1/replies"}})
	q, err = queues.Queue("replies")
	require.NoError(t, err)
	return q, calls
}

// A call outlives an attempt without an answer, and a long poll has its wait in addition. Times are those of
// synctest's clock.
func TestTimeOfACall(t *testing.T) {
	const s, never = time.Second, -1
	receive := func(wait time.Duration) func(port.Queue) error {
		return func(q port.Queue) error {
			_, err := q.Receive(context.Background(), 10, wait, time.Minute)
			return err
		}
	}
	send := func(q port.Queue) error { return q.Send(context.Background(), text(`{}`))[0] }
	for _, c := range []struct {
		name   string
		call   func(port.Queue) error
		times  []time.Duration
		calls  int // least number of attempts
		within time.Duration
		fails  bool
	}{
		{"a long poll that finds nothing", receive(20 * s), []time.Duration{20 * s}, 1, 20 * s, false},
		{"its answer is late", receive(20 * s), []time.Duration{22 * s}, 1, 22 * s, false},
		{"its first attempt hangs", receive(2 * s), []time.Duration{never, s}, 2, 15 * s, false},
		{"all its attempts hang", receive(20 * s), []time.Duration{never}, 2, 30 * s, true},
		{"the first attempt of a short poll hangs", receive(0), []time.Duration{never, 0}, 2, 8 * s, false},
		{"the first attempt of sending hangs", send, []time.Duration{never, 0}, 2, 8 * s, false},
		{"all attempts of sending hang", send, []time.Duration{never}, 2, 10 * s, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, calls := overSlow(t, c.times)
				start := time.Now()
				err := c.call(q)
				require.LessOrEqual(t, time.Since(start), c.within)
				require.Equal(t, err != nil, c.fails)
				require.GreaterOrEqual(t, *calls, c.calls)
			})
		})
	}
}
