package infra_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Hashes of functions and workflows.
var assetHash = regexp.MustCompile(`[0-9a-f]{64}|\b[0-9a-f]{32}\b`)

// The whole template of the example, so that no change to it goes unseen: `go test ./infra -update`.
func TestGolden(t *testing.T) {
	needNode(t)
	_, stack := newStack("Shop")
	infra.NewStepkeeper(stack, "Engine", shop(stack))
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	if err := e.Encode(assertions.Template_FromStack(stack, nil).ToJSON()); err != nil {
		t.Fatal(err)
	}
	text := assetHash.ReplaceAll(got.Bytes(), []byte("HASH"))
	golden.Assert(t, string(text), "shop.template.json")
}

// Rules 1, 18, 20.
func TestFunctions(t *testing.T) {
	x := template(t, nil)
	functions := x.of("AWS::Lambda::Function")
	same(t, "functions", slices.Sorted(maps.Keys(functions)),
		"[AgentInventory AgentNotification AgentPayment AgentShipping Scheduler Supervisor]")
	logs := x.of("AWS::Logs::LogGroup")
	for id, f := range functions {
		p := f.Properties
		loop := any("Allow")
		if id == "Supervisor" {
			loop = nil // it is no part of the circle, and Lambda's guard stays on (rule 1)
		}
		for what, c := range map[string][2]any{
			"RecursiveLoop": {p["RecursiveLoop"], loop}, "runtime": {p["Runtime"], "provided.al2023"},
			"handler":              {p["Handler"], "bootstrap"},
			"architecture":         {at(p, "Architectures", 0), "arm64"},
			"log format":           {at(p, "LoggingConfig", "LogFormat"), "JSON"},
			"system log level":     {at(p, "LoggingConfig", "SystemLogLevel"), "WARN"},
			"log group":            {target(at(p, "LoggingConfig", "LogGroup")), id + "Logs"},
			"reserved concurrency": {p["ReservedConcurrentExecutions"], nil},
			"retention":            {logs[id+"Logs"].Properties["RetentionInDays"], 30},
			"role":                 {target(p["Role"]), id + "Role"},
		} {
			same(t, id+": "+what, c[0], c[1])
		}
	}
}

// Rules 2 to 4: partial batches, a bounded concurrency, and a visibility of six times the timeout.
func TestMappings(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		a := p.Agents["payment"]
		a.Timeout = 90 * time.Second
		a.Batch = 7
		a.Window = 3 * time.Second
		a.MaxConcurrency = 40
		p.Agents["payment"] = a
	})
	functions := x.of("AWS::Lambda::Function")
	queues := x.of("AWS::SQS::Queue")
	mappings := x.of("AWS::Lambda::EventSourceMapping")
	same(t, "mappings", len(mappings), 7)
	for id, m := range mappings {
		p := m.Properties
		queue := queues[target(p["EventSourceArn"])]
		function := functions[target(p["FunctionName"])]
		window, _ := p["MaximumBatchingWindowInSeconds"].(float64)
		timeout := function.Properties["Timeout"].(float64)
		same(t, id+": visibility", queue.Properties["VisibilityTimeout"], 6*timeout+window)
		same(t, id+": not paused", p["Enabled"], true)
		same(t, id+": response types", p["FunctionResponseTypes"], "[ReportBatchItemFailures]")
		batch := 5.0
		most := 5.0
		if target(p["FunctionName"]) == "Scheduler" {
			batch = 10
		}
		if target(p["FunctionName"]) == "AgentPayment" {
			batch = 7
			most = 40
			same(t, "timeout", timeout, 90)
			same(t, "window", window, 3)
		}
		same(t, id+": batch", p["BatchSize"], batch)
		same(t, id+": concurrency", at(p, "ScalingConfig", "MaximumConcurrency"), most)
	}
}

