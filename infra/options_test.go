package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

const tableOf = "arn:aws:dynamodb:" + region + ":" + account + ":table/"

// warnings of the construct itself.
func warnings(stack awscdk.Stack) (all []string) {
	for _, m := range *assertions.Annotations_FromStack(stack).FindWarning(str("*"),
		assertions.Match_StringLikeRegexp(str("stepkeeper:.*"))) {
		//nolint:staticcheck // the type moves to a module that Go has no package of yet
		all = append(all, fmt.Sprint(m.Entry.Data))
	}
	return all
}

// Rule 14: a stack in the second Region uses the replicas, and does nothing until it is set to.
func TestStandby(t *testing.T) {
	var in awscdk.Stack
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		in = stack
		p.Paused = true
		p.Tables = infra.Tables{
			Orders: tableOf + "Shop-Orders", Definitions: tableOf + "Shop-Definitions",
			Ledgers: map[string]string{
				"shipping":     tableOf + "Shop-Ledger",
				"notification": tableOf + "Shop-Notices",
			},
			KeyARN: "arn:aws:kms:" + region + ":" + account + ":key/k",
		}
	})
	same(t, "tables made", len(x.of("AWS::DynamoDB::GlobalTable")), 0)
	same(t, "warnings", warnings(in), "[]")
	for _, function := range []string{"Scheduler", "Supervisor"} {
		for variable, want := range map[string]string{
			"ORDERS":      "Shop-Orders",
			"DEFINITIONS": "Shop-Definitions",
		} {
			same(t, function+": "+variable, at(variables(x, function), "STEPKEEPER_"+variable), want)
		}
	}
	same(t, "ledger", at(variables(x, "AgentShipping"), "STEPKEEPER_LEDGER"), "Shop-Ledger")
	same(t, "output", x.Outputs["EngineOrdersTable"].Value, "Shop-Orders")
	same(t, "output paused", x.Outputs["EnginePaused"].Value, "true")

	got := map[string][]string{}
	for _, s := range allowed(x) {
		if strings.HasPrefix(s.actions[0], "dynamodb:") || strings.HasPrefix(s.actions[0], "kms:") {
			got[s.where] = append(got[s.where], s.sid)
			for _, r := range s.resources {
				if !strings.HasPrefix(r, tableOf+"Shop-") && !strings.HasSuffix(r, ":key/k") {
					t.Errorf("%s, %s: %s", s.where, s.sid, r)
				}
			}
		}
	}
	same(t, "who may use them", got,
		"map[AgentNotificationRole:[Ledger TablesKey] AgentShippingRole:[Ledger TablesKey] "+
			"Application:[Read TablesKey] Operator:[Read TablesKey List] "+
			"SchedulerRole:[Orders Definitions TablesKey] SupervisorRole:[Due Orders Definitions TablesKey]]")
	for _, p := range loose(x) {
		t.Error(p)
	}

	for id, m := range x.of("AWS::Lambda::EventSourceMapping") {
		same(t, id+": takes messages", m.Properties["Enabled"], false)
	}
	same(t, "schedule", x.of("AWS::Scheduler::Schedule")["Schedule"].Properties["State"], "DISABLED")
	for id, a := range x.of("AWS::CloudWatch::Alarm") { // what is paused is not missed
		want := any(nil)
		if id == "NoSweepsAlarm" {
			want = false
		}
		same(t, id+": reports", a.Properties["ActionsEnabled"], want)
	}
	x = template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Paused = true
		p.EventBridgeRule = true
	})
	same(t, "rule", x.of("AWS::Events::Rule")["Rule"].Properties["State"], "DISABLED")
}

// After a restore, only what was restored is another table. What a new stack would lack is reported.
func TestRestoredTables(t *testing.T) {
	var in awscdk.Stack
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		in = stack
		p.Tables = infra.Tables{Orders: tableOf + "Orders-2"}
	})
	same(t, "tables made", slices.Sorted(maps.Keys(x.of("AWS::DynamoDB::GlobalTable"))),
		"[Definitions LedgerNotification LedgerShipping]")
	if w := strings.Join(warnings(in), " "); !strings.Contains(w,
		"does not name Definitions, Ledgers[notification], Ledgers[shipping]") {
		t.Errorf("warned of %q", w)
	}
}

