package embedded_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// refuseWrites makes the store fail for writes to a table, until the function answered is called.
func (w *fixture) refuseWrites(what, table string) (end func()) {
	w.t.Helper()
	return w.disturbWrites(what, table, "ABORT, 'refused by the test'")
}

// disturbWrites lets SQLite raise something at writes to a table.
func (w *fixture) disturbWrites(what, table, raised string) (end func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.options.Data, "stepkeeper.db")+
		"?_pragma=busy_timeout(10000)")
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = db.Close() })
	run := func(script string) {
		w.t.Helper()
		_, err := db.Exec(script)
		require.NoError(w.t, err)
	}
	run("CREATE TRIGGER refuse BEFORE " + what + " ON " + table +
		" BEGIN SELECT RAISE(" + raised + "); END")
	return func() {
		w.t.Helper()
		run("DROP TRIGGER refuse")
	}
}

// While the store fails, messages are returned to the queue after longer and longer pauses: none is lost,
// none becomes a dead letter within minutes, and the work goes on by itself afterwards.
func TestWhatCannotBeStoredComesBack(t *testing.T) {
	w, clock := onItsOwnClock(t, "7m30s")
	w.shop.gate = make(chan struct{})
	log := w.logs()
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	eventually(t, "the call is made", func() bool { return w.shop.at.Load() == 1 })
	end := w.refuseWrites("UPDATE", "orders")
	w.shop.gate <- struct{}{}
	resting := func() bool {
		d := depth(t, s, port.Replies)
		return d.Visible == 0 && d.InFlight == 1
	}
	eventually(t, "the reply is returned to the queue", resting)
	for range 100 {
		clock.Advance(time.Second)
		eventually(t, "the reply is returned to the queue", resting)
	}
	eventually(t, "the reply came again and was returned again", func() bool {
		return log.count(`msg="message returned to its queue" order=one`) > 3
	})
	require.Zero(t, depth(t, s, port.Dead(port.Replies)).Visible, "dead letters after 100 s")
	end()
	close(w.shop.gate)
	eventually(t, "the order goes on", func() bool {
		clock.Advance(time.Second)
		task, _, err := s.Task(t.Context(), "one")
		return err == nil && task.ProcessState == core.Processed
	})
	require.Equal(t, 2, w.shop.standing())
}

// P12b: a status that cannot be stored delays no order.
func TestAStatusThatCannotBeStoredDelaysNoOrder(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	end := w.refuseWrites("INSERT", "messages")
	err := s.Submit(t.Context(),
		[]message.SubmitOrder{order(t, "one", `,"replyTo":"shop"`)})[0].Err
	require.NoError(t, err, "submitted")
	wait(t, s, "one")
	require.Contains(t, s.Health(t.Context()).Checks["reply-to shop"], "a status could not be sent")
	closeRuntime(t, s)
	end()
	s = w.open()
	defer closeRuntime(t, s)
	require.NotContains(t, s.Health(t.Context()).Checks, "reply-to shop")
	task, _, err := s.Task(t.Context(), "one")
	require.NoError(t, err)
	require.Len(t, task.Undelivered, 1)
	require.Equal(t, "shop", task.Undelivered[0].ReplyTo)
}

// What cannot be stored is answered as not stored, readiness says so, and sending it again succeeds.
func TestOrdersThatCannotBeStoredAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "30s")
		s := w.open()
		defer closeRuntime(t, s)
		end := w.refuseWrites("INSERT", "orders")
		r := s.Submit(t.Context(), []message.SubmitOrder{order(t, "one", "")})[0]
		require.ErrorIs(t, r.Err, port.ErrUnavailable)
		require.Equal(t, "one", r.OrderID)
		require.Equal(t, 1, strings.Count(r.Err.Error(), port.ErrUnavailable.Error()))
		_, _, err := s.Task(t.Context(), "one")
		require.ErrorIs(t, err, port.ErrNotFound, "the order")
		end()
		end = w.refuseWrites("INSERT", "probe")
		eventually(t, "it is not ready", func() bool { return !s.Health(t.Context()).Ready })
		end()
		eventually(t, "it is ready", func() bool { return s.Health(t.Context()).Ready })
		submit(t, s, "one", "")
		wait(t, s, "one")
	})
}

// A command that loses each commit to another writer is answered as not stored, so that its sender sends it again.
func TestACommandThatLosesEachCommit(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.gate = make(chan struct{})
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	end := w.disturbWrites("UPDATE", "orders", "IGNORE")
	_, err := s.Command(t.Context(), message.Control{OrderID: "one", Event: core.Command{Name: core.Cancel, ID: "c"}})
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorIs(t, err, port.ErrConflict)
	end()
	accepted(t, s, "one", core.Command{Name: core.Cancel, ID: "c"})
}
