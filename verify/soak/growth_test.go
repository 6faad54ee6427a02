package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Size holds the engine's resources at one moment.
type Size struct {
	Goroutines int64 `json:"goroutines"`
	HeapBytes  int64 `json:"heap_bytes"`
	RSS        int64 `json:"rss_bytes"` // 0 if the system does not report it; only Linux does
	Files      int64 `json:"open_files"`
}

// measure returns the engine's size. It returns false if the engine does not respond at the moment.
func (s *site) measure(ctx context.Context) (Size, bool) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pid := s.Engine.Pid()
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // none if the system has no such folder
	size := Size{RSS: load.Status(pid)["VmRSS"], Files: int64(len(files))}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Engine.URL()+"/healthz", nil)
	if err != nil {
		return size, false
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return size, false
	}
	defer func() { _ = res.Body.Close() }()
	var health struct{ Counts map[string]int64 }
	if json.NewDecoder(res.Body).Decode(&health) != nil {
		return size, false
	}
	size.Goroutines = health.Counts["process-goroutines"]
	size.HeapBytes = health.Counts["process-heap-bytes"]
	return size, size.Goroutines > 0
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
func (s *site) rest(ctx context.Context, before Size) (Size, bool) {
	var last Size
	for end := time.Now().Add(restPatience); ; {
		size, ok := s.measure(ctx)
		if ok {
			last = size
		}
		small := last.Goroutines > 0 && last.Goroutines <= before.Goroutines+moreGoroutines &&
			last.Files <= before.Files+moreFiles
		if small || time.Now().After(end) || port.Sleep(ctx, 500*time.Millisecond) != nil {
			return last, small
		}
	}
}
