package world

import (
	"iter"
	"sync"
)

// Coroutine runs handlers, one after another. Reuse keeps its stack large enough, because growing a new stack
// for each handler would cost more than the switches.
type Coroutine struct {
	next func() (int64, bool)
	stop func()
	iv   *Invocation // running handler; nil if idle
	body func(*Invocation)
}

// ended is the value that a coroutine yields when its handler is over. It is never a time.
const ended = -1

// idle holds coroutines without work, for all worlds. It keeps at most mostIdle coroutines, which bounds the
// number that remains after the last world.
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

// Resume runs the handler until it waits or ends. It returns the time until which it waits.
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
