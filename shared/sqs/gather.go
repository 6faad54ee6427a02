package sqs

import (
	"context"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Gatherer is a queue that combines the messages that several goroutines send at the same time. If an agent
// handles five requests at once, their replies cost one SQS request instead of five.
//
// A sender waits until every goroutine between Begin and End waits too, a batch is full, or the linger is
// over. A single sender does not wait.
type Gatherer struct {
	port.Queue
	linger time.Duration

	mu      sync.Mutex
	active  int
	letters []letter
	waiting int // senders of the letters
	round   int
}

// letter is a message with the place of its error.
type letter struct {
	ctx     context.Context
	message port.Message
	err     *error
	done    *sync.WaitGroup
}

// Gather returns a Gatherer.
func Gather(queue port.Queue, linger time.Duration) *Gatherer {
	return &Gatherer{Queue: queue, linger: linger}
}

// Begin announces a goroutine that may send soon.
func (g *Gatherer) Begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active++
}

// End announces that a goroutine sends no more.
func (g *Gatherer) End() {
	g.mu.Lock()
	g.active--
	batch := g.ready()
	g.mu.Unlock()
	g.send(batch)
}

// Send sends messages together with those of other senders. The first sender's deadline counts. A batch
// outlives the end of one sender's context, because it belongs to all of them.
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

// ready returns the letters to send if no further sender is worth waiting for. The caller holds the lock.
func (g *Gatherer) ready() []letter {
	if len(g.letters) == 0 || g.waiting < g.active && len(g.letters) < port.MaxBatch {
		return nil
	}
	return g.take()
}

func (g *Gatherer) take() []letter {
	batch := g.letters
	g.letters, g.waiting = nil, 0
	g.round++
	return batch
}

// late sends the letters that have waited for the linger.
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
