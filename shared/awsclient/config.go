package awsclient

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/middleware"
)

// Options of a configuration. The zero value is AWS as the environment describes it.
type Options struct {
	// Endpoint of all services; "" for AWS, or for what the environment says to the SDK itself.
	Endpoint string
	// MaxAttempts of one call, the first included; default 4.
	MaxAttempts int
	// CallTimeout of one call, all its attempts together; default 10 s. WithCallTimeout overrides it.
	CallTimeout time.Duration
	// Connections kept for each host; default 64.
	Connections int
	// Wrap puts something around the transport: a meter, injected faults.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Endpoint finds the endpoint of a service in the environment: STEPKEEPER_ENDPOINT, then
// AWS_ENDPOINT_URL_<SERVICE>, then AWS_ENDPOINT_URL; "" for AWS.
func Endpoint(service string) string {
	for _, name := range []string{"STEPKEEPER_ENDPOINT", "AWS_ENDPOINT_URL_" + strings.ToUpper(service), "AWS_ENDPOINT_URL"} {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// Load makes the configuration. Region and credentials come from the environment, as the SDK finds
// them. Where the endpoint is on this machine, as with `stepkeeper dev`, whose queues ask for none,
// invented ones stand in for those that are missing; never elsewhere.
func Load(ctx context.Context, o Options) (aws.Config, error) {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 4
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 10 * time.Second
	}
	local, err := isLocal(o.Endpoint)
	if err != nil {
		return aws.Config{}, err
	}
	load := []func(*config.LoadOptions) error{
		config.WithRetryMode(aws.RetryModeStandard),
		config.WithRetryMaxAttempts(o.MaxAttempts),
		config.WithHTTPClient(buildable(o.Connections)),
		config.WithAPIOptions([]func(*middleware.Stack) error{limitTime(o.CallTimeout)}),
	}
	if o.Endpoint != "" {
		load = append(load, config.WithBaseEndpoint(o.Endpoint))
	}
	if local && os.Getenv("AWS_REGION") == "" && os.Getenv("AWS_DEFAULT_REGION") == "" {
		load = append(load, config.WithRegion("us-east-1"))
	}
	if local && os.Getenv("AWS_ACCESS_KEY_ID") == "" && os.Getenv("AWS_PROFILE") == "" {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	}
	c, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return aws.Config{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	if c.Region == "" {
		return aws.Config{}, fmt.Errorf("no AWS region is set; set AWS_REGION, or STEPKEEPER_ENDPOINT for a local one")
	}
	c.HTTPClient = wrapped(c.HTTPClient, o.Wrap)
	return c, nil
}

// isLocal reports an endpoint on this machine.
func isLocal(endpoint string) (bool, error) {
	if endpoint == "" {
		return false, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, fmt.Errorf("endpoint %.100q is no address that begins with http:// or https://", endpoint)
	}
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true, nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.Unmap().IsLoopback(), nil
}

// buildable is the kind of client that the SDK can still change, as it does for AWS_CA_BUNDLE.
func buildable(connections int) *awshttp.BuildableClient {
	if connections == 0 {
		connections = 64
	}
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 2*connections, connections
	})
}

// wrapped puts our transport around what the SDK has made of the client.
func wrapped(c aws.HTTPClient, wrap func(http.RoundTripper) http.RoundTripper) aws.HTTPClient {
	var next http.RoundTripper
	if b, ok := c.(*awshttp.BuildableClient); ok {
		next = b.GetTransport()
	}
	if wrap != nil {
		next = wrap(next)
	}
	return &http.Client{
		Transport:     &Transport{Next: next},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type callTimeout struct{}

// WithCallTimeout gives the calls made with this context another limit: a long poll needs it.
func WithCallTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, callTimeout{}, limit)
}

// limitTime ends each call, with all its attempts, after the limit.
func limitTime(limit time.Duration) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperCallTimeout",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				own := limit
				if other, ok := ctx.Value(callTimeout{}).(time.Duration); ok {
					own = other
				}
				ctx, cancel := context.WithTimeout(ctx, own)
				defer cancel()
				return next.HandleInitialize(ctx, in)
			}), middleware.Before)
	}
}
