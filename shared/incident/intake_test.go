package incident_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/incident"
)

// refuse repeats that new orders are refused.
func (d *desk) refuse(active int) {
	d.t.Helper()
	require.NoError(d.t, d.Refused(marked, "busy", fmt.Sprintf("%d orders are active", active)))
}

// An intake that refuses orders is one incident until it is quiet for a minute, however often it refuses. A
// reminder has the newest number. What happens afterwards is another incident.
func TestRefusedOrders(t *testing.T) {
	d := newDesk(t, nil)
	d.refuse(3)
	if len(d.published) != 1 || !d.published[0].Intake ||
		d.published[0].RaiseAlert.Message != "3 orders are active" {
		t.Errorf("published %+v", d.published)
	}
	d.want("at once", "first 0")
	for n := range 25 * 60 {
		d.refuse(n)
		d.sweepAfter(time.Minute - time.Second)
	}
	last := d.published[len(d.published)-1]
	if len(d.published) != 1 || last.Kind != "reminder" || last.RaiseAlert.Message == "3 orders are active" ||
		last.Since == last.At {
		t.Errorf("after a day published %+v, want a reminder with a newer number", d.published)
	}
	d.published = nil
	d.sweepAfter(time.Minute)
	d.want("a minute without a refusal", "over 0")
	d.sweepAfter(time.Hour)
	d.want("nothing after that")
	d.refuse(4)
	d.want("the next one", "first 0")
}

// This incident counts no orders: orders in Error with the same code are another incident, and this one can
// end while they still wait.
func TestRefusedOrdersBesideOrdersInError(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "", "", "busy")
	d.refuse(3)
	d.want("two incidents", "first 1", "first 0")
	d.sweepAfter(2 * time.Minute)
	d.want("the intake's is over", "over 0")
	if d.whole != 0 {
		t.Errorf("open orders were read %d times for it", d.whole)
	}
}

// This incident has its own alert even if the limit of separate incidents of orders is reached.
func TestRefusedOrdersBesideTheMostIncidents(t *testing.T) {
	d := newDesk(t, nil)
	for i := range incident.MostOpen {
		d.stop(fmt.Sprint("o-", i), "order", "pay", fmt.Sprint("code-", i))
	}
	d.published = nil
	d.refuse(3)
	d.want("of the intake", "first 0")
}

// An alert that could not be published is published by a sweep, before the one that it is over.
func TestRefusedOrdersWhileAlertsFail(t *testing.T) {
	d := newDesk(t, nil)
	d.broken = fmt.Errorf("no route")
	d.refuse(3)
	d.broken = nil
	d.sweepAfter(2 * time.Minute)
	d.want("the sweep after", "first 0")
	d.sweepAfter(time.Second)
	d.want("the next one", "over 0")
}
