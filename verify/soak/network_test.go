package soak_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestPlan(t *testing.T) {
	for _, minutes := range []time.Duration{1, 3} {
		length := minutes * time.Minute
		for seed := range uint64(50) {
			all := plan(seed, length)
			times := map[string]int{}
			for i, h := range all {
				times[h.What]++
				if h.At < 0 || h.At+h.For > length+2*completeBy || i > 0 && h.At < all[i-1].At {
					t.Errorf("seed %d, %s: %s does not fit", seed, length, h)
				}
				if strings.HasPrefix(h.What, "freeze") && h.For <= completeBy {
					t.Errorf("seed %d: %s is no longer than a step may take, %s", seed, h, completeBy)
				}
			}
			for _, what := range processFaults {
				if times[what] < int(minutes) {
					t.Errorf("seed %d, %s: %q comes %d times", seed, length, what, times[what])
				}
			}
			if !slices.Equal(all, plan(seed, length)) || slices.Equal(all, plan(seed+1, length)) {
				t.Errorf("seed %d: the plan is not that of its seed", seed)
			}
		}
	}
	if skewOfClock >= clockSkew {
		t.Error("a clock is skewed by more than is declared: nothing is promised then")
	}
}

// caller calls through a proxy that does one thing to every call.
type caller struct {
	t     *testing.T
	proxy *proxy
	calls atomic.Int64
	http  http.Client
}

func newCaller(t *testing.T, what string) *caller {
	t.Helper()
	c := &caller{t: t, http: http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.calls.Add(1)
		fmt.Fprintf(w, "%s %s %s", r.URL.Path, r.Header.Get("Idempotency-Key"), body)
	}))
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	c.proxy, err = newProxy(ctx, "inventory", service.URL, 1, []share{{what, 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		c.http.CloseIdleConnections()
		c.proxy.end()
		c.proxy.behind.Wait()
		service.Close()
	})
	return c
}

func (c *caller) call() (string, error) {
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.proxy.url()+"/reserve", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	// As the HTTP agent does: a body that cannot be had again, so that no call is repeated unseen.
	req.Body = io.NopCloser(bytes.NewReader([]byte("five mugs")))
	req.ContentLength = 9
	req.Header.Set("Idempotency-Key", "o-1/0/reserve")
	res, err := c.http.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// TestNetworkFaults: each does what it says, seen from the caller and from the service.
func TestNetworkFaults(t *testing.T) {
	const right = "/reserve o-1/0/reserve five mugs"
	for what, want := range map[string]struct {
		answered bool
		calls    int64
	}{
		"nothing": {true, 1}, cutBefore: {false, 0}, cutAfter: {false, 1}, cutWithin: {false, 1},
		delayed: {true, 1}, held: {false, 1},
		duplicated: {true, 2}, replayed: {true, 2}, lateCall: {false, 1}, halfClosed: {false, 1},
		halfService: {true, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newCaller(t, what)
			if what == held || what == lateCall { // only the caller's patience ends those
				c.http.Timeout = time.Second
			}
			for n := range int64(2) { // the next call gets a connection that works
				text, err := c.call()
				if (err == nil) != want.answered || want.answered && text != right {
					t.Fatalf("answered %q, %v", text, err)
				}
				if what == held { // the service was called, and the answer was on its way
					continue
				}
				for end := time.Now().Add(30 * time.Second); c.calls.Load() < (n+
					1)*want.calls; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("the service was called %d times, want %d", c.calls.Load(), (n+1)*want.calls)
					}
				}
			}
			if got := c.calls.Load(); got != 2*want.calls {
				t.Errorf("the service was called %d times, want %d", got, 2*want.calls)
			}
			if c.proxy.did()[what] != 2 {
				t.Errorf("counted %v", c.proxy.did())
			}
			c.proxy.faultsOff.Store(true)
			c.http.Timeout = 30 * time.Second
			if text, err := c.call(); err != nil || text != right {
				t.Errorf("without faults it answered %q, %v", text, err)
			}
		})
	}
}

// TestDelayedCallWithoutACaller: a service without a fence must not be called for a caller who has gone.
func TestDelayedCallWithoutACaller(t *testing.T) {
	c := newCaller(t, delayed)
	c.proxy.longest = 24 * time.Hour
	c.http.Timeout = time.Millisecond
	if _, err := c.call(); err == nil {
		t.Fatal("the call was not late")
	}
	c.proxy.end() // waits for whatever is under way
	if n := c.calls.Load(); n != 0 {
		t.Errorf("the service was called %d times", n)
	}
}

func TestShutDoor(t *testing.T) {
	c := newCaller(t, "nothing")
	if _, err := c.call(); err != nil {
		t.Fatal(err)
	}
	c.proxy.close()
	if _, err := c.call(); err == nil {
		t.Error("a call went through a shut door")
	}
	c.proxy.reopen()
	if _, err := c.call(); err != nil {
		t.Error(err)
	}
	if n := c.calls.Load(); n != 2 {
		t.Errorf("the service was called %d times, want 2", n)
	}
}

// TestPassage leads to the server that is behind it just now, and can be cut.
func TestPassage(t *testing.T) {
	var behind atomic.Pointer[string]
	d, err := newForwarder(t.Context(), func() string { return *behind.Load() })
	if err != nil {
		t.Fatal(err)
	}
	defer d.end()
	client := http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	for _, name := range []string{"first", "second"} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w,
				name)
		}))
		defer s.Close()
		address := strings.TrimPrefix(s.URL, "http://")
		behind.Store(&address)
		d.cut()
		var text []byte
		for end := time.Now().Add(20 * time.Second); string(text) != name; {
			res, err := client.Get(d.url())
			if err == nil {
				text, _ = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if time.Now().After(end) {
				t.Fatalf("behind the door is %q, %v; want %s", text, err, name)
			}
		}
	}
}
