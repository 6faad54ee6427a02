package port

import "context"

// Span describes the handling of one message or task. The handling has ended.
type Span struct {
	OrderID string
	Run     int
	Step    string // step of the request, set only by agents
	Attempt int    // attempt of the request, set only by agents
	State   string // state of the task afterwards; "" if unknown
	// Trace is the W3C traceparent of the order's run (core.Trace) or of the attempt. The span links to
	// Trace, because each handling is a separate trace. The links connect the handlings of one order.
	Trace string
}

// Tracer records a span for each handling of a message or task. Each handling is a separate trace.
type Tracer interface {
	// Begin begins a span. The handling makes its calls with the returned context.
	Begin(ctx context.Context, name string) (context.Context, Handling)
}

// Handling is a span that has not ended.
type Handling interface {
	// Traceparent returns the W3C traceparent that the handling sends to services. It returns "" if the span
	// is not recorded.
	Traceparent() string
	// End ends the span. err is the error of the handling.
	End(s Span, err error)
}
