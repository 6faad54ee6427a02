package infra

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

type alarm struct {
	id, text  string
	metric    awscloudwatch.IMetric
	threshold float64
	period    time.Duration // period of the metric; the zero value means one minute
	periods   int           // number of periods beyond the threshold that raise the alarm
	// gap is the number of periods in which the cause of the alarm shows itself at least once. It is above 1 if
	// the metric has no data between two occurrences. The zero value means 1. Such an alarm looks at gap periods
	// for each period that raises it, because it needs no consecutive ones.
	gap       int
	below     bool // the alarm goes off below the threshold
	expected  bool // every period has data, so the alarm goes off without it
	silent    bool // the alarm notifies nobody
	essential bool // AlarmsEssential includes the alarm
}

func (s *Stepkeeper) addAlarms() {
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		s.deadAlarm(pascal(name)+"Dead", fmt.Sprintf("messages of queue %s failed too often; run stepkeeper "+
			"dead-letters list", name), q.dead)
		s.addAlarm(alarm{
			id: pascal(name) + "Age",
			text: fmt.Sprintf("the oldest message of queue %s waits too long; run stepkeeper doctor",
				name),
			metric:    q.queue.MetricApproximateAgeOfOldestMessage(minute("Maximum")),
			threshold: q.oldest.Seconds(), periods: 3,
		})
	}
	s.deadAlarm("Quarantine", "the quarantine has messages that were refused; run stepkeeper "+
		"dead-letters list", s.quarantine)
	s.deadAlarm("MissedSweeps", "a sweep failed in all its attempts, or could not start; read the log of the "+
		"Supervisor, and run stepkeeper dead-letters list missed-sweeps", s.missed)
	s.addAlarm(alarm{
		id: "OldestOverdue",
		text: "a task is overdue for too long, because the Supervisor or the Scheduler cannot keep up; run " +
			"stepkeeper doctor",
		metric: s.metric(deployment.MetricOldestOverdue, "Maximum", s.props.SweepInterval, "", ""),
		// Sweeps begin some seconds early or late, so a period may contain none.
		period: s.props.SweepInterval, gap: 2,
		threshold: s.props.Tuning.OldestOverdue.Seconds(), periods: 3, essential: true,
	})
	s.addAlarm(alarm{
		id: "NoSweeps",
		text: "the schedule does not start the Supervisor, so nobody notices lost work; run stepkeeper " +
			"doctor",
		metric: s.invoked("supervisor").MetricInvocations(every(s.props.SweepInterval, "Sum")),
		period: s.props.SweepInterval, threshold: 1, periods: 5, below: true, expected: true,
		essential: true,
		silent:    s.props.Paused,
	})
	for _, name := range s.agentNames() {
		s.notCalledAlarm(name)
	}
	for _, name := range slices.Sorted(slices.Values(append(sorted(s.props.ReplyTo),
		sorted(s.props.ReplyToBuses)...))) {
		s.notSentAlarm(name)
	}
	for _, t := range s.stores() {
		s.throttleAlarm(t)
		s.lagAlarms(t)
	}
	for _, name := range sorted(s.functions) {
		s.functionAlarms(name)
	}
}

func (s *Stepkeeper) functionAlarms(name string) {
	f := s.invoked(name)
	s.returnedAlarm(name)
	gap := max(leastGap, int(math.Ceil(s.repeated(name).Minutes())))
	s.addAlarm(alarm{
		id: errorsAlarm(name), text: fmt.Sprintf("function %s fails; read its log", name),
		metric: f.MetricErrors(minute("Sum")), threshold: 1, periods: 3, gap: gap,
		essential: s.props.Canary != nil,
	})
	s.addAlarm(alarm{
		id:     pascal(name) + "Throttles",
		text:   fmt.Sprintf("function %s is throttled; raise its concurrency", name),
		metric: f.MetricThrottles(minute("Sum")), threshold: 1, periods: 3, gap: gap,
	})
}

func errorsAlarm(function string) string { return pascal(function) + "Errors" }

func returnedAlarm(function string) string { return pascal(function) + "Returned" }

// returnedAlarm adds an alarm for a function that returns messages to their queues, because it cannot handle
// them. Lambda's metric of errors does not count them. A message that no version can handle comes again until
// it is a dead letter, so a few returns do not raise the alarm. The Supervisor takes no messages. Its alarm
// counts orders that a sweep leaves for the next one, and an order is left once in a sweep.
func (s *Stepkeeper) returnedAlarm(function string) {
	a := alarm{
		id: returnedAlarm(function),
		text: fmt.Sprintf("function %s returns messages that it cannot handle; read its log, and roll back a "+
			"new version", function),
		threshold: 5, periods: 1, essential: s.props.Canary != nil,
	}
	period := 5 * time.Minute
	if function == deployment.FunctionSupervisor {
		a.text = "sweeps of the Supervisor leave orders that they cannot handle; read its log, and roll back " +
			"a new version"
		a.threshold = 1
		period = max(period, s.props.SweepInterval)
	}
	a.metric = s.metric(deployment.MetricReturned, "Sum", period, deployment.MetricFunction, function)
	a.period = period
	s.addAlarm(a)
}

