package incident_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	require.Len(t, d.published, 1)
	require.True(t, d.published[0].Intake, "published %+v", d.published)
	require.Equal(t, "3 orders are active", d.published[0].RaiseAlert.Message)
	d.want("at once", "first 0")
	for n := range 25 * 60 {
		d.refuse(n)
		d.sweepAfter(time.Minute - time.Second)
	}
	last := d.published[len(d.published)-1]
	require.Len(t, d.published, 1)
	require.EqualValues(t, "reminder", last.Kind)
	require.NotEqual(t, "3 orders are active", last.RaiseAlert.Message)
	require.NotEqual(t, last.At, last.Since)
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
	require.Zero(t, d.whole)
}
