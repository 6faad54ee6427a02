package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
)

// Room compares a deployment's functions with the account's quotas of Lambda. Concurrent executions above the
// quota are throttled: their messages return to the queue, come back late, and have one more receive. New
// accounts have a quota of 10.
type Room struct {
	// concurrent executions of all event source mappings and the Supervisor; 0 if the stack does not state it
	Needs int
	Limit int // concurrent executions of the account in the Region, for all of its functions
	// part of Needs that functions without reserved concurrency use; 0 if the stack does not state it
	Shared     int
	Unreserved int // part of Limit that is not reserved for single functions

	code, codeLimit int64 // bytes of all functions and layers of the account
}

// Fits reports whether none of the deployment's functions is throttled.
func (r Room) Fits() bool { return r.Needs <= r.Limit && r.Shared <= r.Unreserved }

// String describes the needs of the functions and the account's limits.
func (r Room) String() string {
	if r.Needs <= r.Limit && !r.Fits() {
		return fmt.Sprintf("functions without reserved concurrency may run %d at a time, and the account "+
			"leaves them %d of its %d in this Region: the rest is reserved for single functions",
			r.Shared, r.Unreserved, r.Limit)
	}
	return fmt.Sprintf("its functions may run %d at a time, and the account allows %d in this Region",
		r.Needs, r.Limit)
}

// codeStorage checks the free space for code. Each deployment uploads its functions, and fails if the storage
// is full.
func (r Room) codeStorage() client.Check {
	if r.codeLimit == 0 {
		return client.NotChecked("code storage", errors.New("AWS Lambda did not answer the account's limit"))
	}
	return client.Checked("code storage", !near(float64(r.code), float64(r.codeLimit)), fmt.Sprintf(
		"the functions and layers of the account have %d MB, and AWS Lambda keeps %d MB in a Region",
		r.code>>20, r.codeLimit>>20),
		"delete functions and versions that are not used, or ask for a higher quota (Service Quotas: "+
			"AWS Lambda, Function and layer storage), before you deploy")
}

// RoomOf reads the needs of a deployment's functions and the account's quotas. The error is ErrForbidden if
// lambda:GetAccountSettings is not allowed. No policy of the deployment allows that action, because AWS
// cannot restrict it to the deployment's resources.
func RoomOf(ctx context.Context, name string, o stack.Options) (Room, error) {
	c, err := stack.Configure(ctx, o)
	if err != nil {
		return Room{}, err
	}
	outputs, err := stack.Describe(ctx, c, name)
	if err != nil {
		return Room{}, err
	}
	room, _, err := roomOf(ctx, lambda.NewFromConfig(c), outputs)
	return room, err
}

func roomOf(ctx context.Context, from Lambda, o stack.Outputs) (Room, middleware.Metadata, error) {
	settings, err := from.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return Room{}, middleware.Metadata{},
			stack.Failed(ctx, stack.Use{Action: "lambda:GetAccountSettings", On: "the account"},
				err)
	}
	limit := settings.AccountLimit
	if limit == nil {
		return Room{}, middleware.Metadata{},
			errors.New("AWS Lambda did not answer the account's limit of concurrent executions")
	}
	r := Room{Needs: o.Concurrency, Limit: int(limit.ConcurrentExecutions), Shared: o.Shared,
		Unreserved: int(limit.ConcurrentExecutions), codeLimit: limit.TotalCodeSize}
	if limit.UnreservedConcurrentExecutions != nil {
		r.Unreserved = int(*limit.UnreservedConcurrentExecutions)
	}
	if settings.AccountUsage != nil {
		r.code = settings.AccountUsage.TotalCodeSize
	}
	return r, settings.ResultMetadata, nil
}
