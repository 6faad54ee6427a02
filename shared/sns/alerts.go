// Package sns publishes alerts on an SNS topic.
//
// Authority: it alone decides the form of a notification: text for email, the alert's JSON for every other
// subscriber, and a subject in ASCII. Package incident decides which alerts exist.
//
// States: it keeps none.
//
// Failures: every error is port.ErrUnavailable. The alert may have been published, and publishing it again
// does no harm. The incident keeps the alert and publishes it again.
package sns

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Publish is the call of the SDK's client. An interface would make the linker keep all of the client's
// operations in programs that look up methods by name.
type Publish func(ctx context.Context, in *sns.PublishInput,
	options ...func(*sns.Options)) (*sns.PublishOutput, error)

// timeout bounds one publication, the SDK's retries included (rule 13). One attempt is bounded by
// wire.AttemptTimeout.
const timeout = 10 * time.Second

// Topic publishes alerts. It is safe for concurrent use.
type Topic struct {
	publish Publish
	arn     string
}

// New returns a Topic with its ARN and a client's Publish.
func New(publish Publish, topicARN string) *Topic { return &Topic{publish, topicARN} }

// Send returns nil when SNS has accepted the alert. Its error wraps port.ErrUnavailable: SNS may have
// accepted the alert nevertheless, and publishing it again does no harm.
func (t *Topic) Send(ctx context.Context, alert message.Alert) error {
	machine, _ := json.Marshal(alert) // texts, numbers and times always encode
	body, _ := json.Marshal(map[string]string{"default": string(machine), "email": alert.Text()})
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := t.publish(ctx, &sns.PublishInput{
		TopicArn: &t.arn, Message: aws.String(string(body)), MessageStructure: aws.String("json"),
		Subject: aws.String(subject(alert)),
	}, func(o *sns.Options) {
		o.APIOptions = append(o.APIOptions, wire.LimitAttempts(wire.AttemptTimeout))
	})
	if err != nil {
		return fmt.Errorf("alert of task %q to topic %s: %w: %w", alert.OrderID, t.arn, port.ErrUnavailable,
			err)
	}
	return nil
}

// maxSubject is SNS's limit minus one. A subject is ASCII without line breaks.
const maxSubject = 99

func subject(a message.Alert) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, strings.TrimSuffix("Stepkeeper "+a.Deployment, " ")+": "+a.Title())
	return s[:min(len(s), maxSubject)]
}