// Settings that reach the functions and the tables.
func TestTuning(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.PagesPerSweep = 200
		p.FairQueues = true
		p.OutcomeMetrics = true
		p.TracesEndpoint = "http://10.0.0.5:4318"
		p.Tuning.SystemLogLevel = awslambda.SystemLogLevel_INFO
		p.Tuning.ReservedSchedulers = 60
		p.Tuning.IntakeRetention = 36 * time.Hour
		p.Priorities = map[string]int{"intake": 2}
		p.Tuning.Warm = infra.Warm{
			Orders: infra.Throughput{Writes: 20_000},
			Index:  infra.Throughput{Writes: 8_000, Reads: 15_000},
		}
		a := p.Agents["payment"]
		a.Reserved = 10
		p.Agents["payment"] = a
	})
	functions := x.of("AWS::Lambda::Function")
	tables := x.of("AWS::DynamoDB::GlobalTable")
	for queue, hours := range map[string]int{"Intake": 36, "IntakeHigh": 36, "Replies": 4 * 24} {
		same(t, queue+": hours kept", x.of("AWS::SQS::Queue")[queue].Properties["MessageRetentionPeriod"], hours*3600)
	}
	same(t, "pages", at(variables(x, "Supervisor"), "STEPKEEPER_SWEEP_PAGES"), 200)
	same(t, "fair queues", at(variables(x, "Scheduler"), "STEPKEEPER_FAIR_QUEUES"), "true")
	for _, f := range []string{"Scheduler", "Supervisor"} {
		same(t, f+": outcomes", at(variables(x, f), "STEPKEEPER_OUTCOMES"), "true")
	}
	for _, f := range []string{"Scheduler", "Supervisor", "AgentPayment"} {
		same(t, f+": traces", at(variables(x, f), "OTEL_EXPORTER_OTLP_ENDPOINT"), "http://10.0.0.5:4318")
	}
	same(t, "output", x.Outputs["EngineFairQueues"].Value, "true")
	same(t, "system log level", at(functions["AgentPayment"].Properties, "LoggingConfig", "SystemLogLevel"),
		"INFO")
	same(t, "reserved Schedulers", functions["Scheduler"].Properties["ReservedConcurrentExecutions"], 60)
	same(t, "reserved agents", functions["AgentPayment"].Properties["ReservedConcurrentExecutions"], 10)
	same(t, "other agents", functions["AgentShipping"].Properties["ReservedConcurrentExecutions"], nil)
	same(t, "output of what runs without reserved concurrency", x.Outputs["EngineSharedConcurrency"].Value,
		3*5+1)
	same(t, "warm index", at(tables["Orders"].Properties, "GlobalSecondaryIndexes", 0, "WarmThroughput"),
		"map[ReadUnitsPerSecond:15000 WriteUnitsPerSecond:8000]")
	same(t, "warm Orders", tables["Orders"].Properties["WarmThroughput"],
		"map[ReadUnitsPerSecond:12000 WriteUnitsPerSecond:20000]")

	x = template(t, nil)
	same(t, "Orders by default", x.of("AWS::DynamoDB::GlobalTable")["Orders"].Properties["WarmThroughput"],
		nil)
	for _, variable := range []string{
		"STEPKEEPER_SWEEP_PAGES", "STEPKEEPER_FAIR_QUEUES",
		"STEPKEEPER_OUTCOMES", "OTEL_EXPORTER_OTLP_ENDPOINT",
	} {
		same(t, variable+" by default", fmt.Sprint(at(variables(x, "Supervisor"), variable),
			at(variables(x, "Scheduler"), variable)), "<nil> <nil>")
	}
}

