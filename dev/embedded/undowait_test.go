package embedded_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// defaults leaves all times but the timeouts to their defaults.
const defaults = `workflow: pair
notify: [undoing]
steps:
  first: {agent: shop, operation: first, timeout: 5s, onFailure: undo, undo: undo-first, grade: fenced}
  second: {agent: shop, operation: second, after: [first], timeout: 5s, onFailure: undo, undo: undo-second, grade: idempotent}
`

// An order that is being undone says which step it waits for, and until when: with the defaults 21 s
// after the claim (P21). The application gets the same.
func TestAnUndoSaysWhatItWaitsFor(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(defaults)
	w.shop.refuse.Store(true)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", `,"replyTo":"shop"`)
	var until core.Time
	eventually(t, "the undo waits", func() bool {
		task, def, err := s.Task(t.Context(), "one")
		require.NoError(t, err)
		shown := view.Of(task, def)
		if shown.UndoWait == nil {
			return false
		}
		claimed := shown.Steps[1].ClaimedAt
		want := view.UndoWait{
			Step: "second", For: "quiet", LastEffect: claimed.Add(20 * core.Second),
			Until: claimed.Add(21*core.Second) + 1,
		}
		require.Equal(t, want, *shown.UndoWait)
		until = want.Until
		return true
	})
	q, err := s.Queue(embedded.Status("shop"))
	require.NoError(t, err)
	eventually(t, "the application is notified", func() bool {
		got, err := q.Receive(t.Context(), 1, patience, time.Minute)
		require.NoError(t, err)
		require.Len(t, got, 1)
		reported, err := message.Of[message.Status](got[0])
		require.NoError(t, err)
		if reported.Kind == core.StatusUndoing && (reported.Step != "second" || reported.Until != until ||
			reported.OrderID != "one") {
			t.Errorf("it is reported %+v, want step second and %s", reported, until)
		}
		return reported.Kind == core.StatusUndoing
	})
}
