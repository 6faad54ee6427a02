package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Shares of orders with which the application does more than submit them.
const (
	cancelShare      = 0.06
	cancelFirstShare = 0.01 // before they are submitted: they must never run
	twiceShare       = 0.03 // submitted twice at the same time
)

// longestThought is how long after its order a cancel may come.
const longestThought = 4 * time.Second

// load is the application: it submits orders at an even pace, cancels some, and remembers what it was
// reported.
type load struct {
	api  *client.Client
	seed uint64
	rate int // orders a second

	mu        sync.Mutex
	orders    map[string]*sold
	wrong     []audit.Violation
	cancels   int // accepted
	refusals  int // cancels that came too late
	submitted int
}

// sold is one order, as its sender knows it.
type sold struct {
	expect    audit.Order
	accepted  bool
	refused   string
	cancelled bool // and the cancel was accepted
}

// chance draws for one order: the same for the same seed.
func (l *load) chance(what, id string) float64 { return chance(l.seed, what, id) }

func chance(seed uint64, what, id string) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%s", seed, what, id)
	return rand.New(rand.NewPCG(seed, h.Sum64())).Float64()
}

// run sends orders until ctx ends; whatever was begun is brought to its answer under work.
func (l *load) run(ctx, work context.Context) {
	var sending sync.WaitGroup
	defer sending.Wait()
	began, n := time.Now(), 0
	for line := range shop.Good(l.seed) {
		if port.Sleep(ctx, time.Until(began.Add(time.Duration(n)*time.Second/time.Duration(l.rate)))) != nil {
			return
		}
		n++
		sending.Go(func() { l.one(work, line) })
	}
}

// one is an order and all that its sender does with it.
func (l *load) one(ctx context.Context, line []byte) {
	var s struct {
		OrderID, Workflow, Priority string
		Order                       json.RawMessage
	}
	if err := json.Unmarshal(line, &s); err != nil {
		panic(err) // our own line
	}
	o := client.Order{ID: s.OrderID, Workflow: s.Workflow, Priority: s.Priority, Content: s.Order}
	_, expect := shop.Expectation(line)
	mine := &sold{expect: expect}
	l.mu.Lock()
	l.orders[o.ID] = mine
	l.submitted++
	l.mu.Unlock()
	if l.chance("cancel first", o.ID) < cancelFirstShare {
		l.cancel(ctx, mine, o.ID)
	}
	var sending sync.WaitGroup
	sending.Go(func() { l.submit(ctx, mine, o) })
	if l.chance("twice", o.ID) < twiceShare {
		sending.Go(func() { l.submit(ctx, mine, o) })
	}
	if l.chance("cancel", o.ID) < cancelShare &&
		port.Sleep(ctx, time.Duration(l.chance("when", o.ID)*float64(longestThought))) == nil {
		l.cancel(ctx, mine, o.ID)
	}
	sending.Wait()
}

// submit sends the order until it is answered.
func (l *load) submit(ctx context.Context, mine *sold, o client.Order) {
	for ctx.Err() == nil {
		_, err := l.api.Submit(ctx, o)
		l.mu.Lock()
		switch {
		case err == nil:
			mine.accepted = true
		case errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrInvalid):
			mine.refused = err.Error()
		}
		answered := mine.accepted || mine.refused != ""
		l.mu.Unlock()
		if answered || port.Sleep(ctx, 100*time.Millisecond) != nil {
			return
		}
	}
}

// cancel sends one cancel, under one ID, until it is answered.
func (l *load) cancel(ctx context.Context, mine *sold, id string) {
	for ctx.Err() == nil {
		verdict, err := l.api.Cancel(ctx, id, client.CommandID("cancel-"+id))
		if err != nil && !errors.Is(err, client.ErrRefused) {
			_ = port.Sleep(ctx, 100*time.Millisecond)
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil && verdict.Accepted {
			mine.cancelled = true
			l.cancels++
			return
		}
		l.refusals++
		return
	}
}

// count is how many orders were sent.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.submitted
}

// outcomes is what the audit is given, by what the engine lists at the end.
func (l *load) outcomes(listed map[string]client.Summary, probes []string) []audit.Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]audit.Order, 0, len(l.orders)+len(probes))
	for id, s := range l.orders {
		o := s.expect
		o.ID = id
		got, known := listed[id]
		o.Outcome = outcome(got, known)
		if !s.accepted && !known {
			o.Outcome = audit.Unfinished // never answered: the load gave up, which is another outcome
			if s.refused != "" {
				o.Outcome = audit.Refused
			}
		}
		if s.cancelled && known && got.State != "Cancelled" {
			l.wrong = append(l.wrong, audit.Violation{Order: id, What: "a cancel was accepted",
				Expected: "Cancelled", Found: string(got.State)})
		}
		all = append(all, o)
	}
	for _, id := range probes {
		all = append(all, audit.Order{ID: id, Outcome: audit.Undone})
	}
	return all
}

func outcome(s client.Summary, known bool) audit.Outcome {
	switch {
	case !known:
		return audit.Lost
	case !s.Ended:
		return audit.Unfinished
	case s.State == "Processed":
		return audit.Processed
	case s.State == "Compensated", s.State == "Cancelled":
		return audit.Undone
	case s.State == "Error":
		return audit.Error
	}
	return audit.Unfinished
}
