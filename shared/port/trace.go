package port

import "context"

// Span describes a handling that has ended.
type Span struct {
	OrderID string
	Run     int
	Step    string // step of a request
	Attempt int    // attempt of a request
	State   string // state of the task afterwards; "" if unknown
	// Trace is the W3C traceparent of the order's run (core.Trace) or of the attempt. The span has a link to
	// it. So all handlings of an order can be found from any of them, and no trace grows with an order's
	// life.
	Trace string
}

// Tracer makes spans of handlings. Each handling is a separate trace.
type Tracer interface {
	// Begin begins a span. The handling makes its calls with the context returned.
	Begin(ctx context.Context, name string) (context.Context, Handling)
}

// Handling is a span that has not ended.
type Handling interface {
	// Traceparent returns W3C's traceparent for the services called, or "" if the span is not recorded.
	Traceparent() string
	End(s Span, err error)
}