// P46: a queue with a share of the functions for orders of high priority, and who may send to it and take
// from it.
func TestPriorities(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		a := p.Agents["payment"]
		a.MaxConcurrency = 20
		a.Batch = 7
		p.Agents["payment"] = a
		p.Priorities = map[string]int{"intake": 2, "payment": 4}
	})
	mappings := map[string]string{}
	for id, m := range x.of("AWS::Lambda::EventSourceMapping") {
		if strings.HasPrefix(id, "Intake") || strings.HasPrefix(id, "AgentPayment") {
			mappings[id] = fmt.Sprint(target(m.Properties["EventSourceArn"]), " to ",
				target(m.Properties["FunctionName"]), " ", at(m.Properties, "ScalingConfig",
					"MaximumConcurrency"), " x ", m.Properties["BatchSize"])
		}
	}
	same(t, "mappings", mappings,
		"map[AgentPaymentHighMapping:RequestsPaymentHigh to AgentPayment 4 x 7 "+
			"AgentPaymentMapping:RequestsPayment to AgentPayment 16 x 7 "+
			"IntakeHighMapping:IntakeHigh to Scheduler 2 x 10 IntakeMapping:Intake to Scheduler 3 x 10]")
	queues := x.of("AWS::SQS::Queue")
	same(t, "visibility", queues["RequestsPaymentHigh"].Properties["VisibilityTimeout"],
		queues["RequestsPayment"].Properties["VisibilityTimeout"])
	same(t, "dead letters", target(at(queues["IntakeHigh"].Properties, "RedrivePolicy",
		"deadLetterTargetArn")), "IntakeHighDead")
	may := map[string][]string{}
	for _, s := range allowed(x) {
		for _, r := range s.resources {
			if r == "IntakeHigh" || r == "RequestsPaymentHigh" {
				may[r] = append(may[r], s.where+" "+s.sid)
			}
		}
	}
	for _, all := range may {
		slices.Sort(all)
	}
	same(t, "who may", may,
		"map[IntakeHigh:[Application Send Operator Depths Operator Send SchedulerRole Take] "+
			"RequestsPaymentHigh:[AgentPaymentRole Take Operator Depths Operator2 Redrive "+
			"SchedulerRole Send "+
			"SupervisorRole Backlog]]")
	for _, p := range loose(x) {
		t.Error(p)
	}
	policies := map[string]any{}
	for _, q := range x.of("AWS::SQS::QueuePolicy") {
		policies[target(at(q.Properties, "Queues", 0))] = q.Properties["PolicyDocument"]
	}
	same(t, "an application of the account sends to the intake",
		decide(t, policies["IntakeHigh"], role("arn:aws:iam::"+account+":role/app")), "")
	same(t, "one of another account",
		decide(t, policies["IntakeHigh"], role("arn:aws:iam::999999999999:role/app")), "Deny")
	same(t, "an application sends to an agent",
		decide(t, policies["RequestsPaymentHigh"], role("arn:aws:iam::"+account+":role/app")), "Deny")
	same(t, "the address that an agent knows",
		strings.Contains(fmt.Sprint(at(variables(x, "AgentPayment"), "STEPKEEPER_QUEUES")),
			"requests-payment-high"), true)
	same(t, "the capacity that the Supervisor knows",
		strings.Contains(fmt.Sprint(at(variables(x, "Supervisor"), "STEPKEEPER_CAPACITY")), `"payment":140`),
		true)
	same(t, "output", x.Outputs["EnginePriorities"].Value, "intake,payment")
	same(t, "output of the intake", target(x.Outputs["EngineIntakeHighUrl"].Value), "IntakeHigh")
	same(t, "output of the agent", target(x.Outputs["EngineRequestsPaymentHighUrl"].Value),
		"RequestsPaymentHigh")
	same(t, "output of what runs at once", x.Outputs["EngineConcurrency"].Value, 51)
	for _, id := range []string{
		"IntakeHighDeadAlarm", "IntakeHighAgeAlarm", "RequestsPaymentHighDeadAlarm",
		"RequestsPaymentHighAgeAlarm",
	} {
		if x.of("AWS::CloudWatch::Alarm")[id].Properties == nil {
			t.Errorf("no alarm %s", id)
		}
	}
}

