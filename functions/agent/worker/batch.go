package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// batch sends the replies of several handlings in one call. If an agent handles five requests at the same time, the
// five replies can cost one request to SQS instead of five.
//
// A message waits until each handling of the batch has a message or has ended, until port.MaxBatch messages wait, or
// until the linger has passed since the first one.
type batch struct {
	port.Sender
	linger time.Duration
	came   chan waiting
	ended  chan struct{} // one entry for each handling that has ended
	closed chan struct{} // closed after the end of all handlings
}

// waiting is a message that waits to be sent.
type waiting struct {
	ctx     context.Context
	message port.Message
	sent    chan error // takes one result
}

// Send sends one message together with messages of other handlings. The context of the first message applies to all.
func (b *batch) Send(ctx context.Context, messages []port.Message) []error {
	w := waiting{ctx, messages[0], make(chan error, 1)}
	select {
	case b.came <- w:
		return []error{<-w.sent}
	case <-b.closed: // a report of an operation that runs on
		return b.Sender.Send(ctx, messages)
	}
}

// collect passes messages on until all handlings have ended.
func (b *batch) collect(running int) {
	defer close(b.closed)
	var all []waiting
	var linger <-chan time.Time
	for running > 0 {
		over := false
		select {
		case w := <-b.came:
			all = append(all, w)
			if len(all) == 1 {
				linger = time.After(b.linger) //nolint:forbidigo // replies go out by the machine's clock
			}
		case <-b.ended:
			running--
		case <-linger:
			over = true
		}
		if len(all) > 0 && (over || len(all) >= min(running, port.MaxBatch)) {
			whole := all
			go func() { _ = port.Guard(nil, "sending replies", func() error { b.flush(whole); return nil }) }()
			all = nil
			linger = nil
		}
	}
}

var errSend = errors.New("whether the message was sent is not known")

func (b *batch) flush(all []waiting) {
	messages := make([]port.Message, len(all))
	for i := range all {
		messages[i] = all[i].message
	}
	errs := slices.Repeat([]error{errSend}, len(all))
	defer func() { // also after a panic: nobody waits for ever
		for i := range all {
			all[i].sent <- errs[i]
		}
	}()
	copy(errs, b.Sender.Send(all[0].ctx, messages))
}
