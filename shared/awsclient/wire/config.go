package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/middleware"
)

// Limits of a client. They are explicit because the SDK's defaults change between versions (rule 13 of
// docs/reference/aws-rules.md).
const (
	DefaultMaxAttempts = 4                // attempts of one call, including the first attempt
	DefaultCallTimeout = 10 * time.Second // time limit of one call with all its attempts
	connections        = 64               // idle connections kept for each host
)

// Environment returns the configuration of a Lambda function. Lambda sets AWS_REGION and the variables with
// the credentials of the function's role. AWS_ENDPOINT_URL_<SERVICE>, or else AWS_ENDPOINT_URL, is the
// address of an emulator. Environment makes no network calls (rule 13). The error lists the missing
// variables.
func Environment(lookup func(name string) (value string, set bool)) (aws.Config, error) {
	value := func(name string) string { v, _ := lookup(name); return v }
	creds := aws.Credentials{
		AccessKeyID: value("AWS_ACCESS_KEY_ID"), SecretAccessKey: value("AWS_SECRET_ACCESS_KEY"),
		SessionToken: value("AWS_SESSION_TOKEN"), Source: "environment",
	}
	region := value("AWS_REGION")
	var missing []error
	for name, there := range map[string]bool{
		"AWS_REGION":        region != "",
		"AWS_ACCESS_KEY_ID": creds.AccessKeyID != "", "AWS_SECRET_ACCESS_KEY": creds.SecretAccessKey != "",
	} {
		if !there {
			missing = append(missing, fmt.Errorf("%s is not set; Lambda sets it", name))
		}
	}
	if err := errors.Join(missing...); err != nil {
		return aws.Config{}, fmt.Errorf("configuration of the AWS SDK: %w", err)
	}
	c := aws.Config{
		Region: region,
		// The function's process ends before the credentials expire, so the credentials need no renewal.
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return creds, nil
		}),
		HTTPClient: HTTPClient(BuildableClient(), nil),
		RetryMode:  aws.RetryModeStandard, RetryMaxAttempts: DefaultMaxAttempts,
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(r *retry.StandardOptions) { r.MaxAttempts = DefaultMaxAttempts })
		},
		APIOptions:    []func(*middleware.Stack) error{LimitTime(DefaultCallTimeout), HideSecrets},
		ConfigSources: []any{endpoints(value)},
	}
	if endpoint := value("AWS_ENDPOINT_URL"); endpoint != "" {
		c.BaseEndpoint = &endpoint
	}
	return c, nil
}

// endpoints looks up the variable AWS_ENDPOINT_URL_<SERVICE>. Clients of the SDK ask each entry of
// ConfigSources for an endpoint.
type endpoints func(name string) string

// GetServiceBaseEndpoint returns the endpoint of a service. id is the SDK's ID of the service, such as
// "Secrets Manager".
func (e endpoints) GetServiceBaseEndpoint(_ context.Context,
	id string,
) (endpoint string, found bool, err error) {
	endpoint = e("AWS_ENDPOINT_URL_" + strings.ToUpper(strings.ReplaceAll(id, " ", "_")))
	return endpoint, endpoint != "", nil
}

// BuildableClient returns an HTTP client whose transport the SDK can still change. For example, the SDK adds
// the certificates in the file that AWS_CA_BUNDLE names.
func BuildableClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 2 * connections
		t.MaxIdleConnsPerHost = connections
	})
}

// HTTPClient returns an HTTP client that follows no redirects. The client sends each request through three
// transports: a Transport, the result of wrap, and the transport of c. wrap may be nil.
func HTTPClient(c aws.HTTPClient, wrap func(http.RoundTripper) http.RoundTripper) aws.HTTPClient {
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
