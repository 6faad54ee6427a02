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

// tries observes all tries of one write, including the SDK's own repeats.
type tries struct {
	doubt bool // a try got no response that refuses it, so it may have been stored
}

// watch makes a call record its tries in t.
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
// does, whatever its code.
func refused(err error) bool {
	var answer *smithyhttp.ResponseError
	return errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusBadRequest &&
		answer.HTTPStatusCode() < http.StatusInternalServerError
}

// passing reports whether a request was refused because of another program's transaction on the item.
func passing(err error) bool {
	conflict := (*types.TransactionConflictException)(nil)
	return errors.As(err, &conflict)
}

var throttles = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "RequestLimitExceeded",
	"LimitExceededException",
}

// meaning translates an error of the SDK into the port's. It returns port.ErrUnavailable if DynamoDB refused
// all tries for lack of capacity or because of a conflicting transaction, and port.ErrTooLarge if the item is
// too large. Any other error means "perhaps stored". So does any error after a try without a response.
func meaning(ctx context.Context, what string, doubt bool, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	switch {
	case !errors.As(err, &api) && !doubt && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		// the call's own time ended while it waited for the next attempt; all attempts were refused
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

// errOvertaken means that a try of this write got no response, and the stored version is now newer than the
// version of this write. It is unknown whether the stored version builds on this write.
var errOvertaken = errors.New(
	"an answer was lost, and newer versions are stored: perhaps they stand on this one")

// refusal returns the error of a write whose condition failed. If a try of this write got no response and the
// stored version is newer, it returns errOvertaken, because the newer version may build on this write.
// Otherwise it returns the argument otherwise.
func refusal(there attrs, version int64, doubt bool, otherwise error) error {
	if stored := numberOf(there["Version"]); doubt && stored > version {
		return fmt.Errorf("version %d of now %d: %w", version, stored, errOvertaken)
	}
	return otherwise
}

// unread returns the port's error of a failed read, which leaves nothing in doubt. A failure is temporary
// unless DynamoDB refused the read for good or the caller gave up. A 502 or 503 without a code of DynamoDB is
// temporary too.
func unread(ctx context.Context, what string, err error) error {
	var api smithy.APIError
	final := refused(err) && !(errors.As(err, &api) && slices.Contains(throttles, api.ErrorCode()))
	if ctx.Err() != nil || final {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
}
