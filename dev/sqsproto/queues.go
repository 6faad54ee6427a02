package sqsproto

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type queueURL struct {
	QueueURL string `json:"QueueUrl"`
}

func getQueueURL(c *call) (any, error) {
	var in struct{ QueueName string }
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.QueueName == "" {
		return nil, missing("QueueName")
	}
	if !c.h.knows(in.QueueName) {
		return nil, noQueue(in.QueueName)
	}
	return queueURL{c.url(in.QueueName)}, nil
}

type listOutput struct {
	QueueUrls []string `json:"QueueUrls,omitempty"`
	NextToken string   `json:"NextToken,omitempty"`
}

func listQueues(c *call) (any, error) {
	var in struct {
		QueueNamePrefix string
		MaxResults      *int
		NextToken       string
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	limit := 1000
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > 1000 {
			return nil, outside("MaxResults", limit, 1, 1000)
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	if err != nil {
		return nil, invalid("The NextToken is not one of ours; begin again without it.")
	}
	names := append(slices.Collect(maps.Keys(c.h.Sinks)), c.h.Queues.QueueNames()...)
	slices.Sort(names)
	var out listOutput
	for _, name := range slices.Compact(names) {
		if !strings.HasPrefix(name, in.QueueNamePrefix) || in.NextToken != "" && name <= string(after) {
			continue
		}
		if len(out.QueueUrls) == limit {
			out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(nameOf(out.QueueUrls[limit-1])))
			break
		}
		out.QueueUrls = append(out.QueueUrls, c.url(name))
	}
	if in.MaxResults == nil {
		out.NextToken = "" // SQS only pages if it was asked to
	}
	return out, nil
}

// queueAttributes are the names that GetQueueAttributes knows.
var queueAttributes = []string{
	"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
	"ApproximateNumberOfMessagesDelayed",
	"QueueArn", "VisibilityTimeout", "MaximumMessageSize", "DelaySeconds", "ReceiveMessageWaitTimeSeconds",
	"CreatedTimestamp", "LastModifiedTimestamp", "MessageRetentionPeriod", "Policy", "RedrivePolicy",
}

func getQueueAttributes(c *call) (any, error) {
	var in struct {
		QueueURL       string `json:"QueueUrl"`
		AttributeNames []string
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	for _, name := range in.AttributeNames {
		if name != "All" && !slices.Contains(queueAttributes, name) {
			return nil, failure(400, "InvalidAttributeName", "InvalidAttributeName",
				"Unknown Attribute %.60s.", name)
		}
	}
	name := nameOf(in.QueueURL)
	size, depth := maxText, port.Depth{}
	if c.h.Sinks[name] == nil {
		q, err := c.queue(in.QueueURL)
		if err != nil {
			return nil, err
		}
		if depth, err = q.Depth(c.ctx); err != nil {
			return nil, err
		}
		size = port.MaxMessage
	}
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(depth.Visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(depth.InFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(depth.Delayed),
		"QueueArn":                              "arn:aws:sqs:local:" + account + ":" + name,
		"VisibilityTimeout":                     strconv.Itoa(int(defaultVisibility / time.Second)),
		"MaximumMessageSize":                    strconv.Itoa(size),
		"DelaySeconds":                          "0",
		"ReceiveMessageWaitTimeSeconds":         "0",
	}
	out := map[string]string{}
	for name, value := range all {
		if asked(in.AttributeNames, name) {
			out[name] = value
		}
	}
	if len(out) == 0 {
		return struct{}{}, nil
	}
	return map[string]any{"Attributes": out}, nil
}
