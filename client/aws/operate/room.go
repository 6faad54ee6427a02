package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
)

// Room compares the needs of a deployment's functions with the account's Lambda quotas. Lambda throttles
// concurrent executions above the quota. The messages of a throttled execution return to their queue and are
// delivered again later, with a higher receive count. New accounts have a quota of 10 concurrent executions.
type Room struct {
	// Needs is the maximum number of concurrent executions of all event source mappings and of the
	// Supervisor. It is 0 if the stack does not have this output.
	Needs int
	Limit int // account's quota of concurrent executions in the Region
	// Shared is the part of Needs for functions without reserved concurrency. It is 0 if the stack does not
	// have this output.
	Shared     int
	Unreserved int // part of Limit that no function of the account has reserved

	code, codeLimit int64 // bytes of the account's functions and layers, and their quota
}

// Fits reports whether the quotas are sufficient for all functions of the deployment.
func (r Room) Fits() bool { return r.Needs <= r.Limit && r.Shared <= r.Unreserved }

// String returns a sentence about the needs of the functions and the quotas.
func (r Room) String() string {
	if r.Needs <= r.Limit && !r.Fits() {
		return fmt.Sprintf("functions without reserved concurrency may run %d at a time, and the account "+
			"leaves them %d of its %d in this Region: the rest is reserved for single functions",
			r.Shared, r.Unreserved, r.Limit)
	}
	return fmt.Sprintf("its functions may run %d at a time, and the account allows %d in this Region",
		r.Needs, r.Limit)
}

// codeStorage checks the account's free storage for the code of functions. A deployment uploads its
// functions, and fails if the storage is full.
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

// RoomOf reads the needs of a deployment's functions and the account's quotas. The error is
// client.ErrForbidden if the caller has no permission for lambda:GetAccountSettings. No policy of the
// deployment allows this action, because a policy cannot restrict the action to the deployment's resources.
func RoomOf(ctx context.Context, name string, o aws.Options) (Room, error) {
	c, err := aws.Configure(ctx, o)
	if err != nil {
		return Room{}, err
	}
	outputs, err := aws.Describe(ctx, c, name)
	if err != nil {
		return Room{}, err
	}
	room, _, err := roomOf(ctx, direct.New(c, direct.Lambda), outputs)
	return room, err
}

func roomOf(ctx context.Context, functions *direct.Client, o aws.Outputs) (Room, middleware.Metadata, error) {
	settings, metadata, err := readAccount(ctx, functions)
	if err != nil {
		return Room{}, middleware.Metadata{},
			aws.Failed(ctx, aws.Use{Action: "lambda:GetAccountSettings", On: "the account"}, err)
	}
	limit := settings.AccountLimit
	if limit == nil {
		return Room{}, middleware.Metadata{},
			errors.New("AWS Lambda did not answer the account's limit of concurrent executions")
	}
	r := Room{
		Needs: o.Concurrency, Limit: limit.ConcurrentExecutions, Shared: o.Shared,
		Unreserved: limit.ConcurrentExecutions, codeLimit: limit.TotalCodeSize,
		code: settings.AccountUsage.TotalCodeSize,
	}
	if limit.UnreservedConcurrentExecutions != nil {
		r.Unreserved = *limit.UnreservedConcurrentExecutions
	}
	return r, metadata, nil
}
