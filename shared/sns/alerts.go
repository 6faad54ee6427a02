// Package sns raises alerts on an SNS topic (port.Alerts). Mail gets a text for people; every other
// subscriber the alert's JSON.
package sns

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Publish is the one call of the SDK's client that is used. As an interface, it would make the
// linker keep all of the client's operations in programs that ask for methods by name.
type Publish func(ctx context.Context, in *sns.PublishInput, options ...func(*sns.Options)) (*sns.PublishOutput, error)

// DefaultTimeout bounds one publication, the SDK's retries included (rule 13).
const DefaultTimeout = 10 * time.Second

// Alerts is safe for concurrent use.
type Alerts struct {
	publish Publish
	topic   string
	options string
	timeout time.Duration
}

// New raises alerts on the topic, named by its ARN, with a client's Publish. options are those by which
// the command line reaches the deployment. A timeout of 0 is DefaultTimeout.
func New(publish Publish, topicARN, options string, timeout time.Duration) *Alerts {
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	return &Alerts{publish, topicARN, options, timeout}
}

// Raise is done when SNS has taken the alert. Its error wraps port.ErrUnavailable: the alert may
// have been taken all the same, and raising it again does no harm.
func (a *Alerts) Raise(ctx context.Context, alert core.RaiseAlert) error {
	full := message.AlertOf(alert, a.options)
	machine, err := json.Marshal(full)
	if err != nil {
		return fmt.Errorf("alert of task %q: %w", alert.OrderID, err)
	}
	body, err := json.Marshal(map[string]string{"default": string(machine), "email": full.Text()})
	if err != nil {
		return fmt.Errorf("alert of task %q: %w", alert.OrderID, err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	_, err = a.publish(ctx, &sns.PublishInput{
		TopicArn: &a.topic, Message: aws.String(string(body)), MessageStructure: aws.String("json"), Subject: aws.String(subject(alert)),
	})
	if err != nil {
		return fmt.Errorf("alert of task %q to topic %s: %w: %w", alert.OrderID, a.topic, port.ErrUnavailable, err)
	}
	return nil
}

// maxSubject is SNS's limit less one; a subject is ASCII without line breaks.
const maxSubject = 99

func subject(a core.RaiseAlert) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, "Stepkeeper: order "+a.OrderID+" needs you")
	return s[:min(len(s), maxSubject)]
}
