package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// maxBackoff is the longest wait before the SDK repeats a call. The SDK's default of up to 20 s would exceed
// the call's time limit. DynamoDB responds in milliseconds, and throttling ends in a second.
const maxBackoff = 300 * time.Millisecond

// NewClient returns the SDK's client for a configuration of awsclient or wire. DynamoDB sends a checksum with
// each response, emulators send none, and the SDK warns about each. So the client checks no checksums if the
// configuration names an endpoint.
func NewClient(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing), maxBackoff)
	})
}

// Limits of a handler's calls: the time of one attempt, and the time between the last attempt and the end of
// the handler's context, so that the handler can return unfinished messages.
const (
	attemptTime = wire.AttemptTimeout
	leftOver    = time.Second
)

// NewHandlerClient returns a client for handlers. It repeats calls that are throttled or get no response
// until shortly before the handler's context ends. So if a table is slow, messages wait in their handler
// instead of invisibly in their queue. Calls without a deadline end by the limit of the configuration.
func NewHandlerClient(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.RetryMaxAttempts = 0 // no limit of attempts, because time ends the call
		o.Retryer = retry.AddWithMaxAttempts(retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing,
			func(so *retry.StandardOptions) {
				// the SDK's quota of retries is spent within a second of throttling
				so.RateLimiter = ratelimit.None
			}), maxBackoff), 0)
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(attemptTime),
			wire.UntilShortlyBefore(leftOver))
	})
}

// retryPassing makes the retryer repeat calls that conflict with concurrent transactions, which the SDK does
// not do by default (rule 10).
func retryPassing(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if passing(err) {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}
