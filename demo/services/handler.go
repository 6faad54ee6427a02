package services

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	maxInput = 64 << 10
	maxKey   = 300
)

type server struct {
	*service
	ledger *ledger
	http   http.Server
	url    string
	path   string // path of the ledger's file
	seed   uint64
	rates  Rates
	tally  tally
	clock  func() time.Time
	ctx    context.Context // ends with the program, so that an effect continues without its caller

	faultless  atomic.Bool
	busy       atomic.Int64
	down       atomic.Bool
	upSince    atomic.Int64 // Unix nanoseconds of the end of the last outage; 0 means no outage yet
	firstAfter atomic.Int64 // Unix nanoseconds of the first effect after an outage
	arrival    func()       // called at each POST request; Fleet keeps the time of the first one
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
	s.arrival()
	f := s.faultOf(operation, key, s.tally.call(operation, key))
	s.pause(r.Context(), f.latency)
	if s.down.Load() {
		s.tally.add(func(c *Counts) { c.Outage++ })
		spoil(w, f.coin)
		return
	}
	s.tally.fault(f)
	s.carryOut(w, r, operation, key, input, f)
}

// faultOf returns the fault of a call. The parameter call is the number of the call for the same operation
// and key.
func (s *server) faultOf(operation, key string, call int) fault {
	rates := s.rates
	if s.faultless.Load() {
		rates = Rates{Lie: rates.Lie}
	}
	return rates.faultOf(s.seed, s.name, operation, key, call)
}

func (s *server) carryOut(w http.ResponseWriter, r *http.Request, operation, key string, input []byte,
	f fault,
) {
	switch {
	case f.kind == before && f.coin:
		answerError(w, &refusal{http.StatusInternalServerError, "broken", "failed before anything was done"})
		return
	case f.kind == before:
		answerError(w, &refusal{http.StatusServiceUnavailable, "unavailable", "not ready"})
		return
	case f.kind == tooMany:
		w.Header().Set("Retry-After", "1")
		answerError(w, &refusal{http.StatusTooManyRequests, "too-many", "slow down"})
		return
	case f.kind == hang && f.coin:
		s.pause(r.Context(), s.rates.HangFor)
		panic(http.ErrAbortHandler)
	case f.kind == lie:
		answer(w, http.StatusOK, "{}")
		return
	case f.kind == late:
		// The caller disconnects during this wait. The wait therefore uses the context of the program.
		s.pause(s.ctx, s.rates.HangFor)
	}
	output, err := s.effect(operation, key, input)
	if err != nil {
		s.fail(w, err)
		return
	}
	switch f.kind {
	case after:
		answerError(w, &refusal{http.StatusInternalServerError, "broken", "failed; who knows when"})
	case hang:
		s.pause(r.Context(), s.rates.HangFor)
		panic(http.ErrAbortHandler)
	case cut, late:
		panic(http.ErrAbortHandler)
	default:
		answer(w, http.StatusOK, output)
	}
}

func (s *server) effect(operation, key string, input []byte) (output string, err error) {
	if operation == s.undo {
		output = "{}"
		err = s.reverse(s.ctx, s.ledger, key)
	} else {
		output, err = s.perform(s.ctx, s.ledger, key, input)
	}
	if err == nil && s.upSince.Load() != 0 {
		s.firstAfter.CompareAndSwap(0, s.clock().UnixNano())
	}
	return output, err
}

func (s *server) fail(w http.ResponseWriter, err error) {
	var no *refusal
	if errors.As(err, &no) {
		s.tally.add(func(c *Counts) { c.Refused++ })
		answerError(w, no)
		return
	}
	answerError(w, &refusal{http.StatusInternalServerError, "ledger", err.Error()})
}

// check handles a GET request, which asks whether the effect of an operation stands. The request can fail,
// but a response with a result is never wrong.
func (s *server) check(w http.ResponseWriter, r *http.Request, operation string) {
	key := r.URL.Query().Get("key")
	s.tally.add(func(c *Counts) { c.Checks++ })
	f := s.faultOf("check "+operation, key, s.tally.next("check "+operation+" "+key))
	s.pause(r.Context(), f.latency)
	if s.down.Load() {
		s.tally.add(func(c *Counts) { c.Outage++ })
		spoil(w, f.coin)
		return
	}
	if f.kind == before {
		s.tally.fault(f)
		spoil(w, true)
		return
	}
	yes, output, err := s.happened(s.ctx, s.ledger, operation, key)
	switch {
	case err != nil:
		s.fail(w, err)
	case yes:
		answer(w, http.StatusOK, output)
	default:
		answerError(w, &refusal{http.StatusNotFound, "not-found", "nothing stands under this key"})
	}
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
