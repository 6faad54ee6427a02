package sqsproto

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
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
	if _, err := c.named(in.QueueName); err != nil {
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
	limit, err := within("MaxResults", in.MaxResults, 1, 1000, 1000)
	if err != nil {
		return nil, err
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
		out.NextToken = "" // SQS returns a list in pages only if the request has MaxResults
	}
	return out, nil
}

func getQueueAttributes(c *call) (any, error) {
	var in struct {
		QueueURL       string `json:"QueueUrl"`
		AttributeNames []string
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	for _, name := range in.AttributeNames { // SQS leaves out the attributes that a queue lacks
		if !slices.Contains(types.QueueAttributeName("").Values(), types.QueueAttributeName(name)) {
			return nil, bad("InvalidAttributeName", "Unknown Attribute %.60s.", name)
		}
	}
	q, err := c.queue(in.QueueURL)
	if err != nil {
		return nil, err
	}
	depth, err := q.Depth(c.ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(depth.Visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(depth.InFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(depth.Delayed),
		"QueueArn":                              "arn:aws:sqs:local:" + account + ":" + q.Name(),
		"VisibilityTimeout":                     strconv.Itoa(defaultVisibility),
		"MaximumMessageSize":                    strconv.Itoa(maxText),
		"DelaySeconds":                          "0",
		"ReceiveMessageWaitTimeSeconds":         "0",
	}
	return struct {
		Attributes map[string]string `json:",omitempty"`
	}{asked(all, in.AttributeNames)}, nil
}