// Rules 3, 6, 20, 22.
func TestQueues(t *testing.T) {
	x := template(t, nil)
	queues := x.of("AWS::SQS::Queue")
	same(t, "queues", len(queues), 2*7+2)
	encrypted := map[string]bool{}
	for _, p := range x.of("AWS::SQS::QueuePolicy") {
		for _, s := range list(at(p.Properties, "PolicyDocument", "Statement")) {
			if at(s, "Effect") == "Deny" && at(s, "Condition", "Bool", "aws:SecureTransport") == "false" {
				encrypted[target(at(p.Properties, "Queues", 0))] = true
			}
		}
	}
	for id, q := range queues {
		p := q.Properties
		dead := strings.HasSuffix(id, "Dead") || id == "Quarantine" || id == "MissedSweeps"
		days := 4
		if dead || id == "Intake" { // what nobody could send again stays as long as SQS allows
			days = 14
		}
		same(t, id+": retention", p["MessageRetentionPeriod"], days*86400)
		same(t, id+": SSE-SQS", p["SqsManagedSseEnabled"], true)
		same(t, id+": in transit", encrypted[id], true)
		same(t, id+": stays, unless its own deploy fails", q.DeletionPolicy, "RetainExceptOnCreate")
		if dead {
			same(t, id+": dead letters of dead letters", p["RedrivePolicy"], nil)
			continue
		}
		same(t, id+": dead letters", target(at(p, "RedrivePolicy", "deadLetterTargetArn")), id+"Dead")
		if n, _ := at(p, "RedrivePolicy", "maxReceiveCount").(float64); n < 5 {
			t.Errorf("%s: given up after %v receives", id, n)
		}
	}
}

// Rules 20, 21: who may send.
func TestSenders(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Operators = []string{"arn:aws:iam::123456789012:role/ops"}
	})
	agents := "AgentInventoryRole AgentNotificationRole AgentPaymentRole AgentShippingRole"
	const ops = " arn:aws:iam::123456789012:role/ops"
	want := map[string]string{
		"MissedSweeps": "SupervisorRole ScheduleRole",
		"Intake":       "account", "Control": "account", "Replies": agents + ops,
		"Quarantine":      "SchedulerRole " + agents + ops,
		"RequestsPayment": "SchedulerRole" + ops, "RequestsInventory": "SchedulerRole" + ops,
		"RequestsShipping": "SchedulerRole" + ops, "RequestsNotification": "SchedulerRole" + ops,
	}
	for _, queue := range []string{
		"Intake", "Control", "Replies", "RequestsPayment", "RequestsInventory",
		"RequestsShipping", "RequestsNotification",
	} {
		want[queue+"Dead"] = "nobody"
	}
	for _, p := range x.of("AWS::SQS::QueuePolicy") {
		queue := target(at(p.Properties, "Queues", 0))
		got := ""
		for _, s := range list(at(p.Properties, "PolicyDocument", "Statement")) {
			if at(s, "Effect") != "Deny" || at(s, "Action") != "sqs:SendMessage" ||
				at(s, "Sid") == "OnlyServicesForThisAccount" {
				continue
			}
			if at(s, "Condition") == nil {
				got = "nobody"
				continue
			}
			if at(s, "Condition", "StringNotEquals", "aws:PrincipalAccount") == account {
				got = "account"
				continue
			}
			var names []string
			for _, arn := range list(at(s, "Condition", "ArnNotEquals", "aws:PrincipalArn")) {
				names = append(names, target(arn))
			}
			got = strings.Join(names, " ")
		}
		same(t, queue+": senders", got, want[queue])
		delete(want, queue)
	}
	same(t, "queues without named senders", want, "map[]")
}

// Rule 20: the topic of alarms refuses plain HTTP, and only the account's alarms publish.
func TestTopic(t *testing.T) {
	x := template(t, nil)
	var secure bool
	for _, s := range list(at(x.of("AWS::SNS::TopicPolicy")["AlarmsPolicy"].Properties, "PolicyDocument",
		"Statement")) {
		switch at(s, "Effect") {
		case "Deny":
			secure = secure || at(s, "Condition", "Bool", "aws:SecureTransport") == "false"
		case "Allow":
			same(t, "who may publish", at(s, "Principal", "Service"), "cloudwatch.amazonaws.com")
			same(t, "of which account", at(s, "Condition", "StringEquals", "aws:SourceAccount"), account)
		}
	}
	same(t, "in transit", secure, true)
}

