package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// gatherer combines the messages of several senders into one call. If an agent handles five requests at the
// same time, the five replies can cost one request to SQS instead of five.
//
// A goroutine calls begin before Send and end after it. Send waits until one of these conditions holds:
//   - every goroutine that has called begin, but not end, waits in Send
//   - the waiting messages fill a batch
//   - the linger has passed since the first sender began to wait
//
// A sender that is alone does not wait, and with a linger of 0 none does.
type gatherer struct {
	port.Sender
	linger time.Duration

	mu       sync.Mutex
	active   int
	messages []gathered
	waiting  int // number of senders that wait in Send
	round    int
}

// gathered is a message that waits to be sent. send stores the result in err.
type gathered struct {
	ctx     context.Context
	message port.Message
	err     *error
	done    *sync.WaitGroup
}

func gather(replies port.Sender, linger time.Duration) *gatherer {
	return &gatherer{Sender: replies, linger: linger}
}

// begin announces a goroutine that may call Send soon.
func (g *gatherer) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active++
}

// end announces that a goroutine will not call Send again.
func (g *gatherer) end() {
	g.mu.Lock()
	g.active--
	batch := g.ready()
	g.mu.Unlock()
	g.send(batch)
}

// Send sends messages together with the messages of other senders. The deadline of the batch's first sender
// applies to the whole batch. The end of one sender's context does not cancel the batch, because the batch
// contains the messages of several senders.
func (g *gatherer) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	if len(messages) == 0 {
		return errs
	}
	if g.linger == 0 {
		return g.Sender.Send(ctx, messages)
	}
	var done sync.WaitGroup
	done.Add(len(messages))
	g.mu.Lock()
	for i := range messages {
		g.messages = append(g.messages, gathered{ctx, messages[i], &errs[i], &done})
	}
	g.waiting++
	batch := g.ready()
	if batch == nil && g.waiting == 1 {
		round := g.round
		//nolint:forbidigo // replies go out by the machine's clock, whatever the Clock shows
		time.AfterFunc(g.linger, func() {
			_ = port.Guard(nil, "sending", func() error { g.late(round); return nil })
		})
	}
	g.mu.Unlock()
	g.send(batch)
	done.Wait()
	return errs
}

// ready returns the messages to send, or nil if Send should wait for more senders. The caller holds the lock.
func (g *gatherer) ready() []gathered {
	if len(g.messages) == 0 || g.waiting < g.active && len(g.messages) < port.MaxBatch {
		return nil
	}
	return g.take()
}

func (g *gatherer) take() []gathered {
	batch := g.messages
	g.messages = nil
	g.waiting = 0
	g.round++
	return batch
}

// late sends the messages of a round after the linger, unless they have already been sent.
func (g *gatherer) late(round int) {
	g.mu.Lock()
	var batch []gathered
	if g.round == round {
		batch = g.take()
	}
	g.mu.Unlock()
	g.send(batch)
}

var errSend = errors.New("whether the message was sent is not known")

func (g *gatherer) send(batch []gathered) {
	if len(batch) == 0 {
		return
	}
	ctx := context.WithoutCancel(batch[0].ctx)
	if deadline, ok := batch[0].ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	messages := make([]port.Message, len(batch))
	for i := range batch {
		messages[i] = batch[i].message
	}
	errs := slices.Repeat([]error{errSend}, len(batch))
	defer func() { // also after a panic: nobody waits for ever
		for i := range batch {
			*batch[i].err = errs[i]
			batch[i].done.Done()
		}
	}()
	copy(errs, g.Sender.Send(ctx, messages))
}