// leastGap is the smallest gap, in minutes, of an alarm whose metric has no data in a minute without work. A
// busy function has data in every minute. A function with one order in a while has data only when it runs.
const leastGap = 5

// repeated returns the time after which an invocation that failed is certainly repeated. The messages of an
// invocation of an agent or of the Scheduler come again after the visibility timeout.
func (s *Stepkeeper) repeated(function string) time.Duration {
	t := s.props.Tuning
	switch function {
	case deployment.FunctionSupervisor:
		return s.props.SweepInterval
	case deployment.FunctionScheduler:
		return visibility(t.SchedulerTimeout, max(t.Intake.Window, t.Replies.Window, t.Control.Window))
	}
	a := s.props.Agents[function]
	return visibility(a.Timeout, a.Window)
}

// notCalledAlarm adds an alarm for an agent that does not call its service for 10 to 20 minutes. The usual
// causes are expired credentials and failures of the service. Meanwhile the agent's steps wait, and the
// Scheduler counts no failure (P45, "not now" is not a failure). The alarm needs reports in two periods, so a
// circuit breaker that is open for only some seconds usually raises no alarm.
func (s *Stepkeeper) notCalledAlarm(agent string) {
	s.addAlarm(alarm{
		id: pascal(agent) + "NotCalled",
		text: fmt.Sprintf(
			"agent %s does not call its service, and its steps wait; renew its credentials, or repair the "+
				"service", agent),
		metric: s.metric(deployment.MetricNotCalled, "Sum", 10*time.Minute, deployment.MetricAgent, agent),
		// An agent that makes the Scheduler wait, by a time in its reply, reports less often.
		period: 10 * time.Minute, threshold: 1, periods: 2, gap: 2,
	})
}

// notSentAlarm adds an alarm for a reply-to whose statuses could not be sent. The orders go on, and the statuses
// are sent again, at least once an hour (P12b, a status delays nothing else).
func (s *Stepkeeper) notSentAlarm(replyTo string) {
	s.addAlarm(alarm{
		id: pascal(replyTo) + "NotSent",
		text: fmt.Sprintf("statuses to %s could not be sent: its queue or bus was deleted, forbids it, or is "+
			"throttled; run stepkeeper doctor", replyTo),
		metric:    s.metric(deployment.MetricNotSent, "Sum", 10*time.Minute, deployment.MetricReplyTo, replyTo),
		threshold: 1, periods: 1,
	})
}

func (s *Stepkeeper) deadAlarm(id, text string, q awssqs.IQueue) {
	s.addAlarm(alarm{
		id: id, text: text,
		metric:    q.MetricApproximateNumberOfMessagesVisible(minute("Maximum")),
		threshold: 1, periods: 1, essential: true,
	})
}

// CloudWatch looks at most at one day. The longest period of these alarms is an hour, so Tuning.Thresholds may
// ask for maxPeriods.
const (
	longestLook = 24 * time.Hour
	maxPeriods  = int(longestLook / time.Hour)
)

// kinds lists the ends of alarm IDs that several queues, functions, tables or agents have.
var kinds = []string{"Age", "Dead", "Errors", "Lag", "NotCalled", "NotSent", "Returned", "Throttles"}

// alarmsFit reports thresholds of no alarm, and alarms that would have one ID, because IDs are made from the names
// of agents, queues and tables.
func (s *Stepkeeper) alarmsFit() error {
	c := &checker{}
	for _, id := range s.doubled {
		c.wrong("two alarms would have the ID %s; call an agent or an entry of ReplyTo and ReplyToBuses otherwise", id)
	}
	for _, name := range sorted(s.props.Tuning.Thresholds) {
		if !slices.Contains(kinds, name) && !slices.Contains(s.alarmIDs, name) {
			c.wrong("Tuning.Thresholds has %.90q; it must be the ID of an alarm without its ending Alarm, "+
				"as in IntakeAge, or one of %s", name, strings.Join(kinds, ", "))
		}
	}
	return errors.Join(c.problems...)
}

