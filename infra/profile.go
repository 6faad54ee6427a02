package infra

import (
	"cmp"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
)

// Profile selects the defaults of several properties.
type Profile string

const (
	// ProfileProduction adds all alarms, sweeps every minute, and keeps the data if the stack is deleted.
	ProfileProduction Profile = "Production"
	// ProfileDev is for trial stacks. It adds no alarms, sweeps every 5 minutes, deletes all data with the
	// stack, and keeps logs for a week. docs/explanation/cost.md has the cost of an
	// idle stack.
	ProfileDev Profile = "Dev"
)

// AlarmLevel selects the alarms of a deployment.
type AlarmLevel string

const (
	// AlarmsFull adds all alarms.
	AlarmsFull AlarmLevel = "Full"
	// AlarmsEssential adds only the alarms about orders that do not proceed by themselves. These alarms cover
	// dead letters, the quarantine, missed sweeps, overdue tasks, and a schedule that does not run. With
	// Props.Canary, they also cover failing functions.
	AlarmsEssential AlarmLevel = "Essential"
	// AlarmsNone adds no alarms. The deployment still sends alerts about orders in Error.
	AlarmsNone AlarmLevel = "None"
)

type defaults struct {
	alarms  AlarmLevel
	sweep   time.Duration
	removal awscdk.RemovalPolicy
	logs    awslogs.RetentionDays
}

var profiles = map[Profile]defaults{
	ProfileProduction: {
		AlarmsFull, time.Minute, awscdk.RemovalPolicy_RETAIN,
		awslogs.RetentionDays_ONE_MONTH,
	},
	ProfileDev: {AlarmsNone, 5 * time.Minute, awscdk.RemovalPolicy_DESTROY, awslogs.RetentionDays_ONE_WEEK},
}

func (c *checker) profile(p *Props) {
	p.Profile = cmp.Or(p.Profile, ProfileProduction)
	d, known := profiles[p.Profile]
	if !known {
		c.wrong("Profile is %.40q; it must be ProfileProduction or ProfileDev", p.Profile)
	}
	p.Alarms = cmp.Or(p.Alarms, d.alarms)
	switch p.Alarms {
	case AlarmsFull, AlarmsEssential, AlarmsNone, "":
	default:
		c.wrong("Alarms is %.40q; it must be AlarmsFull, AlarmsEssential or AlarmsNone", p.Alarms)
	}
	p.SweepInterval = cmp.Or(p.SweepInterval, d.sweep, time.Minute)
	p.RemovalPolicy = cmp.Or(p.RemovalPolicy, d.removal)
	p.LogRetention = cmp.Or(p.LogRetention, d.logs)
}