// Section 3 of the design: tables, their keys, what is kept.
func TestTables(t *testing.T) {
	x := template(t, nil)
	tables := x.of("AWS::DynamoDB::GlobalTable")
	// shipping is plain (P31), notification a point of no return (P22a)
	same(t, "tables", slices.Sorted(maps.Keys(tables)),
		"[Definitions LedgerNotification LedgerShipping Orders]")
	for id, r := range tables {
		p := r.Properties
		same(t, id+": billing", p["BillingMode"], "PAY_PER_REQUEST")
		same(t, id+": stays", r.DeletionPolicy, "Retain")
		same(t, id+": Regions", len(list(p["Replicas"])), 1)
		same(t, id+": recovery", at(p, "Replicas", 0, "PointInTimeRecoverySpecification",
			"PointInTimeRecoveryEnabled"), true)
		same(t, id+": protection", at(p, "Replicas", 0, "DeletionProtectionEnabled"), true)
		same(t, id+": TTL", p["TimeToLiveSpecification"], nil)
		same(t, id+": stream", p["StreamSpecification"], nil)
		same(t, id+": kind", p["MultiRegionConsistency"], nil) // rule 14
		same(t, id+": encrypted with the service's key", at(p, "SSESpecification", "SSEEnabled"), false)
		if id != "Orders" {
			same(t, id+": indexes", p["GlobalSecondaryIndexes"], nil)
		}
	}
	index := at(tables["Orders"].Properties, "GlobalSecondaryIndexes", 0)
	same(t, "index", at(index, "IndexName"), "complete-by")
	same(t, "projection", at(index, "Projection", "ProjectionType"), "KEYS_ONLY")
	same(t, "keys", at(index, "KeySchema"),
		"[map[AttributeName:bucket KeyType:HASH] map[AttributeName:dueAt KeyType:RANGE]]")
}

// Rule 16.
func TestSchedule(t *testing.T) {
	x := template(t, nil)
	s := x.of("AWS::Scheduler::Schedule")["Schedule"].Properties
	for what, c := range map[string][2]any{
		"expression":   {s["ScheduleExpression"], "rate(1 minute)"},
		"window":       {at(s, "FlexibleTimeWindow", "Mode"), "OFF"},
		"target":       {target(at(s, "Target", "Arn")), "Supervisor"},
		"dead letters": {target(at(s, "Target", "DeadLetterConfig", "Arn")), "MissedSweeps"},
		"retries":      {at(s, "Target", "RetryPolicy", "MaximumRetryAttempts"), 2},
		"age":          {at(s, "Target", "RetryPolicy", "MaximumEventAgeInSeconds"), 60},
		"rules":        {len(x.of("AWS::Events::Rule")), 0}, "state": {s["State"], "ENABLED"},
	} {
		same(t, what, c[0], c[1])
	}
	same(t, "dead letters of the invocation", target(at(x.of("AWS::Lambda::EventInvokeConfig")["SupervisorInvocations"].Properties, "DestinationConfig", "OnFailure", "Destination")), "MissedSweeps")

	same(t, "interval that is reported", at(variables(x, "Supervisor"), "STEPKEEPER_SWEEP_EVERY"), nil)

	x = template(t, func(_ awscdk.Stack, p *infra.Props) { p.SweepInterval = time.Hour })
	hourly := x.of("AWS::Scheduler::Schedule")["Schedule"].Properties
	same(t, "hourly", hourly["ScheduleExpression"], "rate(1 hour)")
	same(t, "hourly: age", at(hourly, "Target", "RetryPolicy", "MaximumEventAgeInSeconds"), 3600)

	x = template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.EventBridgeRule = true
		p.SweepInterval = 5 * time.Minute
	})
	same(t, "schedules beside a rule", len(x.of("AWS::Scheduler::Schedule")), 0)
	rule := x.of("AWS::Events::Rule")["Rule"].Properties
	same(t, "rule", rule["ScheduleExpression"], "rate(5 minutes)")
	// An alarm whose periods are shorter than the interval finds most of them empty, and never rings.
	for id, want := range map[string]string{"NoSweepsAlarm": "300 5 5 1", "OldestOverdueAlarm": "300 3 6 540"} {
		a := x.of("AWS::CloudWatch::Alarm")[id].Properties
		same(t, id, fmt.Sprint(a["Period"], " ", a["DatapointsToAlarm"], " ", a["EvaluationPeriods"], " ",
			a["Threshold"]), want)
	}
	same(t, "rule's target", target(at(rule, "Targets", 0, "Arn")), "Supervisor")
	same(t, "interval", at(x.of("AWS::Lambda::Function")["Supervisor"].Properties, "Environment", "Variables",
		"STEPKEEPER_SWEEP_EVERY"), "5m0s")
}

