package app

import (
	"context"
	"errors"
	"io"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// interruptible is an input whose reads end with a context. A read of a terminal does not end when a signal ends
// the context of a command.
type interruptible struct {
	ctx   context.Context
	in    io.Reader
	ended bool // true after the end of the input, which a terminal reports to one read only
}

var errInterrupted = errors.New("interrupted")

// Read returns errInterrupted when the context has ended. The program ends then, so that nobody misses what the
// abandoned read returns.
func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if i.ended {
		return 0, io.EOF
	}
	own := make([]byte, min(len(p), 64<<10))
	done := make(chan result, 1)
	go func() {
		r := result{}
		err := port.Guard(nil, "reading the input", func() (err error) {
			r.n, err = i.in.Read(own)
			return err
		})
		r.err = err
		done <- r
	}()
	select {
	case r := <-done:
		i.ended = errors.Is(r.err, io.EOF)
		return copy(p, own[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, errInterrupted
	}
}