func (s *Stepkeeper) addAlarm(a alarm) {
	s.alarmIDs = append(s.alarmIDs, a.id)
	for _, name := range slices.Concat(kinds, []string{a.id}) { // the full ID is last, so it has precedence
		if t, there := s.props.Tuning.Thresholds[name]; there && strings.HasSuffix(a.id, name) {
			a.threshold = cmp.Or(t.Value, a.threshold)
			a.periods = cmp.Or(t.Periods, a.periods)
		}
	}
	if s.props.Alarms == AlarmsNone || s.props.Alarms == AlarmsEssential && !a.essential {
		return
	}
	if s.Construct.Node().TryFindChild(str(a.id+"Alarm")) != nil {
		s.doubled = append(s.doubled, a.id)
		return
	}
	most := int(longestLook / cmp.Or(a.period, time.Minute))
	props := &awscloudwatch.AlarmProps{
		AlarmDescription: str("Stepkeeper " + *s.Construct.Node().Path() + ": " + a.text), Metric: a.metric,
		Threshold: &a.threshold, DatapointsToAlarm: num(a.periods),
		EvaluationPeriods:  num(min(a.periods*max(a.gap, 1), most)),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	}
	if a.silent {
		props.ActionsEnabled = jsii.Bool(false)
	}
	if a.below {
		props.ComparisonOperator = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
	}
	if a.expected {
		props.TreatMissingData = awscloudwatch.TreatMissingData_BREACHING
	}
	made := awscloudwatch.NewAlarm(s.Construct, str(a.id+"Alarm"), props)
	action := awscloudwatchactions.NewSnsAction(s.alarms)
	made.AddAlarmAction(action)
	made.AddOkAction(action)
}

// throttleAlarm adds an alarm for throttled requests to a table or its index. The cause is a hot partition,
// or a load that grows faster than the table scales. The SDK repeats throttled requests, so other metrics
// show the problem only later.
func (s *Stepkeeper) throttleAlarm(t stored) {
	s.addAlarm(alarm{
		id: t.id + "Throttles", text: t.what + " is throttled; raise its capacity",
		threshold: 1, periods: 3, gap: leastGap,
		metric: awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
			Expression: str("FILL(reads, 0) + FILL(writes, 0)"), Period: seconds(time.Minute),
			Label: str("throttled requests"),
			UsingMetrics: &map[string]awscloudwatch.IMetric{
				"reads":  t.throttles("Read", nil),
				"writes": t.throttles("Write", nil),
			},
		}),
	})
}

// maxLag is the age of an item in the main Region at which its absence in a replica raises an alarm. DynamoDB
// usually copies an item within seconds.
const maxLag = time.Minute

// lagAlarms adds an alarm for each replica of a table that this deployment makes (rule 14). DynamoDB reports
// the lag of the items that it copies. It reports nothing if it copies nothing, so missing data may mean that the
// replication has stopped. Each sweep writes to the table Orders, so its alarm goes off without data too. The
// other tables may have no writes for a long time, so one period with late copies only is enough for their alarms.
func (s *Stepkeeper) lagAlarms(t stored) {
	if t.given != "" || t.index != "" {
		return
	}
	statistic := "Minimum"
	periods := 1
	orders := t.table == s.orders
	if orders {
		statistic = "Maximum"
		periods = 5
	}
	for _, r := range s.props.Replicas {
		s.addAlarm(alarm{
			id: t.id + pascal(r.Region) + "Lag",
			text: fmt.Sprintf("the copy of table %s in %s is behind, or is not updated; a fail-over now would "+
				"lose writes", t.id, r.Region),
			metric: awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
				Namespace: str("AWS/DynamoDB"), MetricName: str("ReplicationLatency"),
				Statistic: &statistic, Period: seconds(s.props.SweepInterval),
				DimensionsMap: &map[string]*string{
					"TableName": t.table.TableName(), "ReceivingRegion": str(r.Region),
				},
			}),
			period: s.props.SweepInterval, threshold: float64(maxLag.Milliseconds()), periods: periods,
			expected: orders, silent: s.props.Paused && orders,
		})
	}
}

// metric returns a metric that the deployment's functions write. The dimension of its name is set if it is not "".
func (s *Stepkeeper) metric(name, statistic string, period time.Duration, dimension, of string) awscloudwatch.IMetric {
	dimensions := map[string]*string{deployment.MetricDeployment: s.stackName()}
	if dimension != "" {
		dimensions[dimension] = &of
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: str(deployment.MetricNamespace), MetricName: &name, Statistic: &statistic, Period: seconds(period),
		DimensionsMap: &dimensions,
	})
}

func minute(statistic string) *awscloudwatch.MetricOptions { return every(time.Minute, statistic) }

func every(period time.Duration, statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: seconds(period), Statistic: str(statistic)}
}
