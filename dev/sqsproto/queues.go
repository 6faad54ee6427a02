package sqsproto

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func getQueueURL(c *call) (any, error) {
	if c.QueueName == "" {
		return nil, missing("QueueName")
	}
	if _, err := c.named(c.QueueName); err != nil {
		return nil, noQueue(c.QueueName)
	}
	return map[string]string{"QueueUrl": c.url(c.QueueName)}, nil
}

type listOutput struct {
	QueueUrls []string `json:"QueueUrls,omitempty"`
	NextToken string   `json:"NextToken,omitempty"`
}

func listQueues(c *call) (any, error) {
	limit, err := within("MaxResults", c.MaxResults, 1, 1000, 1000)
	if err != nil {
		return nil, err
	}
	after, err := base64.RawURLEncoding.DecodeString(c.NextToken)
	if err != nil {
		return nil, invalid("The NextToken is not one of ours; begin again without it.")
	}
	names := append(slices.Collect(maps.Keys(c.h.Sinks)), c.h.Queues.QueueNames()...)
	slices.Sort(names)
	var out listOutput
	for _, name := range slices.Compact(names) {
		if !strings.HasPrefix(name, c.QueueNamePrefix) || c.NextToken != "" && name <= string(after) {
			continue
		}
		if len(out.QueueUrls) == limit {
			out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(nameOf(out.QueueUrls[limit-1])))
			break
		}
		out.QueueUrls = append(out.QueueUrls, c.url(name))
	}
	if c.MaxResults == nil {
		out.NextToken = "" // SQS returns a list in pages only if the request has MaxResults
	}
	return out, nil
}

func getQueueAttributes(c *call) (any, error) {
	for _, name := range c.AttributeNames { // SQS leaves out the attributes that a queue lacks
		if !slices.Contains(types.QueueAttributeName("").Values(), types.QueueAttributeName(name)) {
			return nil, bad("InvalidAttributeName", "Unknown Attribute %.60s.", name)
		}
	}
	q, err := c.queue()
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
	out := map[string]any{}
	all = asked(all, c.AttributeNames)
	if len(all) > 0 {
		out["Attributes"] = all
	}
	return out, nil
}
