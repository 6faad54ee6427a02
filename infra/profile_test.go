package infra_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"

	"github.com/stepkeeper/stepkeeper/infra"
)

// The profile Dev is cheap and leaves nothing behind. Each of its defaults can be replaced by itself.
func TestProfileDev(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Profile = infra.ProfileDev })
	same(t, "alarms", len(x.of("AWS::CloudWatch::Alarm")), 0)
	same(t, "topic of alerts", len(x.of("AWS::SNS::Topic")), 1)
	same(t, "sweeps", x.of("AWS::Scheduler::Schedule")["Schedule"].Properties["ScheduleExpression"],
		"rate(5 minutes)")
	for id, g := range x.of("AWS::Logs::LogGroup") {
		same(t, id+": days", g.Properties["RetentionInDays"], 7)
	}
	for _, kind := range []string{"AWS::Logs::LogGroup", "AWS::SQS::Queue", "AWS::DynamoDB::GlobalTable"} {
		for id, r := range x.of(kind) {
			same(t, id+": goes with the stack", r.DeletionPolicy, "Delete")
		}
	}
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		same(t, id+": protection", at(r.Properties, "Replicas", 0, "DeletionProtectionEnabled"), false)
	}

	x = template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Profile = infra.ProfileDev
		p.Alarms = infra.AlarmsFull
		p.SweepInterval = time.Minute
		p.RemovalPolicy = awscdk.RemovalPolicy_RETAIN
		p.LogRetention = awslogs.RetentionDays_ONE_MONTH
	})
	if production := template(t, nil); !reflect.DeepEqual(x.Resources, production.Resources) {
		t.Error("the profile Dev changes a property that is set")
	}
}

func TestAlarmLevels(t *testing.T) {
	level := func(a infra.AlarmLevel) tmpl {
		return template(t, func(_ awscdk.Stack, p *infra.Props) { p.Alarms = a })
	}
	same(t, "essential alarms", slices.Sorted(maps.Keys(level(infra.AlarmsEssential).of(
		"AWS::CloudWatch::Alarm"))), "[ControlDeadAlarm IntakeDeadAlarm MissedSweepsAlarm NoSweepsAlarm "+
		"OldestOverdueAlarm QuarantineAlarm RepliesDeadAlarm RequestsInventoryDeadAlarm "+
		"RequestsNotificationDeadAlarm RequestsPaymentDeadAlarm RequestsShippingDeadAlarm]")
	none := level(infra.AlarmsNone)
	same(t, "no alarms", len(none.of("AWS::CloudWatch::Alarm")), 0)
	same(t, "alerts of orders", fmt.Sprint(target(at(variables(none, "Scheduler"), "STEPKEEPER_ALERTS"))),
		"Alerts")
}