// What Priorities may say.
func TestPrioritiesRefused(t *testing.T) {
	refusal := func(p *infra.Props) (text string) {
		defer func() { text = fmt.Sprint(recover()) }()
		infra.NewStepkeeper(nil, "Engine", p)
		return ""
	}
	for _, c := range []struct {
		priorities map[string]int
		agent      string
		want       string
	}{
		{
			map[string]int{"paiment": 2},
			"",
			`Priorities has "paiment"; it must be "intake" or the name of an agent`,
		},
		{map[string]int{"payment": 1}, "", `Priorities["payment"] is 1; 2 to 3 are possible`},
		{map[string]int{"intake": 4}, "", `Priorities["intake"] is 4; 2 to 3 are possible`},
		{map[string]int{"far": 2}, "far", `Priorities has "far", which is External`},
		{map[string]int{"intake": 2}, "intake", `Priorities has "intake", which is an agent here too`},
		{
			map[string]int{"payment": 2},
			"payment-high",
			`agents "payment" and "payment-high": their names are too much alike`,
		},
		{
			map[string]int{"a": 2, "b": 2, "c": 2, "d": 2, "e": 2, "f": 2},
			"",
			"Priorities has 6 entries; 5 are possible",
		},
	} {
		p := &infra.Props{
			Priorities: c.priorities,
			Agents:     map[string]infra.Agent{"payment": {HTTP: "agents.yaml"}},
		}
		if c.agent != "" {
			p.Agents[c.agent] = infra.Agent{External: true}
		}
		if text := refusal(p); !strings.Contains(text, c.want) {
			t.Errorf("%v: %s; want %s", c.priorities, text, c.want)
		}
	}
}

// The role of an agent's own function may be an operator's too: nothing depends on itself, which CDK finds
// here.
func TestAgentThatOperates(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	f := awslambda.NewFunction(stack, str("Own"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
		Code:    awslambda.Code_FromAsset(str("testdata"), nil),
		Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
	})
	p.Agents["payment"] = infra.Agent{Function: f}
	infra.NewStepkeeper(stack, "Engine", p).GrantOperate(f.Role())
	x := read(t, stack)
	same(t, "operator's policies", x.attached(x.id("AWS::IAM::Role", "OwnServiceRole")), "[Operator]")
}

// The outputs have the mapping of each queue under its own name; an external agent's has none.
func TestMappingsAreReported(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Agents["mail-2"] = infra.Agent{External: true}
	})
	same(t, "mappings", target(x.Outputs["EngineMappings"].Value),
		"control=ControlMapping,intake=IntakeMapping,replies=RepliesMapping,"+
			"requests-inventory=AgentInventoryMapping,requests-mail-2=,requests-notification=AgentNotificationMapping,"+
			"requests-payment=AgentPaymentMapping,requests-shipping=AgentShippingMapping")
	all := large(t)
	reported := 0
	for name, o := range all.Outputs {
		if !strings.HasPrefix(name, "EngineMappings") {
			continue
		}
		text := all.value(o.Value).(string)
		reported += strings.Count(text, "=01234567-89ab-")
		if len(text) > 1_024 {
			t.Errorf("%s has %d characters", name, len(text))
		}
	}
	same(t, "mappings of 20 agents, of two queues for high priority too", reported, 3+20+2)
}

// Rights are granted to nothing of another account: they would have no effect there.
func TestGrantsElsewhere(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	p.Agents["notification"] = infra.Agent{External: true}
	engine := infra.NewStepkeeper(stack, "Engine", p)
	far := awsiam.Role_FromRoleArn(stack, str("Mailer"), str("arn:aws:iam::999999999999:role/mailer"), nil)
	for what, grant := range map[string]func(){
		`GrantAgent: the role of agent "notification"`: func() { engine.GrantAgent("notification", far) },
		"GrantOperate: the role":                       func() { engine.GrantOperate(far) },
		"GrantSubmit: the principal":                   func() { engine.GrantSubmit(far) },
	} {
		func() {
			defer func() {
				want := what + " is of account 999999999999 and the stack of " + account
				if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
					t.Errorf("%s; want %q", text, want)
				}
			}()
			grant()
		}()
	}
}

