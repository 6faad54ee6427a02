package api

import (
	"net/http"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// spoolLimit is the largest size of unread results in bytes: about 150,000 lines. At this size the stream
// stops until the client reads. Below this size, a client may send all its lines before it reads the results.
const spoolLimit = 16 << 20

const spoolTimeout = time.Minute // time limit of one write

// spool writes results in the background, so that a slow reader does not delay the orders.
type spool struct {
	mu     sync.Mutex
	change *sync.Cond
	buf    []byte
	ended  bool
	err    error
	gone   chan struct{}
}

func newSpool(rc *http.ResponseController, w http.ResponseWriter) *spool {
	s := &spool{gone: make(chan struct{})}
	s.change = sync.NewCond(&s.mu)
	go func() {
		defer close(s.gone)
		if err := port.Guard(nil, "writing answers",
			func() error { s.write(rc, w); return nil }); err != nil {
			s.fail(err)
		}
	}()
	return s
}

// fail records the error of a write. A nil err means that the write succeeded.
func (s *spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.change.Broadcast()
}

func (s *spool) write(rc *http.ResponseController, w http.ResponseWriter) {
	var out []byte
	for {
		s.mu.Lock()
		for len(s.buf) == 0 && !s.ended {
			s.change.Wait()
		}
		written := out[:0]
		out = s.buf
		s.buf = written
		s.mu.Unlock()
		if len(out) == 0 {
			return
		}
		_ = rc.SetWriteDeadline(time.Now().Add(spoolTimeout))
		_, err := w.Write(out)
		if err == nil {
			err = rc.Flush()
		}
		if s.fail(err); err != nil {
			return
		}
	}
}

// add appends results, or drops them after a failed write. It blocks while the spool is full.
func (s *spool) add(results []LineResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) >= spoolLimit && s.err == nil {
		s.change.Wait()
	}
	if s.err == nil {
		s.buf = appendLines(s.buf, results)
	}
	s.change.Broadcast()
}

func (s *spool) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// close blocks until all results are written or a write has failed.
func (s *spool) close() {
	s.mu.Lock()
	s.ended = true
	s.change.Broadcast()
	s.mu.Unlock()
	<-s.gone
}
