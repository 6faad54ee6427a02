package memory_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// leaving is a clock that calls leave when a receiver was woken, before the receiver looks for messages.
type leaving struct {
	port.Timer
	leave func()
}

func (c *leaving) At(at time.Time, run func()) (stop func()) {
	stopTimer := c.Timer.At(at, run)
	return func() {
		stopTimer()
		c.leave()
	}
}

// TestAReceiverThatLeavesWakesTheNext: the first receiver is woken for the message, and its context ends then.
func TestAReceiverThatLeavesWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		clock := &leaving{port.ClockFunc(time.Now), cancel}
		queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "a"}})
		require.NoError(t, err)
		q, err := queues.Queue("a")
		require.NoError(t, err)
		left := make(chan error, 1)
		got := make(chan int, 1)
		go func() {
			_, err := q.Receive(ctx, 1, time.Second, time.Minute)
			left <- err
		}()
		synctest.Wait()
		go func() {
			deliveries, _ := q.Receive(t.Context(), 1, time.Second, time.Minute)
			got <- len(deliveries)
		}()
		synctest.Wait()
		began := time.Now()

		errs := q.Send(t.Context(), []port.Message{{Body: []byte("m")}})

		require.NoError(t, errs[0])
		require.ErrorIs(t, <-left, context.Canceled)
		require.Equal(t, 1, <-got)
		require.Zero(t, time.Since(began), "the second receiver must not wait for the end of its time")
	})
}

// TestReceiversThatTakeLittleWakeEachOther: one call of Send brings work for all of them.
func TestReceiversThatTakeLittleWakeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: "a"}})
		require.NoError(t, err)
		q, err := queues.Queue("a")
		require.NoError(t, err)
		got := make(chan int, 3)
		for range cap(got) {
			go func() {
				deliveries, _ := q.Receive(t.Context(), 1, time.Second, time.Minute)
				got <- len(deliveries)
			}()
		}
		synctest.Wait()
		began := time.Now()

		q.Send(t.Context(), []port.Message{{Body: []byte("1")}, {Body: []byte("2")}, {Body: []byte("3")}})

		require.Equal(t, []int{1, 1, 1}, []int{<-got, <-got, <-got})
		require.Zero(t, time.Since(began), "no receiver must wait for the end of its time")
	})
}

// late is a clock whose alarms ring although they were stopped, as one does that rings at the same time.
type late struct {
	port.Timer
	ring []func()
}

func (c *late) At(at time.Time, run func()) (stop func()) {
	c.ring = append(c.ring, run)
	return c.Timer.At(at, run)
}

func TestAnAlarmMayRingAfterItsReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := &late{Timer: port.ClockFunc(time.Now)}
		queues, err := memory.NewQueues(clock, []memory.QueueConfig{{Name: "a"}})
		require.NoError(t, err)
		q, err := queues.Queue("a")
		require.NoError(t, err)
		got := make(chan int, 1)
		go func() {
			deliveries, _ := q.Receive(t.Context(), 1, time.Second, time.Minute)
			got <- len(deliveries)
		}()
		synctest.Wait()
		q.Send(t.Context(), []port.Message{{Body: []byte("m")}})
		require.Equal(t, 1, <-got)
		for _, ring := range clock.ring {
			require.NotPanics(t, ring)
		}
	})
}

// A receiver that waits is woken for each message at its time, also where another was woken before.
func TestAReceiverIsWokenForEachDelayedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueues(t, port.ClockFunc(time.Now))
		require.NoError(t, q.Add(memory.QueueConfig{Name: "a"}))
		a := queue(t, q, "a")
		a.Send(t.Context(), []port.Message{{Body: []byte("1"), Delay: time.Minute}, {Body: []byte("2"), Delay: port.MaxDelay}})
		began := time.Now()
		for _, after := range []time.Duration{time.Minute, port.MaxDelay} {
			got, err := a.Receive(t.Context(), 1, 2*time.Hour, 3*time.Hour)
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, after, time.Since(began))
		}
	})
}
