package infra

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (s *Stepkeeper) addDashboard() {
	if !s.props.Dashboard {
		return
	}
	page := awscloudwatch.NewDashboard(s.Construct, str("Dashboard"),
		&awscloudwatch.DashboardProps{DefaultInterval: seconds(3 * time.Hour)})
	page.AddWidgets(
		// CloudWatch has one metric for each workflow with orders in Error. The dashboard searches for these
		// metrics each time that a person opens the page.
		s.graph("Orders in Error", s.found(deployment.MetricInError, "Maximum")),
		s.graph("Oldest order in Error, seconds", s.found(deployment.MetricOldestInError, "Maximum")),
		s.graph("Most overdue task, seconds",
			s.metric(deployment.MetricOldestOverdue, "Maximum", s.props.SweepInterval, "", "")),
	)
	var sent, age, waiting, dead []awscloudwatch.IMetric
	for _, name := range sorted(s.queues) {
		q := s.queues[name]
		sent = append(sent, q.queue.MetricNumberOfMessagesSent(named(name, "Sum")))
		age = append(age, q.queue.MetricApproximateAgeOfOldestMessage(named(name, "Maximum")))
		waiting = append(waiting, q.queue.MetricApproximateNumberOfMessagesVisible(named(name, "Maximum")))
		dead = append(dead, q.dead.MetricApproximateNumberOfMessagesVisible(named(name, "Maximum")))
	}
	dead = append(dead, s.quarantine.MetricApproximateNumberOfMessagesVisible(named(port.Quarantine,
		"Maximum")),
		s.missed.MetricApproximateNumberOfMessagesVisible(named("missed sweeps", "Maximum")))
	page.AddWidgets(s.graph("Messages sent", sent...), s.graph("Messages waiting", waiting...),
		s.graph("Oldest message, seconds", age...), s.graph("Dead letters, quarantine", dead...))
	var took, failed, throttled, refused []awscloudwatch.IMetric
	for _, name := range sorted(s.functions) {
		f := s.invoked(name)
		took = append(took, f.MetricDuration(named(name, "p95")))
		failed = append(failed, f.MetricErrors(named(name, "Sum")))
		throttled = append(throttled, f.MetricThrottles(named(name, "Sum")))
	}
	for _, t := range s.stores() {
		refused = append(refused, t.throttles("Read", str("Reads of "+t.what)),
			t.throttles("Write", str("Writes of "+t.what)))
	}
	page.AddWidgets(s.graph("Duration of an invocation, p95, ms", took...),
		s.graph("Failed invocations", failed...),
		s.graph("Throttled invocations", throttled...),
		s.graph("Throttled requests to tables", refused...))
}

func (s *Stepkeeper) found(name, statistic string) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{
		Expression: str(`SEARCH('{` + deployment.MetricNamespace + `,` + deployment.MetricDeployment + `,` +
			deployment.MetricWorkflow + `} ` +
			deployment.MetricDeployment + `="` + *s.stackName() + `" MetricName="` + name + `"', '` +
			statistic + `')`),
		Period: seconds(s.props.SweepInterval), Label: str(""),
		UsingMetrics: &map[string]awscloudwatch.IMetric{},
	})
}

func (s *Stepkeeper) graph(title string, metrics ...awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: &title, Left: &metrics, Width: num(6), Height: num(6),
		LeftYAxis: &awscloudwatch.YAxisProps{Min: num(0), ShowUnits: new(bool)},
	})
}

func named(name, statistic string) *awscloudwatch.MetricOptions {
	m := minute(statistic)
	m.Label = &name
	return m
}
