package services

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	maxInput = 64 << 10
	maxKey   = 300
)

type server struct {
	*book
	seed             uint64
	rates            Rates
	slowFor, hangFor time.Duration
	ctx              context.Context // ends with the program, so that an effect continues without its caller

	mu       sync.Mutex
	counts   Counts
	requests map[string]int // number of requests by kind and key

	faultless  atomic.Bool
	busy       atomic.Int64
	copies     sync.WaitGroup // copies of calls, which have no caller
	down       atomic.Bool
	upSince    atomic.Int64 // Unix nanoseconds of the end of the last outage; 0 means no outage yet
	firstAfter atomic.Int64 // Unix nanoseconds of the first effect after an outage
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Add(-1)
	operation := strings.TrimPrefix(r.URL.Path, "/")
	if operation == "" || operation != s.do && operation != s.undo {
		answerError(w, &refusal{http.StatusNotFound, "no-operation", "this service has no such operation"})
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.call(w, r, operation)
	case http.MethodGet:
		s.check(w, r, operation)
	default:
		answerError(w, &refusal{http.StatusMethodNotAllowed, "method", "use POST to call, GET to check"})
	}
}

func (s *server) call(w http.ResponseWriter, r *http.Request, operation string) {
	input, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInput))
	key := r.Header.Get("Idempotency-Key")
	if err != nil || key == "" || len(key) > maxKey {
		answerError(w, &refusal{
			http.StatusBadRequest, "bad-request",
			"a call needs an Idempotency-Key of at most 300 bytes and a body of at most 64 KiB",
		})
		return
	}
	n := s.next(operation, key)
	s.count(func(c *Counts) {
		c.Calls++
		if n > 1 {
			c.Repeats++
		}
	})
	f := s.faultOf(operation, key, n)
	if s.delayed(w, r, f) {
		return
	}
	s.count(f.count)
	s.carryOut(w, r, operation, key, input, f)
}

// delayed waits for the latency of a request. It reports whether an outage has taken the request.
func (s *server) delayed(w http.ResponseWriter, r *http.Request, f drawn) bool {
	s.pause(r.Context(), f.latency)
	if !s.down.Load() {
		return false
	}
	s.count(func(c *Counts) { c.Outage++ })
	spoil(w, f.coin)
	return true
}

// faultOf returns the fault of a call. The parameter call is the number of the call for the same operation
// and key.
func (s *server) faultOf(operation, key string, call int) drawn {
	rates := s.rates
	if s.faultless.Load() {
		rates = Rates{Lie: rates[Lie]}
	}
	d := rates.faultOf(s.seed, s.name, operation, key, call)
	if d.slow {
		d.latency = s.slowFor
	}
	return d
}

func (s *server) carryOut(w http.ResponseWriter, r *http.Request, operation, key string, input []byte, f drawn) {
	switch f.fault {
	case Before:
		if f.coin {
			answerError(w, &refusal{http.StatusInternalServerError, "broken", "failed before anything was done"})
		} else {
			answerError(w, &refusal{http.StatusServiceUnavailable, "unavailable", "not ready"})
		}
		return
	case TooMany:
		w.Header().Set("Retry-After", "1")
		answerError(w, &refusal{http.StatusTooManyRequests, "too-many", "slow down"})
		return
	case Reset:
		reset(w)
		return
	case Lie:
		answer(w, http.StatusOK, "{}")
		return
	case Hang:
		if f.coin {
			s.pause(r.Context(), s.hangFor)
			panic(http.ErrAbortHandler)
		}
	case Late:
		// The caller disconnects during this wait. The wait therefore uses the context of the program.
		s.pause(s.ctx, s.hangFor)
	case Twice:
		s.copy(0, operation, key, input)
	case Again:
		s.copy(s.hangFor, operation, key, input)
	}
	output, err := s.effect(operation, key, input)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.respond(w, r, output, f)
}

// respond sends the output of an effect, unless the fault of the call prevents it.
func (s *server) respond(w http.ResponseWriter, r *http.Request, output string, f drawn) {
	switch f.fault {
	case After:
		answerError(w, &refusal{http.StatusInternalServerError, "broken", "failed; who knows when"})
	case Hang:
		s.pause(r.Context(), s.hangFor)
		panic(http.ErrAbortHandler)
	case Cut:
		if f.coin {
			reset(w)
			return
		}
		panic(http.ErrAbortHandler)
	case Torn:
		w.Header().Set("Content-Length", strconv.Itoa(len(output)))
		_, _ = io.WriteString(w, output[:len(output)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Late:
		panic(http.ErrAbortHandler)
	default:
		answer(w, http.StatusOK, output)
	}
}

// copy makes the call once more after a delay, without a caller.
func (s *server) copy(delay time.Duration, operation, key string, input []byte) {
	s.busy.Add(1)
	s.copies.Go(func() {
		defer s.busy.Add(-1)
		_ = port.Guard(nil, "a copy of a call", func() error {
			s.pause(s.ctx, delay)
			_, err := s.effect(operation, key, input)
			return err
		})
	})
}

// reset ends the connection with a reset instead of a response.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (s *server) effect(operation, key string, input []byte) (output string, err error) {
	if operation == s.undo {
		output = "{}"
		err = s.reverse(key)
	} else {
		output, err = s.perform(key, input)
	}
	if err == nil && s.upSince.Load() != 0 {
		s.firstAfter.CompareAndSwap(0, time.Now().UnixNano())
	}
	return output, err
}

func (s *server) fail(w http.ResponseWriter, err error) {
	var no *refusal
	if errors.As(err, &no) {
		s.count(func(c *Counts) { c.Refused++ })
		answerError(w, no)
		return
	}
	answerError(w, &refusal{http.StatusInternalServerError, "ledger", err.Error()})
}

// check handles a GET request, which asks whether the effect of an operation stands. The request can fail,
// but a response with a result is never wrong.
func (s *server) check(w http.ResponseWriter, r *http.Request, operation string) {
	key := r.URL.Query().Get("key")
	s.count(func(c *Counts) { c.Checks++ })
	f := s.faultOf("check "+operation, key, s.next("check "+operation, key))
	if s.delayed(w, r, f) {
		return
	}
	if f.fault == Before {
		s.count(f.count)
		spoil(w, true)
		return
	}
	yes, output := s.happened(operation, key)
	if !yes {
		answerError(w, &refusal{http.StatusNotFound, "not-found", "nothing stands under this key"})
		return
	}
	answer(w, http.StatusOK, output)
}

func (s *server) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

func spoil(w http.ResponseWriter, polite bool) {
	if !polite {
		panic(http.ErrAbortHandler)
	}
	answerError(w, &refusal{http.StatusServiceUnavailable, "outage", "down; please stand by"})
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body+"\n")
}

func answerError(w http.ResponseWriter, no *refusal) {
	body, err := json.Marshal(map[string]any{"error": map[string]string{
		"code":    no.code,
		"message": no.message,
	}})
	if err != nil { // Encoding a string cannot fail.
		panic(err)
	}
	answer(w, no.status, string(body))
}
