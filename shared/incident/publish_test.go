package incident_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// No caller waits for a publication: neither the actors that raise alerts nor a sweep, which counts the
// orders all the same. While an alert is on its way it is not published a second time, and each one arrives
// in the end.
func TestNoCallerWaitsForAPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var mu sync.Mutex
		published := map[string]int{}
		d := newDesk(t, func(c *incident.Config) {
			c.Clock = port.ClockFunc(time.Now)
			c.Go = func(publication func(context.Context)) { go publication(marked) }
			c.Publish = func(_ context.Context, a message.Alert) error {
				mu.Lock()
				published[a.Step]++
				mu.Unlock()
				<-release
				return nil
			}
		})
		for i := range 12 {
			d.stop(fmt.Sprint("o-", i), "order", fmt.Sprint("step-", i), "declined")
		}
		for range 3 {
			require.Equal(t, 12, d.sweepAfter(0)["order"].Orders)
			time.Sleep(time.Minute)
		}
		close(release)
		synctest.Wait()
		d.sweepAfter(0)
		synctest.Wait()
		for _, x := range d.open() {
			require.Equal(t, 1, published[x.Step], x.Step)
			require.NotZero(t, x.Published, x.Step)
		}
		require.Len(t, d.open(), 12)
	})
}

// A sweep that read the incidents before an alert was published does not publish it once more.
func TestSweepThatReadBefore(t *testing.T) {
	var publications []func(context.Context)
	d := newDesk(t, func(c *incident.Config) {
		c.Go = func(publication func(context.Context)) { publications = append(publications, publication) }
	})
	d.stop("o-1", "order", "pay", "declined")
	d.meanwhile = func() {
		d.meanwhile = nil
		publications[0](marked)
	}
	d.sweepAfter(time.Minute)
	for _, late := range publications[1:] {
		late(marked)
	}
	d.want("one", "first 1")
}

// A panic of a publication does not end the process. It is logged, and the publication is repeated.
func TestPublicationThatPanics(t *testing.T) {
	d := newDesk(t, nil)
	d.reporting = func() { panic("no mail") }
	d.stop("o-1", "order", "pay", "declined")
	require.Contains(t, d.log.String(), "panicked: no mail")
	d.reporting = nil
	d.sweepAfter(time.Minute)
	d.want("then", "first 1")
}

// Publications of one process that end together do not compete for the document: each is stored at the first
// try.
func TestPublicationsAreStoredOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := slowLedger{memory.NewLedger()}
		s := incident.New(incident.Config{
			Records: ledger, Clock: port.ClockFunc(time.Now),
			Publish: func(context.Context, message.Alert) error { return nil },
			Go:      func(publication func(context.Context)) { go publication(t.Context()) },
		})
		const orders = 30 // more than the tries of one change
		for i := range orders {
			go func() {
				if err := s.Raise(t.Context(), core.RaiseAlert{
					OrderID:  fmt.Sprint("o-", i),
					Workflow: "order", Step: fmt.Sprint("step-", i),
				}); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		e, err := ledger.Entry(t.Context(), incident.Key)
		n := strings.Count(string(e.Output), `"told":`)
		require.NoError(t, err)
		require.Equal(t, orders, n)
	})
}

// slowLedger takes a time for each read, so that writers that do not wait for one another conflict.
type slowLedger struct{ port.Ledger }

func (l slowLedger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	e, err := l.Ledger.Entry(ctx, key)
	time.Sleep(time.Millisecond)
	return e, err
}