// If the account of the stack is not known at synthesis, principals of two accounts are refused, and one of
// another account is possible.
func TestAccountsWithoutEnv(t *testing.T) {
	needNode(t)
	synthesize := func(id string, change func(awscdk.Stack, *infra.Props)) (reported, warned string) {
		stack := awscdk.NewStack(awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)}), &id,
			nil)
		p := shop(stack)
		change(stack, p)
		defer func() {
			if r := recover(); r != nil {
				reported = fmt.Sprint(r)
			}
			warned = strings.Join(warnings(stack), " ")
		}()
		infra.NewStepkeeper(stack, "Engine", p)
		return "", ""
	}
	function := func(stack awscdk.Stack, p *infra.Props) {
		role := awsiam.Role_FromRoleArn(stack, str("Far"), str("arn:aws:iam::999999999999:role/f"), nil)
		p.Agents["shipping"] = infra.Agent{Function: awslambda.Function_FromFunctionAttributes(stack,
			str("Function"), &awslambda.FunctionAttributes{
				FunctionArn: str("arn:aws:lambda:eu-central-1:999999999999:function:f"), Role: role,
			})}
	}
	for _, x := range []struct {
		name, operator, refused, warned string
		change                          func(awscdk.Stack, *infra.Props)
	}{
		{"none", "", "", "", func(awscdk.Stack, *infra.Props) {}},
		{
			"one", "arn:aws:iam::999999999999:role/ops", "",
			"Operators has arn:aws:iam::999999999999:role/ops of account 999999999999",
			func(awscdk.Stack, *infra.Props) {},
		},
		{"function", "", "", `agent "shipping" has a Function of account 999999999999`, function},
		{"same", "arn:aws:iam::999999999999:role/ops", "", "of account 999999999999", function},
		{"other", "arn:aws:iam::111122223333:role/ops", `agent "shipping" has a Function of account 999999999999, and Operators has arn:aws:iam::111122223333:role/ops of account 111122223333`, "", function},
	} {
		reported, warned := synthesize(x.name, func(stack awscdk.Stack, p *infra.Props) {
			if x.operator != "" {
				p.Operators = []string{x.operator}
			}
			x.change(stack, p)
		})
		if !strings.Contains(reported, x.refused) || (x.refused == "") != (reported == "") {
			t.Errorf("%s: refused with %q, want %q", x.name, reported, x.refused)
		}
		if x.refused == "" && (!strings.Contains(warned, x.warned) ||
			(x.warned == "") == strings.Contains(warned, "set StackProps.Env")) {
			t.Errorf("%s: warned of %q, want %q", x.name, warned, x.warned)
		}
	}
}

// Grants name what is allowed, and let the queues know.
func TestGrants(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	p.CustomerManagedKey = true
	p.Agents["notification"] = infra.Agent{
		External:   true,
		SenderARNs: []string{"arn:aws:iam::123456789012:role/first"},
	}
	engine := infra.NewStepkeeper(stack, "Engine", p)
	role := func(id string) awsiam.Role {
		return awsiam.NewRole(stack, &id,
			&awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(str("ecs-tasks.amazonaws.com"), nil)})
	}
	engine.GrantSubmit(role("Web"))
	engine.GrantOperate(role("Ops"))
	engine.GrantAgent("notification", role("Mailer"))
	table := awsdynamodb.NewTableV2(stack, str("Parcels"),
		&awsdynamodb.TablePropsV2{PartitionKey: &awsdynamodb.Attribute{
			Name: str("id"),
			Type: awsdynamodb.AttributeType_STRING,
		}})
	table.Grant(engine.Agent("shipping"), str("dynamodb:GetItem"))
	if engine.Agent("notification") != nil || engine.Agent("scheduler") != nil ||
		engine.Requests("missing") != nil {
		t.Error("there is a function of an external agent, of no agent, or a queue of no agent")
	}
	x := read(t, stack)
	who := map[string][]string{}
	for _, s := range allowed(x) {
		if s.sid == "<nil>" { // of the app's own
			same(t, "the agent's own right", fmt.Sprint(s.actions, s.resources),
				"[dynamodb:GetItem] [Parcels]")
			continue
		}
		for _, id := range []string{"Web", "Ops", "Mailer"} {
			if strings.HasPrefix(s.where, id) {
				who[id] = append(who[id], s.sid)
			}
		}
	}
	same(t, "grants", who, "map[Mailer:[Take Send Ledger Key] Ops:[OwnRights] Web:[Send Read Outputs Key]]")
	// Of its first sender only the ARN is known: that of the second alone would have the first's replies
	// refused.
	if text := fmt.Sprint(at(variables(x, "Scheduler"), "STEPKEEPER_AGENTS")); strings.Contains(text,
		"Mailer") {
		t.Errorf("replies are checked against %s", text)
	}
	same(t, "operator's policies", x.attached(x.id("AWS::IAM::Role", "Ops")), "[Operator Operator2]")
	senders := map[string]string{}
	for _, policy := range x.of("AWS::SQS::QueuePolicy") {
		for _, s := range list(at(policy.Properties, "PolicyDocument", "Statement")) {
			var names []string
			for _, arn := range list(at(s, "Condition", "ArnNotEquals", "aws:PrincipalArn")) {
				names = append(names, strings.TrimSuffix(target(arn), "Role"))
			}
			if len(names) > 0 {
				senders[target(at(policy.Properties, "Queues", 0))] = strings.Join(names, " ")
			}
		}
	}
	const first = "arn:aws:iam::123456789012:role/first"
	agents := "AgentInventory " + first + " AgentPayment AgentShipping Ops Mailer"
	for queue, want := range map[string]string{
		"Replies": agents, "Quarantine": "Scheduler " + agents, "RequestsPayment": "Scheduler Ops",
		"RequestsNotification": "Scheduler Ops",
	} {
		same(t, queue+": senders", senders[queue], want)
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, `"payment" is not an external agent`) {
			t.Errorf("an agent of the deployment's own was granted: %s", text)
		}
	}()
	engine.GrantAgent("payment", role("Other"))
}