// A sweep that fails is tried again: Lambda starts no attempt of an event that is older than its limit, and it waits
// one minute before the second attempt and two minutes before the third one. An attempt takes up to the function's
// timeout. The alarm of what fails in all attempts names that cause.
func TestFailedSweepsAreTriedAgain(t *testing.T) {
	for interval, want := range map[time.Duration]int{time.Minute: 360, time.Hour: 3600} {
		x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.SweepInterval = interval })
		a := x.of("AWS::Lambda::EventInvokeConfig")["SupervisorInvocations"].Properties
		same(t, "retries", a["MaximumRetryAttempts"], 2)
		same(t, "age", a["MaximumEventAgeInSeconds"], want)
		timeout := x.of("AWS::Lambda::Function")["Supervisor"].Properties["Timeout"].(float64)
		if last := timeout + 60 + timeout + 120; a["MaximumEventAgeInSeconds"].(float64) <= last {
			t.Errorf("the third attempt may begin after %v s, and its event is dropped then", last)
		}
		text := fmt.Sprint(x.of("AWS::CloudWatch::Alarm")["MissedSweepsAlarm"].Properties["AlarmDescription"])
		if !strings.Contains(text, "a sweep failed in all its attempts, or could not start") {
			t.Errorf("the alarm says %q", text)
		}
	}
}

