package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// tries observes each try of one write, including the SDK's retries.
type tries struct {
	doubt bool // a try failed without a refusal by DynamoDB, so its item may be stored
}

// watch is an option of an SDK call. It makes the call record its tries in t.
func (t *tries) watch(o *dynamodb.Options) {
	each := middleware.FinalizeMiddlewareFunc("StepkeeperTries",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error,
		) {
			out, metadata, err := next.HandleFinalize(ctx, in)
			t.doubt = t.doubt || err != nil && !refused(err)
			return out, metadata, err
		})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(each, "Retry", middleware.After)
	})
}

// refused reports whether DynamoDB has responded that it did not execute the request. After a 5xx response,
// DynamoDB may have executed the request, even if the response has an error code.
func refused(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusBadRequest &&
		answer.HTTPStatusCode() < http.StatusInternalServerError
}

// passing reports whether DynamoDB refused a request because a transaction of another program was changing
// the item.
func passing(err error) bool {
	conflict := (*types.TransactionConflictException)(nil)
	return errors.As(err, &conflict)
}

// meaning converts the error of a write. If DynamoDB refused all tries, the result can wrap an error of
// package port:
//   - port.ErrUnavailable, if the tries were throttled or conflicted with a transaction
//   - port.ErrTooLarge, if the item is too large
//
// For any other result, the caller must assume that the item may be stored. doubt is true if a try of the
// write failed without a refusal. The result then wraps no error of package port.
func meaning(ctx context.Context, what string, doubt bool, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	switch {
	case !errors.As(err, &api) && !doubt && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		// The call's time limit ended during the wait for the next try. DynamoDB has refused every try.
		return fmt.Errorf("%s: throttled for too long, try again later: %w: %w", what, port.ErrUnavailable,
			err)
	case !errors.As(err, &api):
	case doubt:
	case passing(err) || wire.Throttled(api.ErrorCode()):
		return fmt.Errorf("%s: throttled, try again later: %w: %w", what, port.ErrUnavailable, err)
	case api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), "tem size"):
		return fmt.Errorf("%s: %w: %w", what, port.ErrTooLarge, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// errOvertaken means that a try of the write failed without a refusal, and that a newer version is stored.
// Perhaps the write was stored, and the newer version has replaced it.
var errOvertaken = errors.New(
	"an answer was lost, and newer versions are stored: perhaps they stand on this one")

// refusal returns the error of a write whose condition failed. It returns errOvertaken if doubt is true and
// the stored version is newer than the write's version. In all other cases it returns the argument otherwise.
func refusal(there attrs, version int64, doubt bool, otherwise error) error {
	if stored := numberOf(there["Version"]); doubt && stored > version {
		return fmt.Errorf("version %d of now %d: %w", version, stored, errOvertaken)
	}
	return otherwise
}

// unread converts the error of a failed read. The result wraps port.ErrUnavailable, with two exceptions:
//   - The context has ended.
//   - DynamoDB has refused the read for a reason other than throttling.
func unread(ctx context.Context, what string, err error) error {
	var api smithy.APIError
	final := refused(err) && !(errors.As(err, &api) && wire.Throttled(api.ErrorCode()))
	if ctx.Err() != nil || final {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
}
