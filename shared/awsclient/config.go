package awsclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/loopback"
)

// Options configures Load. The zero value connects to AWS with the settings of the environment.
type Options struct {
	// Endpoint is the address of all services. "" means the address in the SDK's environment variables, such
	// as AWS_ENDPOINT_URL. Without such a variable, it means AWS.
	Endpoint string
	// Region is the AWS Region. "" means the Region of the environment or of the user's profile.
	Region string
	// CallTimeout is the time limit of one call with all its attempts; default 10 s. wire.WithCallTimeout
	// overrides this limit.
	CallTimeout time.Duration
	// Wrap wraps the transport, for example with a meter or injected faults.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Endpoint returns the endpoint of a service from the environment: STEPKEEPER_ENDPOINT, then
// AWS_ENDPOINT_URL_<SERVICE>, then AWS_ENDPOINT_URL. "" means AWS.
func Endpoint(service string) string {
	for _, name := range []string{
		"STEPKEEPER_ENDPOINT", "AWS_ENDPOINT_URL_" + strings.ToUpper(service),
		"AWS_ENDPOINT_URL",
	} {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// Load returns the configuration. The SDK finds the Region and the credentials in the environment. If the
// endpoint is on this machine, as with `stepkeeper dev`, Load uses placeholders for a missing Region and
// missing credentials. For other endpoints a missing Region is an error.
func Load(ctx context.Context, o Options) (aws.Config, error) {
	o.CallTimeout = cmp.Or(o.CallTimeout, wire.DefaultCallTimeout)
	local, err := isLocal(o.Endpoint)
	if err != nil {
		return aws.Config{}, err
	}
	load := []func(*config.LoadOptions) error{
		config.WithRetryMode(aws.RetryModeStandard),
		config.WithLogger(logging.Nop{}), // standard error is the program's: errors say what matters
		config.WithRetryMaxAttempts(wire.DefaultMaxAttempts),
		config.WithHTTPClient(wire.BuildableClient()),
		config.WithAPIOptions([]func(*middleware.Stack) error{wire.LimitTime(o.CallTimeout), wire.HideSecrets}),
	}
	if o.Endpoint != "" {
		load = append(load, config.WithBaseEndpoint(o.Endpoint))
	}
	if o.Region != "" {
		load = append(load, config.WithRegion(o.Region))
	}
	if local && o.Region == "" && os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" {
		load = append(load, config.WithRegion("us-east-1"))
	}
	if local && os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local",
			"local", "")))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if errors.As(err, &config.AssumeRoleTokenProviderNotSetError{}) {
		return aws.Config{}, fmt.Errorf("the profile asks for a code of MFA, which only the AWS CLI can ask for; get "+
			"credentials from it first: eval \"$(aws configure export-credentials --profile %s --format env)\": %w",
			cmp.Or(os.Getenv("AWS_PROFILE"), "default"), err)
	}
	if err != nil {
		return aws.Config{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	if c.Region == "" {
		return aws.Config{},
			fmt.Errorf("no AWS region is set; set AWS_REGION, or AWS_ENDPOINT_URL for a local endpoint")
	}
	c.HTTPClient = wire.HTTPClient(c.HTTPClient, o.Wrap)
	return c, nil
}

func isLocal(endpoint string) (bool, error) {
	if endpoint == "" {
		return false, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, fmt.Errorf("endpoint %.100q is no address that begins with http:// or https://",
			endpoint)
	}
	return loopback.Is(u.Hostname()), nil
}
