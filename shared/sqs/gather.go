package sqs

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Gatherer is a queue that combines the messages of several senders into one request. If an agent handles
// five requests at the same time, the five replies can cost one SQS request instead of five.
//
// A sender calls Begin before Send and End after it. Send waits until one of these conditions holds:
//   - every goroutine that has called Begin, but not End, waits in Send
//   - the waiting messages fill a batch
//   - the linger has passed since the first sender began to wait
//
// A sender that is alone does not wait.
type Gatherer struct {
	port.Queue
	linger time.Duration

	mu      sync.Mutex
	active  int
	letters []letter
	waiting int // number of senders that wait in Send
	round   int
}

// letter is a message that waits to be sent. send stores the result in err.
type letter struct {
	ctx     context.Context
	message port.Message
	err     *error
	done    *sync.WaitGroup
}

// Gather returns a Gatherer for the queue.
func Gather(queue port.Queue, linger time.Duration) *Gatherer {
	return &Gatherer{Queue: queue, linger: linger}
}

// Begin announces a goroutine that may call Send soon.
func (g *Gatherer) Begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active++
}

// End announces that a goroutine will not call Send again.
func (g *Gatherer) End() {
	g.mu.Lock()
	g.active--
	batch := g.ready()
	g.mu.Unlock()
	g.send(batch)
}

// Send sends messages together with the messages of other senders. The deadline of the batch's first sender
// applies to the whole batch. The end of one sender's context does not cancel the batch, because the batch
// contains the messages of several senders.
func (g *Gatherer) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	if len(messages) == 0 {
		return errs
	}
	var done sync.WaitGroup
	done.Add(len(messages))
	g.mu.Lock()
	for i := range messages {
		g.letters = append(g.letters, letter{ctx, messages[i], &errs[i], &done})
	}
	g.waiting++
	batch := g.ready()
	if batch == nil && g.waiting == 1 {
		round := g.round
		time.AfterFunc(g.linger, func() {
			_ = port.Guard(nil, "sending", func() error { g.late(round); return nil })
		})
	}
	g.mu.Unlock()
	g.send(batch)
	done.Wait()
	return errs
}

// ready returns the letters to send, or nil if Send should wait for more senders. The caller holds the lock.
func (g *Gatherer) ready() []letter {
	if len(g.letters) == 0 || g.waiting < g.active && len(g.letters) < port.MaxBatch {
		return nil
	}
	return g.take()
}

func (g *Gatherer) take() []letter {
	batch := g.letters
	g.letters = nil
	g.waiting = 0
	g.round++
	return batch
}

// late sends the letters of a round after the linger, unless they have already been sent.
func (g *Gatherer) late(round int) {
	g.mu.Lock()
	var batch []letter
	if g.round == round {
		batch = g.take()
	}
	g.mu.Unlock()
	g.send(batch)
}

func (g *Gatherer) send(batch []letter) {
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
	errs := g.Queue.Send(ctx, messages)
	for i := range batch {
		*batch[i].err = errs[i]
		batch[i].done.Done()
	}
}
