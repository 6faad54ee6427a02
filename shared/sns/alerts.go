// Package sns publishes alerts on an SNS topic.
//
// Authority: this package alone decides the form of a notification. An email subscriber gets text, and every
// other subscriber gets the alert's JSON. The subject is ASCII. Package incident decides which alerts exist.
//
// States: the package stores no state.
//
// Failures: every error wraps port.ErrUnavailable. After an error, SNS may or may not have published the
// alert. Package incident stores the alert and publishes it again. A repeated alert does no harm.
package sns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// timeout bounds one publication with all its attempts (rule 13 in docs/reference/aws-rules.md).
// wire.AttemptTimeout bounds each attempt.
const timeout = 10 * time.Second

// Topic publishes alerts to one SNS topic. It is safe for concurrent use.
type Topic struct {
	client *direct.Client
	arn    string
}

// New returns a Topic. It makes no network calls.
func New(c aws.Config, topicARN string) *Topic {
	return &Topic{direct.New(c, direct.SNS, wire.LimitAttempts(wire.AttemptTimeout)), topicARN}
}

// Send publishes an alert. It returns nil after SNS has accepted the alert. An error wraps
// port.ErrUnavailable. After an error, SNS may have accepted the alert nevertheless. The caller may send
// the alert again.
func (t *Topic) Send(ctx context.Context, alert message.Alert) error {
	machine, _ := alert.Encode() // an alert contains only types that always encode
	body, _ := json.Marshal(map[string]string{"default": string(machine), "email": alert.Text()})
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := t.client.Query(ctx, "Publish", url.Values{
		"TopicArn": {t.arn}, "Message": {string(body)},
		"MessageStructure": {"json"}, "Subject": {subject(alert)},
	}, nil)
	if err != nil {
		return fmt.Errorf("alert of task %q to topic %s: %w: %w", alert.OrderID, t.arn, port.ErrUnavailable,
			err)
	}
	return nil
}

// maxSubject is the largest length of a subject. SNS accepts fewer than 100 ASCII characters without line
// breaks.
const maxSubject = 99

func subject(a message.Alert) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, a.Subject())
	return s[:min(len(s), maxSubject)]
}
