package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// tries records the results of all tries of one write, including the SDK's retries.
type tries struct {
	doubt bool // a try failed without a refusal by DynamoDB, so its item may be stored
}

// watch is an option of an SDK call. It makes the call record its tries in t.
func (t *tries) watch(o *dynamodb.Options) {
	each := middleware.FinalizeMiddlewareFunc("StepkeeperTries",
		func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleFinalize(ctx, in)
			t.doubt = t.doubt || err != nil && !refused(err)
			return out, metadata, err
		})
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(each, "Retry", middleware.After)
	})
}

// refused reports whether DynamoDB's response states that the request was not executed. A 5xx response never
// states this, even if the response has an error code.
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

var throttles = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "RequestLimitExceeded",
	"LimitExceededException",
}

// meaning converts an error of the SDK to an error of package port. It returns port.ErrUnavailable if
// DynamoDB refused all tries for lack of capacity or because of a conflicting transaction. It returns
// port.ErrTooLarge if the item is too large. For the caller, any other error means that the item may be
// stored. If doubt is true, meaning returns neither of the two errors, because the item may be stored.
func meaning(ctx context.Context, what string, doubt bool, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	switch {
	case !errors.As(err, &api) && !doubt && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		// The call's time limit ended during the wait for the next try. DynamoDB had refused all tries.
		return fmt.Errorf("%s: throttled for too long, try again later: %w: %w", what, port.ErrUnavailable,
			err)
	case !errors.As(err, &api):
	case doubt:
	case passing(err) || slices.Contains(throttles, api.ErrorCode()):
		return fmt.Errorf("%s: throttled, try again later: %w: %w", what, port.ErrUnavailable, err)
	case api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), "tem size"):
		return fmt.Errorf("%s: %w: %w", what, port.ErrTooLarge, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// errOvertaken means that a try of the write failed without a refusal, and that a newer version is stored.
// The newer version may build on the write.
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

// unread converts the error of a failed read to an error of package port. The failure is permanent if the
// context has ended, or if DynamoDB refused the read for a reason other than throttling. For any other
// failure, unread returns port.ErrUnavailable.
func unread(ctx context.Context, what string, err error) error {
	var api smithy.APIError
	final := refused(err) && !(errors.As(err, &api) && slices.Contains(throttles, api.ErrorCode()))
	if ctx.Err() != nil || final {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
}
