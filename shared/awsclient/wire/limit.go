package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/smithy-go/middleware"
)

type callTimeout struct{}

// WithCallTimeout gives the calls made with this context another limit: a long poll needs it.
func WithCallTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, callTimeout{}, limit)
}

// LimitTime ends each call, with all its attempts, after the limit (rule 13).
func LimitTime(limit time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperCallTimeout",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				own := limit
				if other, ok := ctx.Value(callTimeout{}).(time.Duration); ok {
					own = other
				}
				ctx, cancel := context.WithTimeout(ctx, own)
				defer cancel()
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}

// LimitAttempts ends each attempt of a call after the limit, so that one that hangs is tried again: the end
// of a context would end the call.
func LimitAttempts(limit time.Duration) func(*middleware.Stack) error {
	each := middleware.FinalizeMiddlewareFunc("StepkeeperAttemptTimeout",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
			own, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			out, metadata, err := next.HandleFinalize(own, in)
			if err != nil && own.Err() != nil && ctx.Err() == nil {
				err = &attemptTimeout{limit, err.Error()}
			}
			return out, metadata, err
		})
	return func(stack *middleware.Stack) error { return stack.Finalize.Insert(each, "Retry", middleware.After) }
}

// attemptTimeout does not wrap what the SDK said, which would be that the caller gave up.
type attemptTimeout struct {
	limit time.Duration
	why   string
}

func (e *attemptTimeout) Error() string {
	return fmt.Sprintf("no answer within %s: %s", e.limit, e.why)
}

// RetryableError has the SDK's retryer repeat the call.
func (e *attemptTimeout) RetryableError() bool { return true }

// UntilShortlyBefore gives calls whose context has a deadline all the time until so long before it, in
// place of the limit of LimitTime.
func UntilShortlyBefore(margin time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperUntilDeadline",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				if deadline, bounded := ctx.Deadline(); bounded {
					ctx = WithCallTimeout(ctx, time.Until(deadline)-margin)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}
