package infra_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

// Both topics are encrypted. That of alarms has a key that lets CloudWatch use it, which AWS's key does not.
func TestTopicsAreEncrypted(t *testing.T) {
	x := template(t, nil)
	topics := x.of("AWS::SNS::Topic")
	same(t, "topics", len(topics), 2)
	same(t, "key of alerts", topics["Alerts"].Properties["KmsMasterKeyId"], "alias/aws/sns")
	same(t, "key of alarms", target(topics["Alarms"].Properties["KmsMasterKeyId"]), "AlarmsKey")
	same(t, "who uses it", services(x.of("AWS::KMS::Key")["AlarmsKey"]), "[cloudwatch.amazonaws.com]")
	subscribed := map[string]any{}
	for _, s := range x.of("AWS::SNS::Subscription") {
		subscribed[target(s.Properties["TopicArn"])] = s.Properties["Endpoint"]
	}
	same(t, "subscribed", subscribed, "map[Alarms:ops@example.com Alerts:ops@example.com]")
}

// services are those that the policy of a key names.
func services(key resource) (all []any) {
	for _, s := range list(at(key.Properties, "KeyPolicy", "Statement")) {
		if service := at(s, "Principal", "Service"); service != nil {
			all = append(all, service)
		}
	}
	return all
}

// Topics of the app replace both: who publishes to each is let use its key.
func TestOwnTopics(t *testing.T) {
	var in awscdk.Stack
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		in = stack
		topic := func(id string) awssns.ITopic {
			return awssns.NewTopic(stack, str(id), &awssns.TopicProps{
				EnforceSSL: jsii.Bool(true),
				MasterKey:  awskms.NewKey(stack, str(id+"Key"), nil),
			})
		}
		p.AlertTopic = topic("OwnAlerts")
		p.AlarmTopic = topic("OwnAlarms")
		p.AlarmEmail = ""
	})
	same(t, "topics", len(x.of("AWS::SNS::Topic")), 2)
	same(t, "warnings", len(warnings(in)), 1) // the app has not subscribed
	same(t, "alerts", target(at(variables(x, "Supervisor"), "STEPKEEPER_ALERTS")), "OwnAlerts")
	same(t, "output", target(x.Outputs["EngineAlarmsTopic"].Value), "OwnAlarms")
	for id, a := range x.of("AWS::CloudWatch::Alarm") {
		same(t, id, target(at(a.Properties, "AlarmActions", 0)), "OwnAlarms")
	}
	same(t, "who uses the key of alarms", services(x.of("AWS::KMS::Key")["OwnAlarmsKey"]),
		"[cloudwatch.amazonaws.com]")
	who := map[string]string{}
	for _, s := range allowed(x) {
		if s.sid == "Alert" || s.sid == "AlertKey" {
			who[s.where] += strings.Join(s.resources, " ") + ";"
		}
	}
	same(t, "who publishes alerts", who,
		"map[SchedulerRole:OwnAlerts;OwnAlertsKey; SupervisorRole:OwnAlerts;OwnAlertsKey;]")

	template(t, func(stack awscdk.Stack, p *infra.Props) {
		in = stack
		p.AlarmTopic = awssns.Topic_FromTopicArn(stack, str("Far"),
			str("arn:aws:sns:"+region+":"+account+":far"))
	})
	if w := fmt.Sprint(warnings(in)); !strings.Contains(w, "AlarmTopic or its key was made elsewhere") {
		t.Errorf("an imported topic of alarms warns of %q", w)
	}
}

// Thresholds are replaced for one alarm, and for all of a kind that have none of their own.
func TestThresholds(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Tuning.Thresholds = map[string]infra.Threshold{
			"Throttles":        {Value: 10},
			"PaymentThrottles": {Value: 50, Periods: 15}, "IntakeAge": {Periods: 5},
		}
	})
	for id, want := range map[string]string{
		"PaymentThrottlesAlarm": "50 15", "OrdersThrottlesAlarm": "10 3",
		"IntakeAgeAlarm": "300 5", "RepliesAgeAlarm": "300 3", "PaymentErrorsAlarm": "1 3",
	} {
		a := x.of("AWS::CloudWatch::Alarm")[id].Properties
		same(t, id, fmt.Sprint(a["Threshold"], " ", a["DatapointsToAlarm"]), want)
	}
}

// What Profile, Alarms, topics and thresholds may not be.
func TestAlarmsRefused(t *testing.T) {
	refuses(t, map[string]func(awscdk.Stack, *infra.Props){
		`Profile is "Test"; it must be ProfileProduction or ProfileDev`: func(_ awscdk.Stack, p *infra.Props) {
			p.Profile = "Test"
		},
		`Alarms is "Some"; it must be AlarmsFull, AlarmsEssential or AlarmsNone`: func(_ awscdk.Stack,
			p *infra.Props,
		) {
			p.Alarms = "Some"
		},
		`Tuning.Thresholds["IntakeAge"] is -1 in 25 periods; a value above 0 and 1 to 24`: func(_ awscdk.Stack,
			p *infra.Props,
		) {
			p.Tuning.Thresholds = map[string]infra.Threshold{"IntakeAge": {Value: -1, Periods: 25}}
		},
		`Tuning.Thresholds has "IntakeAgeAlarm"; it must be the ID of an alarm without its ending Alarm`: func(
			_ awscdk.Stack, p *infra.Props,
		) {
			p.Tuning.Thresholds = map[string]infra.Threshold{"IntakeAgeAlarm": {Value: 1}}
		},
		"AlarmTopic is a FIFO topic; it must be a standard one": func(stack awscdk.Stack, p *infra.Props) {
			p.AlarmTopic = awssns.NewTopic(stack, str("F"), &awssns.TopicProps{Fifo: jsii.Bool(true)})
		},
		"AlertTopic is in eu-west-1 and the stack in eu-central-1": func(stack awscdk.Stack, p *infra.Props) {
			p.AlertTopic = awssns.Topic_FromTopicArn(stack, str("Far"),
				str("arn:aws:sns:eu-west-1:"+account+":far"))
		},
		"AlarmEmail has no topic to subscribe to": func(stack awscdk.Stack, p *infra.Props) {
			p.AlertTopic = awssns.NewTopic(stack, str("Own"), nil)
			p.Alarms = infra.AlarmsNone
		},
	})
}

// refuses expects that synthesis refuses each change of the example with that text.
func refuses(t *testing.T, changes map[string]func(awscdk.Stack, *infra.Props)) {
	t.Helper()
	needNode(t)
	for want, change := range changes {
		_, stack := newStack("Test")
		p := shop(stack)
		change(stack, p)
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("%s; want %s", text, want)
				}
			}()
			infra.NewStepkeeper(stack, "Engine", p)
		}()
	}
}
