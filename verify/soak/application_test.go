package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Shares of orders with which the application does more than submit them.
const (
	cancelShare      = 0.06
	cancelFirstShare = 0.01 // cancelled before they are submitted, so they must never run
	twiceShare       = 0.03 // orders that are submitted twice at the same time
	racedShare       = 0.6  // orders of the workflow raced; the others are of the workflow order
)

// raced is the workflow with races, a loop and deadlines. Its orders have the same effects as the others.
const raced = "raced"

// longestThought is the longest time between an order and its cancel.
const longestThought = 4 * time.Second

// application submits orders at an even pace, cancels some, and records the responses.
type application struct {
	*stage.Book
	api  *client.Client
	seed uint64
	rate int // orders a second
}

// chance draws a number for one order. The same seed gives the same number.
func (l *application) chance(what, id string) float64 { return chance(l.seed, what, id) }

func chance(seed uint64, what, id string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%s", seed, what, id)
	return rand.New(rand.NewPCG(seed, h.Sum64())).Float64()
}

// mostAtOnce bounds the orders at the same time. Each takes seconds, or a minute while the engine is away.
const mostAtOnce = 2000

// run sends orders until ctx ends. It repeats the unanswered requests until they are answered or work ends.
func (l *application) run(ctx, work context.Context) {
	next, stop := iter.Pull(shop.Good(l.seed))
	defer stop()
	var mu sync.Mutex
	// the only error is the end of ctx
	_, _ = load.Run(ctx, load.Request{Concurrency: mostAtOnce, PerSecond: float64(l.rate)}, func(int) error {
		mu.Lock()
		line, _ := next()
		mu.Unlock()
		l.one(work, line)
		return nil
	})
}

// one submits an order, and perhaps cancels it or submits it twice.
func (l *application) one(ctx context.Context, line []byte) {
	var s struct {
		OrderID, Workflow, Priority string
		Order                       json.RawMessage
	}
	if err := json.Unmarshal(line, &s); err != nil {
		panic(err) // the application made the line
	}
	if l.chance("raced", s.OrderID) < racedShare {
		s.Workflow = raced
	}
	o := client.Order{ID: s.OrderID, Workflow: s.Workflow, Priority: s.Priority, Content: s.Order}
	place := l.Add(line)
	if l.chance("cancel first", o.ID) < cancelFirstShare {
		l.cancel(ctx, place, o.ID)
	}
	var sending sync.WaitGroup
	sending.Go(func() { l.submit(ctx, place, o) })
	if l.chance("twice", o.ID) < twiceShare {
		sending.Go(func() { l.submit(ctx, place, o) })
	}
	if l.chance("cancel", o.ID) < cancelShare &&
		port.Sleep(ctx, time.Duration(l.chance("when", o.ID)*float64(longestThought))) == nil {
		l.cancel(ctx, place, o.ID)
	}
	sending.Wait()
}

// submit sends the order repeatedly until it gets a response.
func (l *application) submit(ctx context.Context, place int, o client.Order) {
	for ctx.Err() == nil {
		_, err := l.api.Submit(ctx, o)
		switch {
		case err == nil:
			l.Accept(place, o.ID)
			return
		case errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrInvalid):
			l.Refuse(place, err.Error())
			return
		}
		_ = port.Sleep(ctx, 100*time.Millisecond)
	}
}

// cancel sends one cancel repeatedly, with the same ID, until it gets a response.
func (l *application) cancel(ctx context.Context, place int, id string) {
	for ctx.Err() == nil {
		verdict, err := l.api.Cancel(ctx, id, client.CommandID("cancel-"+id))
		if err == nil && verdict.Accepted {
			l.Cancel(place)
		}
		if err == nil || errors.Is(err, client.ErrRefused) {
			return
		}
		_ = port.Sleep(ctx, 100*time.Millisecond)
	}
}
