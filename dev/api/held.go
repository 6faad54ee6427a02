package api

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Largest numbers of the requests of a kind that last, and of connections. A quarter of the files that the process may
// open is the limit if it is less.
const (
	mostEvents = 1000
	mostWaits  = 5000
	mostPolls  = 1000
	// mostSubmissions is less, because each stream of orders may take 20 MiB.
	mostSubmissions = 200
	// mostIdle counts the connections that stay open between their requests. A browser's console uses fewer than ten.
	mostIdle = 1000
	// mostOpen is a third of the connections that are open at once. The server closes any further one.
	mostOpen = 3000
)

// held bounds the requests of a kind that last, because each takes memory, and an open file from the agents and the
// store.
type held struct {
	kind string // name of the requests, for people
	open chan struct{}
}

func heldAtMost(most int, kind string) held { return held{kind, make(chan struct{}, ofFiles(most))} }

// heldRetry is how long a client should wait after a refusal.
const heldRetry = 5 * time.Second

// begin returns a context for a request that lasts. The context also ends when the server shuts down. begin refuses
// the request if too many of its kind are open. The caller must call the returned function when the request ends, and
// may call it earlier to end the context.
func (h held) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	select {
	case h.open <- struct{}{}:
	default:
		p := problem(http.StatusTooManyRequests, CodeBusy, "%d %s are open, which is the limit: close some; the limit is "+
			"never more than a quarter of the open files (ulimit -n)", cap(h.open), h.kind)
		p.RetryAfter = seconds(heldRetry)
		return nil, nil, p
	}
	ctx, cancel := untilDrain(ctx)
	return ctx, sync.OnceFunc(func() { cancel(); <-h.open }), nil
}

type drainKey struct{}

// untilDrain returns a context that also ends when the server shuts down.
func untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	drain, ok := ctx.Value(drainKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(drain, cancel)
	return ctx, func() { stop(); cancel() }
}
