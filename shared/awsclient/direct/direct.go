// Package direct calls AWS without the SDK's client of a service. A client of the SDK compiles, and in part
// links, all operations of its service: IAM alone has 180. Stepkeeper needs one to four operations of each
// service in this package.
//
// The package uses the SDK's own retries, signer, time limits and errors. A Client honours the same fields of
// aws.Config as a client of the SDK, and the same variables, such as AWS_ENDPOINT_URL. Errors of a service
// implement smithy.APIError. It does not support the fields Interceptors and ServiceOptions, and the deprecated
// fields EndpointResolver and EndpointResolverWithOptions.
package direct

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Service describes a service of AWS.
type Service struct {
	ID      string // SDK's ID, such as "Secrets Manager"; it names the variable AWS_ENDPOINT_URL_<ID>
	Name    string // name in signatures, and in host names
	Version string // version of the query protocol; "" if the service does not have the protocol
	Target  string // prefix of the header X-Amz-Target; "" if the service has no JSON protocol
	JSON    string // version of the JSON protocol
	// HostPrefix stands before the host name of AWS. It is not added to another endpoint, because an emulator
	// has one host name.
	HostPrefix string
}

// Services that Stepkeeper calls. Lambda and S3 have no protocol for Query or JSON, only paths for Do.
var (
	CloudFormation = Service{ID: "CloudFormation", Name: "cloudformation", Version: "2010-05-15"}
	CloudWatch     = Service{ID: "CloudWatch", Name: "monitoring", Version: "2010-08-01"}
	EventBridge    = Service{ID: "EventBridge", Name: "events", Target: "AWSEvents", JSON: "1.1"}
	IAM            = Service{ID: "IAM", Name: "iam", Version: "2010-05-08"}
	Lambda         = Service{ID: "Lambda", Name: "lambda"}
	S3             = Service{ID: "S3", Name: "s3"}
	SNS            = Service{ID: "SNS", Name: "sns", Version: "2010-03-31"}
	StepFunctions  = Service{ID: "SFN", Name: "states", Target: "AWSStepFunctions", JSON: "1.0"}
	SyncExecutions = Service{ID: "SFN", Name: "states", Target: "AWSStepFunctions", JSON: "1.0", HostPrefix: "sync-"}
)

// Request is one call. The zero Method means POST, and the zero Path means "/".
type Request struct {
	Operation string // name in errors
	Method    string
	Path      string // escaped, and without the path of the endpoint
	Header    http.Header
	Body      []byte
}

// Response is the answer to a Request. Its status is 200 to 299.
type Response struct {
	Header   http.Header
	Body     []byte
	Metadata middleware.Metadata // for example the time of the server
}

// Client calls one service. It is safe for concurrent use.
type Client struct {
	service  Service
	config   aws.Config
	endpoint endpoint
	retryer  aws.Retryer
	skew     atomic.Int64 // nanoseconds that the clock of AWS is ahead
}

// New returns a client for the Region of the configuration. Each option changes the middleware of a call, after
// the configuration's own APIOptions. New makes no network calls.
func New(c aws.Config, s Service, options ...func(*middleware.Stack) error) *Client {
	c.APIOptions = append(c.APIOptions[:len(c.APIOptions):len(c.APIOptions)], options...)
	if c.HTTPClient == nil {
		c.HTTPClient = awshttp.NewBuildableClient()
	}
	if c.Logger == nil {
		c.Logger = logging.Nop{}
	}
	return &Client{service: s, config: c, endpoint: resolve(c, s), retryer: retryerOf(c)}
}

func retryerOf(c aws.Config) aws.Retryer {
	var r aws.Retryer
	switch {
	case c.Retryer != nil:
		r = c.Retryer()
	case c.RetryMode == aws.RetryModeAdaptive:
		r = retry.NewAdaptiveMode()
	default:
		r = retry.NewStandard()
	}
	if c.RetryMaxAttempts != 0 {
		r = retry.AddWithMaxAttempts(r, c.RetryMaxAttempts)
	}
	return r
}

// Query calls an operation by the query protocol: in is sent as a form, and out receives the XML. A nil out
// ignores the response.
func (c *Client) Query(ctx context.Context, operation string, in url.Values, out any) error {
	form := url.Values{"Action": {operation}, "Version": {c.service.Version}}
	for name, values := range in {
		form[name] = values
	}
	response, err := c.Do(ctx, Request{
		Operation: operation, Body: []byte(form.Encode()),
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}},
	})
	if err != nil || out == nil {
		return err
	}
	return c.decoded(operation, xml.Unmarshal(response.Body, out))
}

// JSON calls an operation by the JSON protocol of the service. A nil out ignores the response.
func (c *Client) JSON(ctx context.Context, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return c.failed(operation, &smithy.SerializationError{Err: err})
	}
	response, err := c.Do(ctx, Request{Operation: operation, Body: body, Header: http.Header{
		"Content-Type": {"application/x-amz-json-" + c.service.JSON},
		"X-Amz-Target": {c.service.Target + "." + operation},
	}})
	if err != nil || out == nil {
		return err
	}
	return c.Decode(operation, response, out)
}

// Decode reads the JSON of a response of an operation.
func (c *Client) Decode(operation string, response *Response, out any) error {
	return c.decoded(operation, json.Unmarshal(response.Body, out))
}

func (c *Client) decoded(operation string, err error) error {
	if err == nil {
		return nil
	}
	return c.failed(operation, &smithy.DeserializationError{Err: err})
}

func (c *Client) failed(operation string, err error) error {
	return &smithy.OperationError{ServiceID: c.service.ID, OperationName: operation, Err: err}
}

// Do sends a request, and repeats it as the configuration says. An error of the service is a smithy.APIError.
// Responses have at most 32 MiB.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	ctx = middleware.ClearStackValues(ctx)
	ctx = middleware.WithServiceID(ctx, c.service.ID)
	ctx = middleware.WithOperationName(ctx, r.Operation)
	ctx = awsmiddleware.SetServiceID(ctx, c.service.ID)
	ctx = awsmiddleware.SetOperationName(ctx, r.Operation)
	ctx = awsmiddleware.SetRegion(ctx, c.config.Region)
	ctx = middleware.SetLogger(ctx, c.config.Logger)
	stack := middleware.NewStack(r.Operation, smithyhttp.NewStackRequest)
	if err := c.build(stack); err != nil {
		return nil, c.failed(r.Operation, err)
	}
	handler := middleware.DecorateHandler(smithyhttp.NewClientHandlerWithOptions(c.config.HTTPClient), stack)
	out, metadata, err := handler.Handle(ctx, &r)
	if err != nil {
		return nil, c.failed(r.Operation, err)
	}
	response, ok := out.(*Response)
	if !ok {
		return nil, c.failed(r.Operation, errors.New("the response is not of this package"))
	}
	response.Metadata = metadata
	return response, nil
}

// Code returns the code of the service's error in err, such as "AccessDenied". It returns "" if err is another
// error.
func Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
