package queuetest_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var togetherCases = []testCase{
	{
		name: "many senders, many receivers, half of whom return messages: nothing is lost",
		run:  func(s *suite, q port.Queue) { s.exchange(q) },
	},
	{name: "one message, many receivers: one has it", needs: once, run: func(s *suite, q port.Queue) {
		for range 20 {
			s.send(q, "a")
			var mu sync.Mutex
			var got []port.Delivery
			var done sync.WaitGroup
			for range 16 {
				done.Go(func() {
					d, err := q.Receive(s.ctx, 1, 0, long)
					if err != nil {
						s.Errorf("Receive: %v", err)
					}
					mu.Lock()
					got = append(got, d...)
					mu.Unlock()
				})
			}
			done.Wait()
			require.Len(s, got, 1)
			s.is("delete", s.remove(q, got[0].Receipt), nil)
		}
	}},
	{
		name: "many polls, one message: the others go on waiting", needs: once,
		run: func(s *suite, q port.Queue) {
			var polls []<-chan answer
			ctx, cancel := context.WithCancel(s.ctx)
			for range 8 {
				polls = append(polls, s.poll(ctx, q, 20*s.unit))
			}
			s.send(q, "a")
			s.firstAnswered(polls...)
			cancel()
			received := 0
			for _, p := range polls {
				received += len(s.answered(p).deliveries)
			}
			require.Equal(s, 1, received)
		},
	},
}

// exchange sends the suite's messages with four senders and receives them with sixteen receivers, which return
// every other message that comes for the first time.
func (s *suite) exchange(q port.Queue) {
	s.Helper()
	const senders, receivers = 4, 16
	each := s.options.Messages / senders
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stalled := time.AfterFunc(s.pollLimit(), cancel) // stops the test if no message arrives for that long
	defer stalled.Stop()
	var mu sync.Mutex
	received := map[string]int{}
	var done sync.WaitGroup
	for receiver := range receivers {
		done.Go(func() {
			for ctx.Err() == nil {
				got, err := q.Receive(ctx, port.MaxBatch, 20*s.unit, long)
				if err != nil && ctx.Err() == nil {
					s.Errorf("Receive: %v", err)
					return
				}
				for i, d := range got {
					if d.Received == 1 && (i+receiver)%2 == 0 {
						if err := s.extend(q, d.Receipt, 0); err != nil {
							s.Errorf("return: %v", err)
						}
						continue
					}
					if err := q.Delete(context.WithoutCancel(ctx), []string{d.Receipt})[0]; err != nil {
						s.Errorf("Delete: %v", err)
					}
					mu.Lock()
					received[string(d.Body)]++
					stalled.Reset(s.pollLimit())
					if len(received) == senders*each {
						cancel()
					}
					mu.Unlock()
				}
			}
		})
	}
	for sender := range senders {
		done.Go(func() {
			for i := range each {
				if err := q.Send(s.ctx,
					[]port.Message{text(fmt.Sprintf("%d/%d", sender, i))})[0]; err != nil {
					s.Errorf("Send: %v", err)
				}
			}
		})
	}
	done.Wait()
	require.Len(s, received, senders*each)
	for body, n := range received {
		if s.options.Once && n != 1 {
			s.Errorf("message %s was received %d times", body, n)
		}
	}
	s.none(q)
}
