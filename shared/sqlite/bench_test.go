package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqlite"
)

var benchCreated = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// saga writes one order as a sequential workflow of four steps does: a create and four replaces,
// the last of which ends it.
func saga(tb testing.TB, s port.Store, n int64, document []byte) {
	id := strconv.FormatUint(uint64(n)*0x9E3779B97F4A7C15, 16) // spread, as real IDs are
	created := benchCreated.Add(time.Duration(n) * time.Millisecond)
	for v := int64(0); v < 5; v++ {
		w := port.Write{Expected: v, Record: port.Record{
			ID: id, Version: v + 1, State: "Processing", Workflow: "order", Created: created,
			Bucket: port.DueBucket, IndexAt: created.Add(time.Minute), Document: document,
		}}
		switch v {
		case 0:
			w.Order = &port.Order{ID: id, ContentHash: "0123456789abcdef0123456789abcdef", Body: document[:500], Created: created}
		case 4:
			w.Record.State, w.Record.Bucket, w.Record.IndexAt = "Processed", port.NoBucket, time.Time{}
		}
		if err := s.Commit(tb.Context(), []port.Write{w})[0]; err != nil {
			tb.Errorf("order %s, version %d: %v", id, v+1, err)
			return
		}
	}
}

func benchDocument() []byte { return bytes.Repeat([]byte(`{"k":12}`), 128) } // 1 KiB

// BenchmarkOrders: orders of five durable writes, 64 at a time. STEPKEEPER_STORED finished orders
// are stored before (default 0).
func BenchmarkOrders(b *testing.B) {
	folder := b.TempDir()
	s := open(b, folder, sqlite.Options{})
	stored, _ := strconv.ParseInt(os.Getenv("STEPKEEPER_STORED"), 10, 64)
	fill(b, s, stored)
	s.Close()
	flush(b, folder)
	s = open(b, folder, sqlite.Options{})
	defer s.Close()
	written := bytesWritten(b)
	var next atomic.Int64
	next.Store(stored)
	var mu sync.Mutex
	var times []time.Duration
	concurrently(b, 64, func() {
		start := time.Now()
		saga(b, s, next.Add(1), benchDocument())
		mu.Lock()
		times = append(times, time.Since(start))
		mu.Unlock()
	})
	reportTimes(b, times)
	b.ReportMetric(float64(bytesWritten(b)-written)/float64(b.N)/1024, "KiB-written/order")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
	b.ReportMetric(5*float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// flush waits until what was stored before is on the disk, so that it does not slow what is measured.
func flush(b *testing.B, folder string) {
	file, err := os.Open(filepath.Join(folder, "stepkeeper.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := file.Sync(); err != nil {
		b.Fatal(err)
	}
}

// bytesWritten is what this process has handed to the file system, 0 where the system does not say.
func bytesWritten(b *testing.B) int64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(text, []byte("wchar: "))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	n, _ := strconv.ParseInt(string(line), 10, 64)
	return n
}

// concurrently runs b.N calls on that many goroutines.
func concurrently(b *testing.B, workers int, run func()) {
	b.ReportAllocs()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for left.Add(-1) >= 0 {
				run()
			}
		})
	}
	done.Wait()
	b.StopTimer()
}

