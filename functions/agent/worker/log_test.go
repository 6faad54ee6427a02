package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Lambda's logger writes the text of a line under the key "message": no line has a key twice, and the
// ID of the queue's message stands in those that are about one.
func TestLogLinesHaveEachKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := awsstub.NewLog(t)
		b := newBench(t, port.ClockFunc(time.Now), worker.Config{Operations: charge(always(nil, nil))})
		workerOf := func(replies, quarantine port.Queue, run worker.Func) *worker.Worker {
			w, err := worker.New(worker.Config{
				Agent: "payment", Clock: b.clock, Log: log.Logger, Replies: replies,
				Quarantine: quarantine, Operations: charge(run), Ledger: memory.NewLedger(),
			})
			require.NoError(t, err)
			return w
		}
		usual := workerOf(discard{}, discard{}, always(nil, nil))
		failed := workerOf(discard{}, failing{err: port.ErrUnavailable}, always(nil, errors.New("no")))
		broken := workerOf(panicking{}, discard{},
			func(context.Context, worker.Call) (any, error) { panic("no") })
		late := request(b.clock.Now())
		plain := request(b.clock.Now())
		late.StopBy = late.ClaimedAt
		plain.Grade = core.Plain
		unreadable := func(body string) port.Delivery {
			return port.Delivery{Message: port.Message{Body: []byte(body)}, ID: "m-1"}
		}
		for _, w := range []*worker.Worker{usual, failed, broken} {
			for _, d := range []port.Delivery{
				delivery(request(b.clock.Now())), delivery(late),
				delivery(plain), delivery(plain), unreadable("{"), unreadable(`{"schema":2}`),
			} {
				w.Handle(t.Context(), d)
			}
		}
		q := &watchedQueue{refuses: port.ErrUnavailable}
		b.worker = usual
		stop := watching(b, q, worker.Pump{})
		require.NoError(t,
			b.queue("requests-payment").Send(t.Context(), []port.Message{{Body: []byte(`{"schema":2}`)}})[0])
		synctest.Wait()
		require.NoError(t, stop())
		lines := log.Lines()
		about := 0
		ofOrders := 0
		for _, line := range lines {
			if line["messageId"] != nil {
				about++
			}
			if line["order"] != nil && line["run"] != nil && line["step"] != nil && line["attempt"] != nil {
				ofOrders++
			}
		}
		require.GreaterOrEqual(t, len(lines), 15)
		require.GreaterOrEqual(t, about, 8)
		require.GreaterOrEqual(t, ofOrders, 5)
	})
}
