package infra

import (
	"fmt"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/functions/supervisor/bootstrap/wiring"
)

// alarm is one alarm: of the metric, over one minute each, for some minutes.
type alarm struct {
	id, text  string
	metric    awscloudwatch.IMetric
	threshold float64
	minutes   int
	below     bool // alarms below the threshold, and where nothing is reported at all
	silent    bool // tells nobody
}

func (s *Stepkeeper) addAlarms() {
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		s.deadAlarm(pascal(name)+"Dead", fmt.Sprintf("messages of queue %s were given up", name), q.dead)
		s.addAlarm(alarm{
			id: pascal(name) + "Age", text: fmt.Sprintf("queue %s is not worked off: its oldest message is too old", name),
			metric: q.queue.MetricApproximateAgeOfOldestMessage(minute("Maximum")), threshold: q.oldest.Seconds(), minutes: 3,
		})
	}
	s.deadAlarm("Quarantine", "messages came that nobody can read", s.quarantine)
	s.deadAlarm("MissedSweeps", "ticks of the schedule were given up", s.missed)
	// Rule 17.
	s.addAlarm(alarm{
		id: "OldestOverdue", text: "a task has been overdue for long, so the Supervisor or the Scheduler does not get through",
		metric: awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: str(wiring.Namespace), MetricName: str(wiring.OldestOverdue), Statistic: str("Maximum"), Period: seconds(time.Minute),
			DimensionsMap: &map[string]*string{wiring.Dimension: s.Construct.Node().Path()},
		}),
		threshold: s.props.Tuning.OldestOverdue.Seconds(), minutes: 3,
	})
	s.addAlarm(alarm{
		id: "NoSweeps", text: "the Supervisor is not started by its schedule, so nothing that fails is noticed",
		metric: s.functions["supervisor"].MetricInvocations(minute("Sum")), threshold: 1, minutes: 5, below: true,
		silent: s.props.Paused,
	})
	for _, name := range sorted(s.functions) {
		f := s.functions[name]
		s.addAlarm(alarm{id: pascal(name) + "Errors", text: fmt.Sprintf("function %s fails", name), metric: f.MetricErrors(minute("Sum")), threshold: 1, minutes: 3})
		s.addAlarm(alarm{id: pascal(name) + "Throttles", text: fmt.Sprintf("function %s is throttled", name), metric: f.MetricThrottles(minute("Sum")), threshold: 1, minutes: 3})
	}
}

// deadAlarm: one message is one too many (rule 6).
func (s *Stepkeeper) deadAlarm(id, text string, q interface {
	MetricApproximateNumberOfMessagesVisible(*awscloudwatch.MetricOptions) awscloudwatch.Metric
}) {
	s.addAlarm(alarm{id: id, text: text, metric: q.MetricApproximateNumberOfMessagesVisible(minute("Maximum")), threshold: 1, minutes: 1})
}

func (s *Stepkeeper) addAlarm(a alarm) {
	props := &awscloudwatch.AlarmProps{
		AlarmDescription: str("Stepkeeper " + *s.Construct.Node().Path() + ": " + a.text), Metric: a.metric,
		Threshold: &a.threshold, EvaluationPeriods: num(a.minutes),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	}
	if a.silent {
		props.ActionsEnabled = jsii.Bool(false)
	}
	if a.below {
		props.ComparisonOperator = awscloudwatch.ComparisonOperator_LESS_THAN_THRESHOLD
		props.TreatMissingData = awscloudwatch.TreatMissingData_BREACHING
	}
	made := awscloudwatch.NewAlarm(s.Construct, str(a.id+"Alarm"), props)
	made.AddAlarmAction(awscloudwatchactions.NewSnsAction(s.alerts))
}

func minute(statistic string) *awscloudwatch.MetricOptions {
	return &awscloudwatch.MetricOptions{Period: seconds(time.Minute), Statistic: str(statistic)}
}