// Rule 22: a key of the app's own serves as one that is made does: alarms may publish with it. Of one
// that was made elsewhere a warning says that they cannot be let here.
func TestKeys(t *testing.T) {
	for name, key := range map[string]func(awscdk.Stack) awskms.IKey{
		"made":   func(awscdk.Stack) awskms.IKey { return nil },
		"of app": func(s awscdk.Stack) awskms.IKey { return awskms.NewKey(s, str("Own"), nil) },
		"imported": func(s awscdk.Stack) awskms.IKey {
			return awskms.Key_FromKeyArn(s, str("Own"), str("arn:aws:kms:eu-central-1:123456789012:key/k"))
		},
	} {
		var in awscdk.Stack
		x := template(t, func(stack awscdk.Stack, p *infra.Props) {
			in = stack
			p.CustomerManagedKey = true
			p.Key = key(stack)
		})
		var services []string
		for _, k := range x.of("AWS::KMS::Key") {
			for _, s := range list(at(k.Properties, "KeyPolicy", "Statement")) {
				if service := at(s, "Principal", "Service"); service != nil {
					services = append(services, fmt.Sprint(service))
				}
			}
		}
		want := "[cloudwatch.amazonaws.com events.amazonaws.com logs.eu-central-1.amazonaws.com]"
		reported := 0
		if name == "imported" {
			want = "[]"
			reported = 1
		}
		same(t, name+": services that may use it", services, want)
		same(t, name+": warnings", len(warnings(in)), reported)
		same(t, name+": output", x.Outputs["EngineKeyArn"].Value != nil, true)
	}
	_, there := template(t, nil).Outputs["EngineKeyArn"]
	same(t, "output without a key", there, false)
}

// A stack that does not say where it goes can have a key too.
func TestKeyAnywhere(t *testing.T) {
	needNode(t)
	stack := awscdk.NewStack(awscdk.NewApp(nil), str("Anywhere"), nil)
	p := shop(stack)
	p.CustomerManagedKey = true
	infra.NewStepkeeper(stack, "Engine", p)
	x := read(t, stack)
	var services []string
	for _, s := range list(at(x.of("AWS::KMS::Key")["Key"].Properties, "KeyPolicy", "Statement")) {
		if service := at(s, "Principal", "Service"); service != nil {
			services = append(services, target(service))
		}
	}
	same(t, "services that may use it", services,
		"[cloudwatch.amazonaws.com events.amazonaws.com logs.AWS::Region.amazonaws.com]")
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		same(t, id+": key", at(r.Properties, "SSESpecification", "SSEType"), "KMS")
		same(t, id+": key's ID", target(at(r.Properties, "Replicas", 0, "SSESpecification",
			"KMSMasterKeyId")), "Key")
	}
}
