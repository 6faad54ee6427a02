package aws

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

// Room is what a deployment's functions need of the account's quota of concurrent executions: what does not
// fit is throttled, and its messages come back late and count a receive. New accounts have 10.
type Room struct {
	Needs int // all event source mappings at once, and the Supervisor; 0: the stack does not say
	Limit int // of the account in the Region, for all of its functions
}

// Fits reports that nothing of the deployment's own is throttled.
func (r Room) Fits() bool { return r.Needs <= r.Limit }

// RoomOf asks for both. The error is ErrForbidden where lambda:GetAccountSettings is not allowed, which no
// policy of the deployment does: AWS knows no resource for it.
func RoomOf(ctx context.Context, name string, o Options) (Room, error) {
	c, err := awsclient.Load(ctx, awsclient.Options{Region: o.Region, Endpoint: o.Endpoint, Wrap: o.Wrap})
	if err != nil {
		return Room{}, err
	}
	outputs, err := Describe(ctx, c, name)
	if err != nil {
		return Room{}, err
	}
	room, _, err := roomOf(ctx, lambda.NewFromConfig(c), outputs.Concurrency)
	return room, err
}

func roomOf(ctx context.Context, from Lambda, needs int) (Room, middleware.Metadata, error) {
	settings, err := from.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		return Room{}, middleware.Metadata{}, failed(ctx, use{"lambda:GetAccountSettings", "the account", ""}, err)
	}
	if settings.AccountLimit == nil {
		return Room{}, middleware.Metadata{}, errors.New("AWS Lambda did not answer the account's limit of concurrent executions")
	}
	return Room{Needs: needs, Limit: int(settings.AccountLimit.ConcurrentExecutions)}, settings.ResultMetadata, nil
}
