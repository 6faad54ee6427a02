package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// maxBackoff is the longest wait before the SDK repeats a call. Its default of up to 20 s would
// outlast the time of a call; DynamoDB answers in milliseconds, and a throttle passes in a second.
const maxBackoff = 300 * time.Millisecond

// NewClient makes the SDK's client, of a configuration of awsclient or wire. DynamoDB sends a
// checksum with each answer, emulators send none, and the SDK warns of each: where the
// configuration names an endpoint, it is not asked for.
func NewClient(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing), maxBackoff)
	})
}

// Of a handler's calls: how long one attempt may take, and how long before the end of the handler's
// context the last one ends, so that there is time to return what was not done.
const (
	attemptTime = wire.AttemptTimeout
	leftOver    = time.Second
)

// NewHandlerClient makes a client for handlers, which repeats calls that are throttled or get no answer until
// shortly before the handler's context ends. The messages of a slow table then wait in their handler, and not
// hidden in their queue. Calls without a deadline end by the limit of the configuration.
func NewHandlerClient(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.RetryMaxAttempts = 0 // no number: time ends it
		o.Retryer = retry.AddWithMaxAttempts(retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing,
			func(so *retry.StandardOptions) {
				// the SDK's quota of retries is spent within a second of throttling
				so.RateLimiter = ratelimit.None
			}), maxBackoff), 0)
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(attemptTime),
			wire.UntilShortlyBefore(leftOver))
	})
}

// retryPassing makes the retryer repeat calls that conflict with concurrent transactions, which the SDK by
// itself does not (rule 10).
func retryPassing(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if passing(err) {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}
