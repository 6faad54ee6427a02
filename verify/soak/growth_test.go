package soak_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Size holds the engine's resources at one moment.
type Size struct {
	At         float64 `json:"at_s"` // time since the first order
	Pid        int     `json:"pid"`
	Goroutines int64   `json:"goroutines"`
	HeapBytes  int64   `json:"heap_bytes"`
	DataBytes  int64   `json:"data_bytes"` // bytes of the engine's files
	sample
}

// growth measures the engine repeatedly.
type growth struct {
	site  *site
	began time.Time
	mu    sync.Mutex
	sizes []Size
}

// run measures until ctx ends.
func (g *growth) run(ctx context.Context, every time.Duration) {
	for port.Sleep(ctx, every) == nil {
		if s, ok := g.look(ctx); ok {
			g.mu.Lock()
			g.sizes = append(g.sizes, s)
			g.mu.Unlock()
		}
	}
}

// look measures once. It returns false if the engine does not respond at the moment.
func (g *growth) look(ctx context.Context) (Size, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pid := g.site.Engine.Pid()
	s := Size{At: tenths(time.Since(g.began)), Pid: pid, sample: sampleOf(pid)}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.site.Engine.URL()+"/healthz", nil)
	if err != nil {
		return s, false
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, false
	}
	defer func() { _ = res.Body.Close() }()
	var health struct{ Counts map[string]int64 }
	if json.NewDecoder(res.Body).Decode(&health) != nil {
		return s, false
	}
	s.Goroutines = health.Counts["process-goroutines"]
	s.HeapBytes = health.Counts["process-heap-bytes"]
	files, _ := filepath.Glob(g.site.File(filepath.Join("data", "*"))) // the pattern is well formed
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			s.DataBytes += info.Size()
		}
	}
	return s, s.Goroutines > 0
}

// Life holds the first and last measurement of one process of the engine.
type Life struct {
	First Size `json:"first"`
	Last  Size `json:"last"`
	Most  Size `json:"most"` // maximum of each number, perhaps of different measurements
}

// lives returns the processes with two measurements or more.
func (g *growth) lives() []Life {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []Life
	for i, s := range g.sizes {
		if i == 0 || g.sizes[i-1].Pid != s.Pid {
			all = append(all, Life{First: s, Most: s})
		}
		l := &all[len(all)-1]
		l.Last = s
		l.Most.Goroutines = max(l.Most.Goroutines, s.Goroutines)
		l.Most.HeapBytes = max(l.Most.HeapBytes, s.HeapBytes)
		l.Most.RSS = max(l.Most.RSS, s.RSS)
		l.Most.Files = max(l.Most.Files, s.Files)
		l.Most.Threads = max(l.Most.Threads, s.Threads)
		l.Most.DataBytes = max(l.Most.DataBytes, s.DataBytes)
	}
	return all
}

// At rest an engine uses no more than before the first order, except for connections that are not closed yet, and for
// the 32 receivers of an agent that has worked a moment ago. Anything above this is a leak.
const (
	moreGoroutines = 60
	moreFiles      = 25
)

// restPatience is the longest time until connections are closed.
const restPatience = 30 * time.Second

// rest waits until the engine uses about as much as before the first order. It returns the last measurement,
// and whether the engine reached that.
func (g *growth) rest(ctx context.Context, before Size) (Size, bool) {
	var last Size
	for end := time.Now().Add(restPatience); ; {
		s, ok := g.look(ctx)
		if ok {
			last = s
		}
		small := last.Goroutines > 0 && last.Goroutines <= before.Goroutines+moreGoroutines &&
			last.Files <= before.Files+moreFiles
		if small || time.Now().After(end) || port.Sleep(ctx, 500*time.Millisecond) != nil {
			return last, small
		}
	}
}
