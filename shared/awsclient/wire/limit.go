package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/smithy-go/middleware"
)

// AttemptTimeout is the limit of one attempt of a call to a service that responds in milliseconds.
const AttemptTimeout = 3 * time.Second

type (
	callTimeout struct{}
	serviceWait struct{}
)

// WithCallTimeout sets another limit for the calls with this context.
func WithCallTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, callTimeout{}, limit)
}

// WithWait extends the limits of a call and of each attempt by the time that the service is asked to wait, as
// in a long poll of SQS.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, serviceWait{}, wait)
}

// waitOf returns the time that WithWait has set, or 0.
func waitOf(ctx context.Context) time.Duration {
	wait, _ := ctx.Value(serviceWait{}).(time.Duration)
	return wait
}

// LimitTime ends each call, with all its attempts, after the limit (rule 13).
func LimitTime(limit time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperCallTimeout",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error) {
				own := limit
				if other, ok := ctx.Value(callTimeout{}).(time.Duration); ok {
					own = other
				}
				ctx, cancel := context.WithTimeout(ctx, own+waitOf(ctx))
				defer cancel()
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}

// LimitAttempts ends each attempt of a call after the limit, so that the SDK repeats a hanging attempt. A
// context's end would end the whole call.
func LimitAttempts(limit time.Duration) func(*middleware.Stack) error {
	each := middleware.FinalizeMiddlewareFunc("StepkeeperAttemptTimeout",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error) {
			limit := limit + waitOf(ctx)
			own, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			out, metadata, err := next.HandleFinalize(own, in)
			if err != nil && own.Err() != nil && ctx.Err() == nil {
				err = &attemptTimeout{limit, err.Error()}
			}
			return out, metadata, err
		})
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(each, "Retry",
			middleware.After)
	}
}

// attemptTimeout does not wrap the SDK's error, because that error would mean that the caller gave up.
type attemptTimeout struct {
	limit time.Duration
	why   string
}

func (e *attemptTimeout) Error() string {
	return fmt.Sprintf("no answer within %s: %s", e.limit, e.why)
}

// RetryableError makes the SDK's retryer repeat the call.
func (e *attemptTimeout) RetryableError() bool { return true }

// UntilShortlyBefore ends each call margin before its context's deadline, instead of after the limit of
// LimitTime.
func UntilShortlyBefore(margin time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperUntilDeadline",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error) {
				if deadline, bounded := ctx.Deadline(); bounded {
					ctx = WithCallTimeout(ctx, time.Until(deadline)-margin)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}
