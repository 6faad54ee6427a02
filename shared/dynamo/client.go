package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, maxBackoff)
	})
}
