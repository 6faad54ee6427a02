package aws

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// Options are the options of Open. The zero value means the Region and the credentials of the environment or
// of the user's profile (AWS_REGION, AWS_PROFILE …), as with every AWS tool.
type Options struct {
	Region string
	// Endpoint is the address of all services, such as an emulator's address. "" means AWS, or the SDK's
	// environment variable AWS_ENDPOINT_URL.
	Endpoint string
	// Wrap wraps the HTTP transport, for example with a meter or injected faults.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Open reads the outputs of a CloudFormation stack and returns a client. name is the name of the stack, or
// STACK/CONSTRUCT if the stack holds several Stepkeepers.
//
// The error wraps ErrNoStack, client.ErrForbidden (with the missing permission) or client.ErrConnection.
func Open(ctx context.Context, name string, o Options, opts ...client.Option) (*client.Client, error) {
	c, err := Configure(ctx, o)
	if err != nil {
		return nil, err
	}
	return OpenWith(ctx, c, name, opts...)
}

// Configure loads a configuration of the SDK, and reports an error if there are no credentials.
func Configure(ctx context.Context, o Options) (aws.Config, error) {
	c, err := awsclient.Load(ctx, awsclient.Options{Region: o.Region, Endpoint: o.Endpoint, Wrap: o.Wrap})
	if err != nil {
		return c, refusal(http.StatusBadRequest, "no-configuration", "%v", err)
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		return c, refusal(http.StatusForbidden, codeCredentials, "no AWS credentials were found (%v); log "+
			"in, for instance by `aws login` or `aws sso login`, or set AWS_PROFILE", err)
	}
	return c, nil
}

// OpenWith is Open with an existing configuration of the SDK. Calls use the time limits and attempts of that
// configuration.
func OpenWith(ctx context.Context, c aws.Config, name string, opts ...client.Option) (*client.Client, error) {
	outputs, err := Describe(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return Connect(c, outputs, opts...), nil
}

// Describe asks CloudFormation for the outputs of a stack.
func Describe(ctx context.Context, c aws.Config, name string) (Outputs, error) {
	stackName, construct, _ := strings.Cut(name, "/")
	if strings.HasPrefix(name, "arn:") { // a stack's ARN contains slashes
		stackName, construct = name, ""
	}
	out, err := cloudformation.NewFromConfig(c).DescribeStacks(ctx,
		&cloudformation.DescribeStacksInput{StackName: &stackName})
	if err != nil {
		return Outputs{}, unseen(ctx, stackName, c.Region, err)
	}
	values := map[string]string{}
	for _, s := range out.Stacks {
		for _, o := range s.Outputs {
			values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	outputs, err := ReadOutputs(values, construct)
	if err != nil {
		return Outputs{}, fmt.Errorf("stack %s in %s: %w", stackName, c.Region, err)
	}
	outputs.Stack, outputs.Region = stackName, c.Region
	return outputs, nil
}

// Connect returns a client for known outputs. It makes no network calls.
func Connect(c aws.Config, o Outputs, opts ...client.Option) *client.Client {
	store := Store(c, o)
	return Over(Parts{Outputs: o, Tasks: store, Definitions: store, Schedules: store.Schedules(),
		Queues: Addresses(c, o)}, opts...)
}

// Store returns the tables of a stack.
func Store(c aws.Config, o Outputs) *dynamo.Store {
	return dynamo.New(dynamo.NewClient(c), dynamo.Tables{Orders: o.Orders, Definitions: o.Definitions},
		dynamo.Options{Shards: o.Shards, FinishedIndex: o.Finished})
}

// Addresses returns the queues of a stack.
func Addresses(c aws.Config, o Outputs) Queues {
	urls := map[string]string{port.Intake: o.Intake, port.Control: o.Control, port.Replies: o.Replies}
	for agent, url := range o.Requests {
		urls[port.Requests(agent)] = url
	}
	for queue, url := range o.High {
		urls[port.High(queue)] = url
	}
	for name, url := range o.Dead {
		urls[deadQueue(name)] = url
	}
	return sqs.New(c, sqs.Config{URLs: urls})
}
