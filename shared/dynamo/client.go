package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// maxBackoff is the longest wait between two attempts of a call. The SDK's default, 20 s, exceeds the call's
// time limit. A short wait is enough, because DynamoDB responds in milliseconds and throttling usually ends
// within a second.
const maxBackoff = 300 * time.Millisecond

// NewClient returns the SDK's client for a configuration from package awsclient or wire. If the configuration
// has an endpoint, the client calls an emulator, and does not validate checksums. Emulators send no
// checksums, so the SDK would log a warning for each response.
func NewClient(c aws.Config) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.Retryer = retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing), maxBackoff)
	})
}

// Time limits of the calls in a handler. attemptTime is the limit of one attempt. Each call ends at least
// leftOver before the handler's context ends. In this time, the handler returns unfinished messages to their
// queue.
const (
	attemptTime = wire.AttemptTimeout
	leftOver    = time.Second
)

// NewHandlerClient returns a client for handlers of Lambda functions. If a call is throttled or gets no
// response, the client repeats the call until shortly before the handler's context ends. If a table is slow,
// messages wait in the handler. A wait for the end of their visibility timeout would be longer. If the
// context has no deadline, the time limit of the configuration ends the call.
func NewHandlerClient(c aws.Config) *dynamodb.Client { return untilShortlyBefore(c, leftOver) }

// NewLedgerClient returns a client for the ledger of an agent's handler. It differs from NewHandlerClient: a call
// may last until its context ends, because the worker gives each write to the ledger a limit of its own.
func NewLedgerClient(c aws.Config) *dynamodb.Client { return untilShortlyBefore(c, 0) }

func untilShortlyBefore(c aws.Config, margin time.Duration) *dynamodb.Client {
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.DisableValidateResponseChecksum = o.BaseEndpoint != nil
		o.RetryMaxAttempts = 0 // no limit, because the context ends the call
		o.Retryer = retry.AddWithMaxAttempts(retry.AddWithMaxBackoffDelay(retry.NewStandard(retryPassing,
			func(so *retry.StandardOptions) {
				// One second of throttling would exhaust the SDK's quota of retries.
				so.RateLimiter = ratelimit.None
			}), maxBackoff), 0)
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(attemptTime),
			wire.UntilShortlyBefore(margin))
	})
}

// retryPassing makes the retryer repeat calls that conflict with a concurrent transaction. The SDK does not
// repeat such calls by default (rule 10 of docs/reference/aws-rules.md).
func retryPassing(o *retry.StandardOptions) {
	o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if passing(err) {
			return aws.TrueTernary
		}
		return aws.UnknownTernary
	}))
}
