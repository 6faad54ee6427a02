package port

import "context"

// Span is what is known of a handling when it has ended.
type Span struct {
	OrderID string
	Run     int
	Step    string // step of a request
	Attempt int    // attempt of a request
	State   string // state of the task afterwards; "" if unknown
	// Trace is the W3C traceparent that belongs to the order's run (core.Trace), or to the attempt: the span
	// is linked with it, so that all handlings of an order are found from any of them, and no trace grows
	// with an order's life.
	Trace string
}

// Tracer makes spans of handlings, each a trace of its own.
type Tracer interface {
	// Begin begins one. The context is for what it calls.
	Begin(ctx context.Context, name string) (context.Context, Handling)
}

// Handling is a span under way.
type Handling interface {
	// Traceparent is W3C's, for those that are called; "" where it is not recorded.
	Traceparent() string
	End(s Span, err error)
}
