package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// maxTries bounds how often a write is sent that others were in the way of; the SDK's own repeats
// of throttled calls and lost connections are inside each of them.
const maxTries = 4

// patiently sends a write again, after a random wait, that was refused only because another
// transaction was under way at the same item, or because a part of the transaction was throttled:
// the SDK repeats neither (rule 10).
func patiently(ctx context.Context, send func() error) error {
	for try := 1; ; try++ {
		err := send()
		if err == nil || try == maxTries || !passing(err) {
			return err
		}
		wait := time.NewTimer(time.Duration(rand.Int64N(int64(25*time.Millisecond) << try)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%w; it was refused before: %w", ctx.Err(), err)
		}
	}
}

// passing reports a refusal that has to do with the moment only: every reason is a conflict with
// another transaction, or a throttle.
func passing(err error) bool {
	if conflict := (*types.TransactionConflictException)(nil); errors.As(err, &conflict) {
		return true
	}
	refused := (*types.TransactionCanceledException)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	some := false
	for _, reason := range refused.CancellationReasons {
		switch code := aws.ToString(reason.Code); code {
		case "", "None":
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			some = true
		default:
			return false
		}
	}
	return some
}

var throttles = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "Throttling", "RequestLimitExceeded",
	"TransactionInProgressException", "LimitExceededException",
}

// meaning gives the port's meaning to an error of the SDK: what was certainly not stored because
// DynamoDB had no room for it is unavailable; what is too large will never fit. Anything else,
// lost answers above all, means "perhaps stored".
func meaning(what string, err error) error {
	if err == nil {
		return nil
	}
	var api smithy.APIError
	switch {
	case !errors.As(err, &api):
	case passing(err) || slices.Contains(throttles, api.ErrorCode()):
		return fmt.Errorf("%s: throttled, try again later: %w: %w", what, port.ErrUnavailable, err)
	case api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), "tem size"):
		return fmt.Errorf("%s: %w: %w", what, port.ErrTooLarge, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// unread is meaning for reads, after which nothing is in doubt: whatever kept DynamoDB from
// answering may pass, unless it said that it never will, or the caller gave up.
func unread(ctx context.Context, what string, err error) error {
	var api smithy.APIError
	if ctx.Err() != nil || errors.As(err, &api) && api.ErrorFault() != smithy.FaultServer && !slices.Contains(throttles, api.ErrorCode()) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, port.ErrUnavailable, err)
}
