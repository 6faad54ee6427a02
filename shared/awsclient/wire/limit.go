package wire

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
)

// AttemptTimeout is the time limit of one attempt, for services that usually respond in milliseconds.
const AttemptTimeout = 3 * time.Second

type (
	callTimeout struct{}
	serviceWait struct{}
)

// WithCallTimeout returns a context that sets the time limit of a call. This limit replaces the limit of
// LimitTime.
func WithCallTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, callTimeout{}, limit)
}

// WithWait returns a context that adds wait to the limits of a call and of each attempt. The service may hold
// the request for this time, as in a long poll of SQS.
func WithWait(ctx context.Context, wait time.Duration) context.Context {
	return context.WithValue(ctx, serviceWait{}, wait)
}

func waitOf(ctx context.Context) time.Duration {
	wait, _ := ctx.Value(serviceWait{}).(time.Duration)
	return wait
}

// LimitTime adds a middleware that ends each call, with all its attempts, after the limit (rule 13).
func LimitTime(limit time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperCallTimeout",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error,
			) {
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

// LimitAttempts adds a middleware that ends each attempt of a call after the limit. The SDK can then repeat
// the attempt. The end of the caller's context still ends the whole call.
func LimitAttempts(limit time.Duration) func(*middleware.Stack) error {
	each := middleware.FinalizeMiddlewareFunc("StepkeeperAttemptTimeout",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error,
		) {
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

// attemptTimeout is the error of an attempt that reached its limit. It does not wrap the SDK's error. If that
// error is a context error, the SDK would stop, as if the caller's context had ended.
type attemptTimeout struct {
	limit time.Duration
	why   string
}

func (e *attemptTimeout) Error() string {
	return fmt.Sprintf("no answer within %s: %s", e.limit, e.why)
}

// RetryableError makes the SDK's retryer repeat the attempt.
func (e *attemptTimeout) RetryableError() bool { return true }

// UntilShortlyBefore adds a middleware that replaces the limit of LimitTime. Each call ends margin before the
// deadline of its context.
func UntilShortlyBefore(margin time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperUntilDeadline",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
				middleware.InitializeOutput, middleware.Metadata, error,
			) {
				if deadline, bounded := ctx.Deadline(); bounded {
					ctx = WithCallTimeout(ctx, time.Until(deadline)-margin)
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}

// throttled lists codes that the SDK does not list. KMS has another code in each service that uses a key for its
// caller. SQS sends two, because the SDK asks it for the codes of its former protocol.
var throttled = []string{
	"OverLimit", // SQS
	"KMS.ThrottlingException", "KmsThrottled", "KMSThrottling", "KMSThrottlingException", "KmsThrottlingException",
}

// Throttled reports whether the code of an error says that the service had too many requests. The service then
// did nothing.
func Throttled(code string) bool {
	_, listed := retry.DefaultThrottleErrorCodes[code]
	return listed || slices.Contains(throttled, code)
}
