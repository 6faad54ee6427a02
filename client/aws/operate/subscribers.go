package operate

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Topic reads the attributes of an SNS topic. It is the method GetTopicAttributes of an *sns.Client. Topic is a
// function type, because the linker can then omit the client's other methods.
type Topic func(context.Context, *sns.GetTopicAttributesInput,
	...func(*sns.Options)) (*sns.GetTopicAttributesOutput, error)

// checkSubscribers counts the subscribers of the topics for alerts and alarms. Without a subscriber, nobody learns
// of orders that need a person.
func (t *transport) checkSubscribers(ctx context.Context) (checks []client.Check) {
	if t.Parts.Topic == nil {
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
	got, err := t.Parts.Topic(ctx, &sns.GetTopicAttributesInput{TopicArn: &arn})
	if err != nil {
		return client.NotChecked(name, stack.Failed(ctx,
			stack.Use{Action: "sns:GetTopicAttributes", On: "the topic " + arn, Policy: t.Outputs.Operator}, err))
	}
	confirmed, err := strconv.Atoi(got.Attributes["SubscriptionsConfirmed"])
	pending, errPending := strconv.Atoi(got.Attributes["SubscriptionsPending"])
	if err := errors.Join(err, errPending); err != nil {
		return client.NotChecked(name, fmt.Errorf("the attributes of the topic %s: %w", arn, err))
	}
	switch {
	case confirmed > 0:
		return client.Check{Name: name, Result: client.CheckOK,
			Text: fmt.Sprintf("the topic has %s", view.Count(confirmed, "subscriber"))}
	case pending > 0:
		return client.Check{Name: name, Result: client.CheckFailed,
			Text: fmt.Sprintf("nobody receives them: the topic has no confirmed subscriber, and %s that waits for "+
				"its confirmation", view.Count(pending, "subscription")),
			Fix: "follow the link in the mail from AWS Notifications"}
	case t.Outputs.Alarms == "":
		return client.Check{Name: name, Result: client.CheckOK,
			Text: "nobody receives them: the topic has no subscriber, and the deployment has no alarms, as for trials"}
	}
	return client.Check{Name: name, Result: client.CheckFailed,
		Text: "nobody receives them: the topic has no subscriber",
		Fix: "set AlarmEmail and deploy again, or `aws sns subscribe --topic-arn " + arn +
			" --protocol email --notification-endpoint ADDRESS --region " + t.Outputs.Region + "`"}
}
