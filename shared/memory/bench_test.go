package memory_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

type number int

func (number) Encode() ([]byte, error) { return []byte("{}"), nil }

// BenchmarkQueue: messages sent, received and deleted in batches of ten, by eight senders and
// eight receivers, over a million messages that lie in the queue already or are in flight.
func BenchmarkQueue(b *testing.B) {
	for name, backlog := range map[string]int{"empty": 0, "a million in flight": 1_000_000} {
		b.Run(name, func(b *testing.B) { exchange(b, backlog) })
	}
}

func exchange(b *testing.B, backlog int) {
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: "q"}})
	if err != nil {
		b.Fatal(err)
	}
	q, err := queues.Queue("q")
	if err != nil {
		b.Fatal(err)
	}
	batch := make([]port.Message, port.MaxBatch)
	for i := range batch {
		batch[i].Value = number(i)
	}
	for range backlog / len(batch) {
		q.Send(b.Context(), batch)
		if _, err := q.Receive(b.Context(), len(batch), 0, port.MaxVisibility); err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	b.ResetTimer()
	var left, done atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for left.Add(-int64(len(batch))) > -int64(len(batch)) {
				q.Send(ctx, batch)
			}
		})
		all.Go(func() { receiveAll(ctx, q, &done, int64(b.N), cancel) })
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}

func receiveAll(ctx context.Context, q port.Queue, done *atomic.Int64, want int64, enough func()) {
	receipts := make([]string, 0, port.MaxBatch)
	for {
		got, err := q.Receive(ctx, port.MaxBatch, 10*time.Second, time.Minute)
		if err != nil {
			return
		}
		receipts = receipts[:0]
		for i := range got {
			receipts = append(receipts, got[i].Receipt)
		}
		q.Delete(ctx, receipts)
		if done.Add(int64(len(got))) >= want {
			enough()
		}
	}
}

// BenchmarkCommit: one replace, in memory.
func BenchmarkCommit(b *testing.B) {
	s := memory.NewStore(16)
	record := port.Record{ID: "a", Version: 1, Bucket: port.DueBucket, IndexAt: time.UnixMilli(1), Document: make([]byte, 1024)}
	if err := s.Commit(b.Context(), []port.Write{{Record: record}})[0]; err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		record.Version++
		if err := s.Commit(b.Context(), []port.Write{{Record: record, Expected: record.Version - 1}})[0]; err != nil {
			b.Fatal(err)
		}
	}
}
