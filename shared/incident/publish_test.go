package incident_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
			if counts := d.sweepAfter(0); counts["order"].Orders != 12 {
				t.Errorf("counted %+v", counts)
			}
			time.Sleep(time.Minute)
		}
		close(release)
		synctest.Wait()
		d.sweepAfter(0)
		synctest.Wait()
		for _, x := range d.open() {
			if published[x.Step] != 1 || x.Published == 0 {
				t.Errorf("%s was published %d times, the last time at %s", x.Step, published[x.Step],
					x.Published)
			}
		}
		if len(d.open()) != 12 {
			t.Errorf("%d incidents are open", len(d.open()))
		}
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
	if len(publications) != 1 {
		t.Errorf("%d publications", len(publications))
	}
	d.want("one", "first 1")
	d.sweepAfter(time.Minute)
	if len(publications) != 1 {
		t.Errorf("%d publications after another sweep", len(publications))
	}
}

// A panic of a publication does not end the process. It is logged, and the publication is repeated.
func TestPublicationThatPanics(t *testing.T) {
	d := newDesk(t, nil)
	d.reporting = func() { panic("no mail") }
	d.stop("o-1", "order", "pay", "declined")
	if text := d.log.String(); !strings.Contains(text, "panicked: no mail") {
		t.Errorf("logged %q", text)
	}
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
		if n := strings.Count(string(e.Output), `"told":`); err != nil || n != orders {
			t.Errorf("%d of %d alerts are stored as published, %v", n, orders, err)
		}
	})
}

// slowLedger takes a time for each read, so that writers that do not wait for one another conflict.
type slowLedger struct{ port.Ledger }

func (l slowLedger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	e, err := l.Ledger.Entry(ctx, key)
	time.Sleep(time.Millisecond)
	return e, err
}