// Rules 6 and 17.
func TestAlarms(t *testing.T) {
	x := template(t, nil)
	alarms := x.of("AWS::CloudWatch::Alarm")
	var want []string
	for _, q := range []string{
		"Intake", "Replies", "Control", "RequestsInventory", "RequestsPayment",
		"RequestsShipping", "RequestsNotification",
	} {
		want = append(want, q+"DeadAlarm", q+"AgeAlarm")
	}
	for _, f := range []string{
		"Scheduler", "Supervisor", "Inventory", "Payment", "Shipping",
		"Notification",
	} {
		want = append(want, f+"ErrorsAlarm", f+"ThrottlesAlarm", f+"ReturnedAlarm")
		// what the function writes is what its alarm reads
		p := alarms[f+"ReturnedAlarm"].Properties
		threshold := "5"
		if f == "Supervisor" {
			threshold = "1"
		}
		same(t, f+": returned", fmt.Sprint(p["Namespace"], " ", p["MetricName"], " ", p["Statistic"], " ",
			p["Period"], " ", p["EvaluationPeriods"], " ", p["Threshold"]),
			deployment.MetricNamespace+" "+deployment.MetricReturned+" Sum 300 1 "+threshold)
		same(t, f+": returned by", at(p, "Dimensions"), []any{
			map[string]any{
				"Name":  deployment.MetricDeployment,
				"Value": at(variables(x, ours[f]), deployment.VarStack),
			},
			map[string]any{"Name": deployment.MetricFunction, "Value": strings.ToLower(f)},
		})
	}
	for _, table := range []string{"Orders", "Index", "Definitions", "LedgerNotification", "LedgerShipping"} {
		want = append(want, table+"ThrottlesAlarm")
	}
	for _, a := range []string{"Inventory", "Payment", "Shipping", "Notification"} {
		want = append(want, a+"NotCalledAlarm")
		// no step waits for longer than 450 s between two tries (P45)
		p := alarms[a+"NotCalledAlarm"].Properties
		same(t, a+": not called", fmt.Sprint(p["MetricName"], " ", p["Statistic"], " ", p["Period"], " ",
			p["DatapointsToAlarm"], " ", p["EvaluationPeriods"], " ", p["Threshold"]),
			"NotCalled Sum 600 2 4 1")
		same(t, a+": agent", at(p, "Dimensions", 0, "Value"), strings.ToLower(a))
		same(t, a+": deployment", at(p, "Dimensions", 1, "Value"),
			at(variables(x, "Scheduler"), "STEPKEEPER_STACK"))
	}
	want = append(want, "ShopNotSentAlarm") // P12b: the example has one reply-to
	want = append(want, "QuarantineAlarm", "MissedSweepsAlarm", "OldestOverdueAlarm", "NoSweepsAlarm")
	slices.Sort(want)
	same(t, "alarms", slices.Sorted(maps.Keys(alarms)), fmt.Sprint(want))
	for id, a := range alarms {
		missing := "notBreaching"
		if id == "NoSweepsAlarm" {
			missing = "breaching"
		}
		same(t, id+": missing data", a.Properties["TreatMissingData"], missing)
		same(t, id+": reported to", target(at(a.Properties, "AlarmActions", 0)), "Alarms")
		same(t, id+": its end is reported to", target(at(a.Properties, "OKActions", 0)), "Alarms")
	}
	for id, q := range x.of("AWS::SQS::Queue") { // rule 6: no queue that is an end goes unwatched
		dead := q.Properties["RedrivePolicy"] == nil
		a := alarms[id+"Alarm"].Properties
		if !dead {
			a = alarms[id+"AgeAlarm"].Properties
			same(t, id+": metric of its age", a["MetricName"], "ApproximateAgeOfOldestMessage")
			oldest := 300
			if strings.HasPrefix(id, "Requests") {
				oldest = 900 // a flood may wait (P32)
			}
			if id == "Control" {
				oldest = 1200 // its messages are delayed by up to 900 s, which SQS counts
			}
			same(t, id+": age that alarms", a["Threshold"], oldest)
		}
		same(t, id+": watched", target(at(a, "Dimensions", 0, "Value")), id)
		same(t, id+": is an end", dead, a["MetricName"] == "ApproximateNumberOfMessagesVisible" &&
			a["Threshold"] == 1.0)
	}
	for id, want := range map[string]string{
		"NoSweepsAlarm":         "Invocations LessThanThreshold 1",
		"OldestOverdueAlarm":    "OldestOverdue GreaterThanOrEqualToThreshold 300",
		"SchedulerErrorsAlarm":  "Errors GreaterThanOrEqualToThreshold 1",
		"PaymentThrottlesAlarm": "Throttles GreaterThanOrEqualToThreshold 1",
	} {
		p := alarms[id].Properties
		same(t, id, fmt.Sprint(p["MetricName"], " ", p["ComparisonOperator"], " ", p["Threshold"]), want)
	}
	dead := alarms["RequestsPaymentDeadAlarm"].Properties
	same(t, "threshold of dead letters", dead["Threshold"], 1)
	same(t, "metric of dead letters", dead["MetricName"], "ApproximateNumberOfMessagesVisible")
	same(t, "queue of dead letters", target(at(dead, "Dimensions", 0, "Value")), "RequestsPaymentDead")
	for id, table := range map[string]string{
		"Orders": "Orders", "Index": "Orders",
		"Definitions": "Definitions", "LedgerNotification": "LedgerNotification",
		"LedgerShipping": "LedgerShipping",
	} {
		a := alarms[id+"ThrottlesAlarm"].Properties
		var watched []string
		for _, m := range list(a["Metrics"]) {
			if metric := at(m, "MetricStat", "Metric"); metric != nil {
				watched = append(watched, fmt.Sprint(at(metric, "MetricName")))
				dimensions := list(at(metric, "Dimensions"))
				same(t, id+": table watched", target(at(dimensions[len(dimensions)-1], "Value")), table)
				same(t, id+": index watched", len(dimensions) == 2 &&
					at(dimensions[0], "Value") == "complete-by", id == "Index")
			}
		}
		slices.Sort(watched)
		same(t, id+": throttles watched", watched, "[ReadThrottleEvents WriteThrottleEvents]")
		same(t, id+": threshold", fmt.Sprint(a["Threshold"], a["DatapointsToAlarm"], a["EvaluationPeriods"]),
			"1 3 15")
	}
	overdue := alarms["OldestOverdueAlarm"].Properties
	same(t, "dimension", at(overdue, "Dimensions", 0, "Value"),
		at(x.of("AWS::Lambda::Function")["Supervisor"].Properties, "Environment", "Variables",
			"STEPKEEPER_STACK"))
}

