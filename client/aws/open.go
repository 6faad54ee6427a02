package aws

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// Options configures Open. The zero value uses the Region and the credentials from the environment or from
// the user's profile, like other AWS tools (AWS_REGION, AWS_PROFILE).
type Options struct {
	Region string
	// Endpoint is the address of all AWS services, for example of an emulator. If Endpoint is empty, the SDK
	// uses AWS or the environment variable AWS_ENDPOINT_URL.
	Endpoint string
	// Wrap wraps the HTTP transport, for example to count requests or to inject faults.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Open reads the outputs of a CloudFormation stack and returns a client for the stack. The argument name is
// the name of the stack. If the stack contains several Stepkeepers, name has the form STACK/CONSTRUCT.
//
// The error wraps one of these errors, or is a different error:
//
//   - ErrNoStack: the stack does not exist.
//   - client.ErrForbidden: credentials or a permission are missing.
//   - client.ErrConnection: AWS does not respond.
func Open(ctx context.Context, name string, o Options, opts ...client.Option) (*client.Client, error) {
	c, err := Configure(ctx, o)
	if err != nil {
		return nil, err
	}
	return OpenWith(ctx, c, name, opts...)
}

// CodeNoConfiguration is the code of Configure's error if the Region is missing, or if a profile cannot be read.
const CodeNoConfiguration = "no-configuration"

// Configure loads a configuration of the SDK. It returns an error if there are no credentials.
func Configure(ctx context.Context, o Options) (aws.Config, error) {
	c, err := awsclient.Load(ctx, awsclient.Options{Region: o.Region, Endpoint: o.Endpoint, Wrap: o.Wrap})
	if err != nil {
		return c, refusal(http.StatusBadRequest, CodeNoConfiguration, "%v", err)
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

// OpenWith is Open with an existing configuration of the SDK. The client uses the time limits and the number
// of attempts of the configuration.
func OpenWith(ctx context.Context, c aws.Config, name string, opts ...client.Option) (*client.Client, error) {
	outputs, err := Describe(ctx, c, name)
	if err != nil {
		return nil, err
	}
	return Connect(c, outputs, opts...), nil
}

// Describe reads the outputs of a stack from CloudFormation. The argument name has the same form as in Open.
func Describe(ctx context.Context, c aws.Config, name string) (Outputs, error) {
	stackName, construct, _ := strings.Cut(name, "/")
	if strings.HasPrefix(name, "arn:") { // a stack's ARN contains slashes
		stackName = name
		construct = ""
	}
	var out struct {
		Outputs []struct{ OutputKey, OutputValue string } `xml:"DescribeStacksResult>Stacks>member>Outputs>member"`
	}
	err := direct.New(c, direct.CloudFormation).Query(ctx, "DescribeStacks", url.Values{"StackName": {stackName}},
		&out)
	if err != nil {
		return Outputs{}, unseen(ctx, stackName, c.Region, err)
	}
	values := map[string]string{}
	for _, o := range out.Outputs {
		values[o.OutputKey] = o.OutputValue
	}
	outputs, err := ReadOutputs(values, construct)
	if err != nil {
		return Outputs{}, fmt.Errorf("stack %s in %s: %w", stackName, c.Region, err)
	}
	outputs.Stack = stackName
	outputs.Region = c.Region
	return outputs, nil
}

// Connect returns a client for the deployment that the outputs describe. It makes no network call.
func Connect(c aws.Config, o Outputs, opts ...client.Option) *client.Client {
	parts, _ := PartsOf(c, o)
	return Over(parts, opts...)
}

// PartsOf returns the parts of a client for a stack, and the store on its tables that some of them are.
func PartsOf(c aws.Config, o Outputs) (Parts, *dynamo.Store) {
	store := dynamo.New(dynamo.NewClient(c), dynamo.Tables{Orders: o.Orders, Definitions: o.Definitions},
		dynamo.Options{Shards: o.Shards, FinishedIndex: o.Finished})
	return Parts{
		Outputs: o, Tasks: store, Definitions: store, Schedules: store.Schedules(), Queues: addresses(c, o),
	}, store
}

func addresses(c aws.Config, o Outputs) Queues {
	urls := map[string]string{port.Intake: o.Intake, port.Control: o.Control, port.Replies: o.Replies}
	if o.Tasks != "" {
		urls[port.Tasks] = o.Tasks
	}
	for agent, url := range o.Requests {
		urls[port.Requests(agent)] = url
	}
	for queue, url := range o.High {
		urls[port.High(queue)] = url
	}
	for name, url := range o.Dead {
		urls[client.DeadName(name)] = url
	}
	return sqs.New(c, sqs.Config{URLs: urls})
}
