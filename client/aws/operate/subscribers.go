package operate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// checkSubscribers counts the subscribers of the topics for alerts and alarms. Without a subscriber, nobody learns
// of orders that need a person.
func (t *transport) checkSubscribers(ctx context.Context) (checks []client.Check) {
	if t.aws == nil {
		return nil
	}
	for _, topic := range []struct{ name, arn string }{{"alerts", t.Outputs.Alerts}, {"alarms", t.Outputs.Alarms}} {
		if topic.arn != "" { // older stacks and stacks without alarms do not have the output
			checks = append(checks, t.checkTopic(ctx, topic.name, topic.arn))
		}
	}
	return checks
}

func (t *transport) checkTopic(ctx context.Context, name, arn string) client.Check {
	var got struct {
		Attributes []struct {
			Key   string `xml:"key"`
			Value string `xml:"value"`
		} `xml:"GetTopicAttributesResult>Attributes>entry"`
	}
	if err := t.aws.topics.Query(ctx, "GetTopicAttributes", url.Values{"TopicArn": {arn}}, &got); err != nil {
		return client.NotChecked(name, t.failed(ctx, "sns:GetTopicAttributes", "the topic "+arn, err))
	}
	attributes := map[string]string{}
	for _, a := range got.Attributes {
		attributes[a.Key] = a.Value
	}
	confirmed, err := strconv.Atoi(attributes["SubscriptionsConfirmed"])
	pending, errPending := strconv.Atoi(attributes["SubscriptionsPending"])
	if err := errors.Join(err, errPending); err != nil {
		return client.NotChecked(name, fmt.Errorf("the attributes of the topic %s: %w", arn, err))
	}
	switch {
	case confirmed > 0:
		return client.Checked(name, true, "the topic has "+view.Count(confirmed, "subscriber"), "")
	case pending > 0:
		return client.Checked(name, false, "nobody receives them: the topic has no confirmed subscriber, and "+
			view.Count(pending, "subscription")+" that waits for its confirmation",
			"follow the link in the mail from AWS Notifications")
	}
	text := "nobody receives them: the topic has no subscriber"
	trial := t.Outputs.Alarms == ""
	if trial {
		text += ", and the deployment has no alarms, as for trials"
	}
	return client.Checked(name, trial, text, "set AlarmEmail and deploy again, or `aws sns subscribe --topic-arn "+arn+
		" --protocol email --notification-endpoint ADDRESS --region "+t.Outputs.Region+"`")
}
