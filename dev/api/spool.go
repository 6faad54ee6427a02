package api

import (
	"net/http"
	"sync"
	"time"
)

// spoolLimit is how many bytes of answers wait for a sender that reads them only after it has sent
// everything: about 150,000 lines. Past that the stream stands still until the sender reads.
const spoolLimit = 16 << 20

const spoolTimeout = time.Minute // of one write

// spool writes answers in the background, so that a slow reader does not stop the orders.
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
	go s.write(rc, w)
	return s
}

func (s *spool) write(rc *http.ResponseController, w http.ResponseWriter) {
	defer close(s.gone)
	var out []byte
	for {
		s.mu.Lock()
		for len(s.buf) == 0 && !s.ended {
			s.change.Wait()
		}
		out, s.buf = s.buf, out[:0]
		s.mu.Unlock()
		if len(out) == 0 {
			return
		}
		_ = rc.SetWriteDeadline(time.Now().Add(spoolTimeout))
		_, err := w.Write(out)
		if err == nil {
			err = rc.Flush()
		}
		s.mu.Lock()
		s.err = err
		s.change.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// add waits while the spool is full.
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

// close writes the rest and waits until it is written, or cannot be.
func (s *spool) close() {
	s.mu.Lock()
	s.ended = true
	s.change.Broadcast()
	s.mu.Unlock()
	<-s.gone
}