// The dashboard is asked for, and shows each queue, function and table, and the orders in Error of this
// deployment.
func TestDashboard(t *testing.T) {
	same(t, "dashboards", len(template(t, nil).of("AWS::CloudWatch::Dashboard")), 0)
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Dashboard = true })
	var body strings.Builder
	for _, d := range x.of("AWS::CloudWatch::Dashboard") {
		for _, part := range list(at(d.Properties, "DashboardBody", "Fn::Join", 1)) {
			if text, is := part.(string); is {
				body.WriteString(text)
				continue
			}
			body.WriteString(target(part))
		}
	}
	var page struct {
		Widgets []struct {
			Properties struct {
				Title   string
				Metrics [][]any
			}
			Width, Height int
		}
	}
	if err := json.Unmarshal([]byte(body.String()), &page); err != nil {
		t.Fatalf("%v: %s", err, body.String())
	}
	lines := map[string]int{}
	labels := map[string][]any{}
	for _, w := range page.Widgets {
		lines[w.Properties.Title] = len(w.Properties.Metrics)
		same(t, "size of "+w.Properties.Title, fmt.Sprint(w.Width, w.Height), "6 6") // four in a row
		for _, m := range w.Properties.Metrics {
			labels[w.Properties.Title] = append(labels[w.Properties.Title], at(m[len(m)-1], "label"))
		}
	}
	same(t, "lines of each graph", fmt.Sprint(lines), fmt.Sprint(map[string]int{
		"Orders in Error": 1, "Oldest order in Error, seconds": 1, "Most overdue task, seconds": 1,
		"Messages sent": 7, "Messages waiting": 7, "Oldest message, seconds": 7,
		"Dead letters, quarantine":           9,
		"Duration of an invocation, p95, ms": 6, "Failed invocations": 6, "Throttled invocations": 6,
		"Throttled requests to tables": 10,
	}))
	same(t, "queues", labels["Messages sent"],
		"[control intake replies requests-inventory requests-notification "+
			"requests-payment requests-shipping]")
	same(t, "functions", labels["Failed invocations"],
		"[inventory notification payment scheduler shipping supervisor]")
	for _, want := range []string{`SEARCH('{Stepkeeper,Deployment,Workflow} Deployment=\"Test/Engine\" MetricName=\"OrdersInError\"', 'Maximum')`, `"RequestsPaymentDead"`, `"Scheduler"`, `"complete-by"`} {
		if !strings.Contains(body.String(), want) {
			t.Errorf("the dashboard lacks %s: %s", want, body.String())
		}
	}
}

// The functions' settings of alerts, where it is not the default.
func TestAlertTimes(t *testing.T) {
	x := template(t, nil)
	same(t, "window", at(variables(x, "Scheduler"), "STEPKEEPER_ALERT_WINDOW"), nil)
	same(t, "reminder", at(variables(x, "Supervisor"), "STEPKEEPER_ALERT_AGAIN"), nil)
	x = template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Tuning.AlertWindow = time.Hour
		p.Tuning.AlertReminder = -1
	})
	for _, f := range []string{"Scheduler", "Supervisor"} {
		same(t, f+": window", at(variables(x, f), "STEPKEEPER_ALERT_WINDOW"), "1h0m0s")
		same(t, f+": reminder", at(variables(x, f), "STEPKEEPER_ALERT_AGAIN"), "0s")
	}
}

// What the command line and the client read.
func TestOutputs(t *testing.T) {
	x := template(t, nil)
	for name, want := range map[string]string{
		"EngineIntakeUrl": "Intake", "EngineControlUrl": "Control", "EngineRepliesUrl": "Replies",
		"EngineQuarantineUrl":      "Quarantine",
		"EngineRequestsPaymentUrl": "RequestsPayment", "EngineRequestsPaymentDeadUrl": "RequestsPaymentDead",
		"EngineOrdersTable": "Orders", "EngineDefinitionsTable": "Definitions", "EngineAlertsTopic": "Alerts",
		"EngineAlarmsTopic": "Alarms",
		"EngineShards":      "8", "EngineFinished": "false", "EngineVersion": "1",
		"EngineAgentPaymentFunction": "AgentPayment", "EngineConcurrency": "36",
		"EngineSharedConcurrency": "36", "EngineRelease": view.Built().String(),
		"EngineSchedulerFunction": "Scheduler", "EngineFairQueues": "false", "EnginePaused": "false",
		"EngineApplicationPolicy": "Application", "EngineOperatorPolicy": "Operator",
		"EngineSupervisorFunction": "Supervisor",
	} {
		same(t, "output "+name, target(x.Outputs[name].Value), want)
	}
	same(t, "logical name", x.Outputs["EngineRequestsPaymentUrl"].Description, "requests-payment")
	same(t, "agent's name", x.Outputs["EngineAgentPaymentFunction"].Description, "payment")
	d, problems := source.LoadFile("app/order.yaml",
		source.Options{KnownAgents: []string{"inventory", "payment", "shipping", "notification"}})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	stored, err := workflow.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "workflow's hash", x.Outputs["EngineWorkflowOrder"].Value, workflow.Hash(stored))
	same(t, "workflow's name", x.Outputs["EngineWorkflowOrder"].Description, "order")

	// The command line finds its way with them.
	values := map[string]string{}
	for name, o := range x.Outputs {
		values[name] = target(o.Value)
	}
	outputs, err := aws.ReadOutputs(values, "")
	if err != nil || outputs.Intake != "Intake" || outputs.Control != "Control" ||
		outputs.Quarantine != "Quarantine" || outputs.Orders != "Orders" || outputs.Shards != 8 {
		t.Errorf("read as %+v, %v", outputs, err)
	}
}