// fill stores finished orders.
func fill(tb testing.TB, s port.Store, n int64) {
	document := benchDocument()
	const batch = 500
	for first := int64(0); first < n; first += batch {
		var writes []port.Write
		for i := first; i < min(first+batch, n); i++ {
			id := strconv.FormatUint(uint64(i+1)*0x9E3779B97F4A7C15, 16)
			created := benchCreated.Add(time.Duration(i) * time.Millisecond)
			state := "Processed"
			if i%50 == 0 {
				state = "Compensated"
			}
			writes = append(writes, port.Write{
				Record: port.Record{ID: id, Version: 1, State: state, Workflow: "order", Created: created, Document: document},
				Order:  &port.Order{ID: id, ContentHash: "0123456789abcdef0123456789abcdef", Body: document[:500], Created: created},
			})
		}
		for _, err := range s.Commit(tb.Context(), writes) {
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// BenchmarkOneOrder: an order alone, the median of its time.
func BenchmarkOneOrder(b *testing.B) {
	s := open(b, b.TempDir(), sqlite.Options{})
	defer s.Close()
	var times []time.Duration
	n := int64(0)
	for b.Loop() {
		n++
		start := time.Now()
		saga(b, s, n, benchDocument())
		times = append(times, time.Since(start))
	}
	reportTimes(b, times)
}

func reportTimes(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	for _, p := range []struct {
		name  string
		share float64
	}{{"p50-ms", 0.5}, {"p99-ms", 0.99}, {"max-ms", 1}} {
		at := min(len(times)-1, int(float64(len(times))*p.share))
		b.ReportMetric(float64(times[at].Microseconds())/1000, p.name)
	}
}

// BenchmarkStart: reading 10,000 running tasks, as the embedded mode does when it starts (P27).
func BenchmarkStart(b *testing.B) {
	folder := b.TempDir()
	s := open(b, folder, sqlite.Options{})
	const tasks = 10_000
	for first := 0; first < tasks; first += 500 {
		var writes []port.Write
		for i := first; i < first+500; i++ {
			id := fmt.Sprintf("order-%06d", i)
			writes = append(writes, port.Write{
				Record: port.Record{ID: id, Version: 1, State: "Processing", Workflow: "order", Created: benchCreated, Bucket: port.DueBucket, IndexAt: benchCreated.Add(time.Duration(i) * time.Millisecond), Document: benchDocument()},
				Order:  &port.Order{ID: id, ContentHash: "h", Body: []byte("{}"), Created: benchCreated},
			})
		}
		for _, err := range s.Commit(b.Context(), writes) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	s.Close()
	for b.Loop() {
		s := open(b, folder, sqlite.Options{})
		if n := loadDue(b, s); n != tasks {
			b.Fatalf("%d tasks, want %d", n, tasks)
		}
		s.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/start")
}

// loadDue loads every task in the due index.
func loadDue(tb testing.TB, s *sqlite.Store) int {
	n := 0
	for shard := range s.Shards() {
		due, err := s.Due(tb.Context(), port.DueBucket, shard, benchCreated.Add(time.Hour), nil, 1_000_000)
		if err != nil {
			tb.Fatal(err)
		}
		for len(due) > 0 {
			var ids []string
			for _, d := range due[:min(500, len(due))] {
				ids = append(ids, d.ID)
			}
			due = due[len(ids):]
			records, errs := s.Load(tb.Context(), ids)
			if err := errors.Join(errs...); err != nil {
				tb.Fatal(err)
			}
			for _, r := range records {
				if r != nil {
					n++
				}
			}
		}
	}
	return n
}

// BenchmarkLoad: one running task, with and without the records kept in memory.
func BenchmarkLoad(b *testing.B) {
	for name, bytes := range map[string]int{"kept": 0, "from the file": -1} {
		b.Run(name, func(b *testing.B) {
			s := open(b, b.TempDir(), sqlite.Options{CacheBytes: bytes})
			defer s.Close()
			w := port.Write{
				Record: port.Record{ID: "a", Version: 1, State: "Processing", Workflow: "order", Created: benchCreated, Bucket: port.DueBucket, IndexAt: benchCreated, Document: benchDocument()},
				Order:  &port.Order{ID: "a", ContentHash: "h", Body: []byte("{}"), Created: benchCreated},
			}
			if err := s.Commit(b.Context(), []port.Write{w})[0]; err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if r, errs := s.Load(b.Context(), []string{"a"}); errs[0] != nil || r[0] == nil {
					b.Fatal(errs)
				}
			}
			runtime.KeepAlive(s)
		})
	}
}
