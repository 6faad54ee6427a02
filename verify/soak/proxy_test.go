package soak_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// Faults of the network in a call.
const (
	cutBefore   = "cut before the call"   // reset, and the service never receives the call
	cutAfter    = "cut after the call"    // the effect happens, then a reset instead of the answer
	cutWithin   = "cut within the answer" // half of the answer, then a reset
	delayed     = "delayed call"          // delayed, then delivered if the caller still waits
	held        = "held answer"           // kept until the caller times out
	duplicated  = "duplicated call"       // delivered twice at the same time
	replayed    = "replayed call"         // delivered again, seconds later
	lateCall    = "late call"             // delivered seconds later, even if no caller waits any more
	halfClosed  = "half-closed to agent"  // the effect happens, then the stream ends without an answer
	halfService = "half-closed to service"
)

// share is the share of calls with a fault.
type share struct {
	what string
	rate float64
}

// faultShares returns the faults of a service's network. A call may be repeated only if the service
// recognises keys, and may arrive after its caller has given up only if the service fences. The other grades
// give no guarantee in these cases (docs/explanation/protocol.md, Grades).
func faultShares(fenced, knowsKeys bool) []share {
	if !knowsKeys { // faults that leave an effect in doubt need the operator, so there are fewer
		return []share{
			{cutBefore, 0.01},
			{cutAfter, 0.004},
			{cutWithin, 0.002},
			{delayed, 0.01},
			{held, 0.002},
			{halfClosed, 0.003},
			{halfService, 0.01},
		}
	}
	all := []share{
		{cutBefore, 0.01},
		{cutAfter, 0.01},
		{cutWithin, 0.01},
		{delayed, 0.02},
		{held, 0.005},
		{duplicated, 0.03},
		{halfClosed, 0.01},
		{halfService, 0.01},
	}
	if fenced {
		all = append(all, share{replayed, 0.02}, share{lateCall, 0.01})
	}
	return all
}

// networkFaults lists all faults of a proxy.
func networkFaults() []string {
	var all []string
	for _, s := range faultShares(true, true) {
		all = append(all, s.what)
	}
	return all
}

// Times of the network's faults.
const (
	longestDelay = 800 * time.Millisecond
	longestLate  = 4 * time.Second
	holdFor      = 1500 * time.Millisecond // longer than the timeout of a step
)

// proxy is between the agent and one service.
type proxy struct {
	*cutListener
	service     string // address
	name        string
	seed        uint64
	faultShares []share
	faultsOff   atomic.Bool
	ctx         context.Context
	behind      sync.WaitGroup // waits for calls whose callers have given up

	mu     sync.Mutex
	calls  map[string]int // number of calls, by operation and key
	counts map[string]int // number of faults, by kind
}

// newProxy starts a proxy for the service at that URL until ctx ends.
func newProxy(ctx context.Context, name, service string, seed uint64, w []share) (*proxy, error) {
	u, err := url.Parse(service)
	if err != nil {
		return nil, err
	}
	p := &proxy{
		service: u.Host, name: name, seed: seed, faultShares: w, ctx: ctx,
		calls: map[string]int{}, counts: map[string]int{},
	}
	p.cutListener, err = newCutListener(ctx)
	if err == nil {
		p.cutListener.attend(p.serve)
	}
	return p, err
}

// faultOf returns the fault of a call, and a number for its duration. They are the same for the same seed, in
// whatever order the calls come.
func (p *proxy) faultOf(r *http.Request) (what string, much float64) {
	id := r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Idempotency-Key")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[id]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d/%s", p.seed, p.name, p.calls[id], id))
	u := float64(binary.LittleEndian.Uint32(sum[:])) / (1 << 32)
	much = float64(binary.LittleEndian.Uint32(sum[4:])) / (1 << 32)
	if p.faultsOff.Load() || r.Method != http.MethodPost {
		return "", 0
	}
	for _, s := range p.faultShares {
		if u < s.rate {
			p.counts[s.what]++
			return s.what, much
		}
		u -= s.rate
	}
	return "", 0
}

// did returns the number of executed faults by kind.
func (p *proxy) did() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make(map[string]int, len(p.counts))
	maps.Copy(all, p.counts)
	return all
}

// serve forwards the calls of one connection, one after the other.
func (p *proxy) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		text, err := httputil.DumpRequest(r, true)
		if err != nil {
			return
		}
		gone := make(chan struct{}) // closed when the caller disconnects or sends its next call
		go func() {
			defer close(gone)
			_, _ = in.Peek(1)
		}()
		what, much := p.faultOf(r)
		goOn := p.handle(c, text, what, much, gone)
		if !goOn || r.Close {
			_ = c.Close()
			<-gone
			return
		}
		<-gone // wait for the next call, or the end of the connection
	}
}

// handle forwards one call with its fault. It returns false if the connection cannot be used any more.
func (p *proxy) handle(c net.Conn, text []byte, what string, much float64, gone <-chan struct{}) bool {
	switch what {
	case cutBefore:
		sever(c)
		return false
	case delayed:
		if !p.wait(time.Duration(much*float64(longestDelay)), gone) {
			return false
		}
	case lateCall:
		p.later(text, time.Duration((0.5+much/2)*float64(longestLate)))
		<-gone
		return false
	case duplicated:
		p.later(text, 0)
	case replayed:
		p.later(text, time.Duration((0.25+0.75*much)*float64(longestLate)))
	}
	answer, err := p.call(text, what == halfService, gone)
	if err != nil {
		sever(c)
		return false
	}
	switch what {
	case cutAfter:
		sever(c)
		return false
	case cutWithin:
		_, _ = c.Write(answer[:len(answer)/2])
		sever(c)
		return false
	case held:
		if !p.wait(holdFor, gone) {
			return false
		}
	case halfClosed:
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
		<-gone // wait until the caller closes its half
		return false
	}
	_, err = c.Write(answer)
	return err == nil
}

// wait reports whether the caller was still connected at the end of the time.
func (p *proxy) wait(d time.Duration, gone <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return true
	case <-gone:
	case <-p.ctx.Done():
	}
	return false
}

// later makes the call again, without a caller.
func (p *proxy) later(text []byte, after time.Duration) {
	p.behind.Go(func() {
		if p.wait(after, nil) {
			_, _ = p.call(text, false, nil)
		}
	})
}

// call makes one call on its own connection and returns the bytes of the response. If the caller disconnects,
// the connection to the service ends too, as it would without a proxy.
func (p *proxy) call(text []byte, halfClose bool, gone <-chan struct{}) ([]byte, error) {
	up, err := p.dial(p.ctx, p.service)
	if err != nil {
		return nil, err
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-gone:
		case <-p.ctx.Done():
		case <-over:
		}
		_ = up.Close()
	})
	defer watching.Wait()
	defer close(over)
	if _, err := up.Write(text); err != nil {
		return nil, err
	}
	if t, ok := up.(*net.TCPConn); ok && halfClose {
		_ = t.CloseWrite()
	}
	res, err := http.ReadResponse(bufio.NewReader(up), nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return httputil.DumpResponse(res, true)
}