// Nothing has a physical name, so that two stacks live in one account, and two engines in one stack.
func TestSideBySide(t *testing.T) {
	needNode(t)
	app, first := newStack("First")
	p := shop(first)
	infra.NewStepkeeper(first, "Engine", p)
	infra.NewStepkeeper(first, "Another", p)
	second := awscdk.NewStack(app, str("Second"),
		&awscdk.StackProps{Env: &awscdk.Environment{Account: str(account), Region: str(region)}})
	infra.NewStepkeeper(second, "Engine", shop(second))
	for _, stack := range []awscdk.Stack{first, second} {
		x := read(t, stack)
		for id, o := range x.Outputs {
			same(t, id+": exported under a name of its own", o.Export, nil)
		}
		for id, r := range x.Resources {
			for property, value := range r.Properties {
				name := strings.TrimPrefix(r.Type[strings.LastIndex(r.Type, ":")+1:], "Global") + "Name"
				if (property == name || property == "Name") && r.Type != "AWS::Lambda::Permission" {
					t.Errorf("%s has the name %v of its own", id, value)
				}
			}
		}
	}
}

func str(s string) *string { return &s }

// Props that change much at once.
func TestVariants(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.CustomerManagedKey = true
		p.X86 = true
		p.FinishedOrders = true
		p.TaskTTL = 90 * 24 * time.Hour
		p.RemovalPolicy = awscdk.RemovalPolicy_DESTROY
		p.Replicas = []infra.Replica{{
			Region: "eu-west-1",
			KeyARN: "arn:aws:kms:eu-west-1:123456789012:key/k",
		}}
		p.Shards = 32
		p.Tuning.ReservedSupervisors = 1
	})
	for id, q := range x.of("AWS::SQS::Queue") { // rule 22: one option switches all
		same(t, id+": key", target(q.Properties["KmsMasterKeyId"]), "Key")
	}
	for id, topic := range x.of("AWS::SNS::Topic") {
		same(t, id+": key", target(topic.Properties["KmsMasterKeyId"]), "Key")
	}
	same(t, "keys", len(x.of("AWS::KMS::Key")), 1)
	for id, g := range x.of("AWS::Logs::LogGroup") {
		same(t, id+": key", target(g.Properties["KmsKeyId"]), "Key")
		same(t, id+": goes with the stack", g.DeletionPolicy, "Delete")
	}
	same(t, "key is renewed", x.of("AWS::KMS::Key")["Key"].Properties["EnableKeyRotation"], true)
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		same(t, id+": key", at(r.Properties, "SSESpecification", "SSEType"), "KMS")
		same(t, id+": Regions", len(list(r.Properties["Replicas"])), 2)
		same(t, id+": protection", at(r.Properties, "Replicas", 0, "DeletionProtectionEnabled"), false)
	}
	same(t, "TTL", at(x.of("AWS::DynamoDB::GlobalTable")["Orders"].Properties, "TimeToLiveSpecification",
		"AttributeName"), "expiresAt")
	var live []string // who sets or removes the time to live of a content
	for _, s := range allowed(x) {
		if slices.Contains(s.actions, "dynamodb:UpdateItem") {
			live = append(live, s.where+" "+strings.Join(s.resources, ","))
		}
	}
	slices.Sort(live)
	same(t, "rights to the time to live", live, "[SchedulerRole Orders SupervisorRole Orders]")
	for id, f := range x.of("AWS::Lambda::Function") {
		same(t, id+": architecture", at(f.Properties, "Architectures", 0), "x86_64")
	}
	scheduler := at(x.of("AWS::Lambda::Function")["Scheduler"].Properties, "Environment", "Variables")
	same(t, "shards", at(scheduler, "STEPKEEPER_SHARDS"), 32)
	same(t, "finished", at(scheduler, "STEPKEEPER_FINISHED"), true)
	same(t, "TTL reported", at(scheduler, "STEPKEEPER_TASK_TTL"), "2160h0m0s")
	same(t, "reserved",
		x.of("AWS::Lambda::Function")["Supervisor"].Properties["ReservedConcurrentExecutions"], 1)
}
