package world

import (
	"iter"
	"sync"
)

// Coroutine runs handlers, one after another: its stack has grown to what they need, and growing it
// anew for each of them would cost more than the switches.
type Coroutine struct {
	next func() (int64, bool)
	stop func()
	iv   *Invocation // running handler; nil if idle
	body func(*Invocation)
}

// ended is the value that a coroutine yields when its handler is over. It is not a time.
const ended = -1

// idle are coroutines without work, for all worlds. There are never more than some hundreds, so that
// what lies here when the last world ends is no leak.
var idle struct {
	sync.Mutex
	all []*Coroutine
}

const mostIdle = 256

// Hire returns a coroutine for a handler.
func Hire(iv *Invocation, body func(*Invocation)) *Coroutine {
	var c *Coroutine
	idle.Lock()
	if n := len(idle.all); n > 0 {
		c, idle.all = idle.all[n-1], idle.all[:n-1]
	}
	idle.Unlock()
	if c == nil {
		c = &Coroutine{}
		c.next, c.stop = iter.Pull(c.work)
	}
	c.iv, c.body = iv, body
	return c
}

func (c *Coroutine) work(yield func(int64) bool) {
	for {
		c.iv.Yield = yield
		c.body(c.iv)
		c.iv, c.body = nil, nil
		if !yield(ended) {
			return
		}
	}
}

// Resume goes on until the handler waits, answering until when, or ends.
func (c *Coroutine) Resume() (until int64, more bool) {
	if until, _ = c.next(); until != ended {
		return until, true
	}
	idle.Lock()
	kept := len(idle.all) < mostIdle
	if kept {
		idle.all = append(idle.all, c)
	}
	idle.Unlock()
	if !kept {
		c.stop()
	}
	return 0, false
}
