package wire

import (
	"context"
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
