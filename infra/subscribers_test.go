package infra_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
)

// Synthesis warns about each topic of a deployment for production that has no subscriber. The app may subscribe
// after it has made the construct, also from another stack.
func TestTopicsWithoutSubscriber(t *testing.T) {
	needNode(t)
	url := func(text string) awssns.ITopicSubscription {
		return awssnssubscriptions.NewUrlSubscription(str("https://"+text+".example"), nil)
	}
	for name, c := range map[string]struct {
		props     func(stack awscdk.Stack, p *infra.Props)
		subscribe func(other awscdk.Stack, engine *infra.Stepkeeper)
		want      string
	}{
		"nobody": {want: "have no subscriber: Alerts (orders that need a person), Alarms;"},
		"one of two": {subscribe: func(_ awscdk.Stack, engine *infra.Stepkeeper) {
			engine.Alerts().AddSubscription(url("a"))
		}, want: "have no subscriber: Alarms;"},
		"both, one of them in another stack": {subscribe: func(other awscdk.Stack, engine *infra.Stepkeeper) {
			engine.Alarms().AddSubscription(url("b"))
			engine.Alerts().AddSubscription(awssnssubscriptions.NewSqsSubscription(
				awssqs.NewQueue(other, str("Inbox"), nil), nil))
		}},
		"an address": {props: func(_ awscdk.Stack, p *infra.Props) { p.AlarmEmail = "ops@example.com" }},
		"a trial":    {props: func(_ awscdk.Stack, p *infra.Props) { p.Profile = infra.ProfileDev }},
		"topics from elsewhere": {props: func(stack awscdk.Stack, p *infra.Props) {
			arn := "arn:aws:sns:" + region + ":" + account + ":team"
			p.AlertTopic = awssns.Topic_FromTopicArn(stack, str("Team"), &arn)
			p.Alarms = infra.AlarmsNone
		}},
	} {
		t.Run(name, func(t *testing.T) {
			app, stack := newStack("Shop")
			other := awscdk.NewStack(app, str("Other"),
				&awscdk.StackProps{Env: &awscdk.Environment{Account: str(account), Region: str(region)}})
			p := small(stack)
			p.AlarmEmail = ""
			if c.props != nil {
				c.props(stack, p)
			}
			engine := infra.NewStepkeeper(stack, "Engine", p)
			if c.subscribe != nil {
				c.subscribe(other, engine)
			}
			got := strings.Join(warnings(stack), " ")
			require.Contains(t, got, c.want)
			require.NotEqual(t, strings.Contains(got, "no subscriber"), c.want == "")
		})
	}
}
