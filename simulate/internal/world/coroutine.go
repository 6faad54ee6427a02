package world

import (
	"iter"
	"sync"
)

// Coroutine runs one handler after another. A new coroutine for each handler would be slow, because the stack
// of each new coroutine has to grow first.
type Coroutine struct {
	next func() (int64, bool)
	stop func()
	iv   *Invocation // running handler; nil if idle
	body func(*Invocation)
}

// ended is the value that a coroutine yields after its handler has ended. It is never a valid time.
const ended = -1

// idle holds the coroutines without a handler, for all simulations. It keeps at most mostIdle coroutines, so
// few remain after the last simulation.
var idle struct {
	sync.Mutex
	all []*Coroutine
}

const mostIdle = 256

// Hire returns a coroutine that will run the handler.
func Hire(iv *Invocation, body func(*Invocation)) *Coroutine {
	var c *Coroutine
	idle.Lock()
	if n := len(idle.all); n > 0 {
		c = idle.all[n-1]
		idle.all = idle.all[:n-1]
	}
	idle.Unlock()
	if c == nil {
		c = &Coroutine{}
		c.next, c.stop = iter.Pull(c.work)
	}
	c.iv = iv
	c.body = body
	return c
}

func (c *Coroutine) work(yield func(int64) bool) {
	for {
		c.iv.Yield = yield
		c.body(c.iv)
		c.iv = nil
		c.body = nil
		if !yield(ended) {
			return
		}
	}
}

// Resume runs the handler until it pauses or ends. The result until is the end of the pause. The result more
// is false if the handler has ended.
func (c *Coroutine) Resume() (until int64, more bool) {
	until, _ = c.next()
	if until != ended {
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
