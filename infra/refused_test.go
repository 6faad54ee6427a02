package infra_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/build"
)

// refused is a mistake in the properties, with the texts that report it.
type refused struct {
	change func(t *testing.T, stack awscdk.Stack, p *infra.Props)
	want   []string
}

// refusal returns what synthesis reports, or "".
func refusal(synthesise func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = fmt.Sprint(r)
		}
	}()
	synthesise()
	return ""
}

// What cannot be deployed is reported at synthesis, all of it, before anything is built.
func TestRefused(t *testing.T) {
	needNode(t)
	for _, table := range []map[string]refused{
		refusedContent(), refusedBuilds(), refusedAccounts(), refusedSettings(), refusedResources(),
	} {
		for name, c := range table {
			t.Run(name, func(t *testing.T) {
				_, stack := newStack("Refused")
				p := shop(stack)
				text := refusal(func() {
					c.change(t, stack, p)
					infra.NewStepkeeper(stack, "Engine", p)
				})
				for _, want := range c.want {
					require.Contains(t, text, want)
				}
			})
		}
	}
}

// A step whose agent and timeout a test replaces.
const step = "{agent: payment, operation: run, timeout: 58s, grade: fenced, onFailure: undo, undo: none}"

// workflowFile writes a workflow of one step.
func workflowFile(t *testing.T, name, step string) string {
	t.Helper()
	file := name + ".yaml"
	return filepath.Join(folder(t, map[string]string{file: "workflow: " + name + "\nsteps:\n  a: " + step + "\n"}), file)
}

// payingBy gives the agent payment an agents file.
func payingBy(text string) func(*testing.T, awscdk.Stack, *infra.Props) {
	return func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
		t.Helper()
		dir := folder(t, map[string]string{"a.yaml": text})
		p.Agents["payment"] = infra.Agent{HTTP: filepath.Join(dir, "a.yaml")}
	}
}

func refusedContent() map[string]refused {
	quick := strings.Replace(step, "58s", "1s", 1)
	return map[string]refused{
		"a step that Lambda would cut off": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Workflows = append(p.Workflows, workflowFile(t, "long", step))
		}, []string{
			"long.yaml:3:",
			"the timeout of step a, 58s, is longer than agent payment can work at a time, 57s",
		}},
		"unknown agent, file without workflow": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			delete(p.Agents, "payment")
			p.Workflows = append(p.Workflows, t.TempDir())
		}, []string{"there is no agent payment", "holds no *.yaml"}},
		"children whose file is not there": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			dir := folder(t, map[string]string{
				"family.yaml": "workflow: family\nsteps:\n  all: {workflow: leaf}\n",
				"leaf.yaml":   "workflow: leaf\nsteps:\n  a: " + quick + "\n",
			})
			p.Workflows = append(p.Workflows, filepath.Join(dir, "family.yaml"))
		}, []string{"workflow family has children of the workflow leaf, which is not among Workflows; add its file"}},
		"children, and too few Schedulers": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			dir := folder(t, map[string]string{
				"family.yaml": "workflow: family\nsteps:\n  all: {workflow: leaf}\n",
				"leaf.yaml":   "workflow: leaf\nsteps:\n  a: " + quick + "\n",
			})
			p.Workflows = append(p.Workflows, dir)
			p.Tuning.ReservedSchedulers = 19
		}, []string{"Tuning.ReservedSchedulers is 19; 20 to 1000 are possible"}},
		"workflow twice": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Workflows = append(p.Workflows, p.Workflows[0])
		}, []string{"workflow order is already defined"}},
		"workflows that are not there": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Workflows = append(p.Workflows, "nowhere")
		}, []string{"workflows: ", "nowhere"}},
		"events without a bus": {func(t *testing.T, stack awscdk.Stack, p *infra.Props) {
			p.Workflows = []string{withEvents(t)}
			p.ReplyToBuses = map[string]awsevents.IEventBus{
				"shop": awsevents.NewEventBus(stack, str("Bus"), nil), "control": nil,
			}
		}, []string{
			"workflow order has events: true", `set ReplyToBuses["events"]`,
			`ReplyToBuses "shop" must`, `ReplyToBuses "control" must`,
		}},
		"secret that is not given": {
			payingBy("agents: {payment: {url: 'https://p.example', headers: {Authorization: '${env:TOKEN}'}}}"),
			[]string{`agent "payment": ${env:TOKEN} is neither in Secrets nor in Environment`},
		},
		"file without the agent": {
			payingBy("agents: {other: {url: 'https://p.example'}}"),
			[]string{`has no agent "payment"`},
		},
		"wrong in the file": {
			payingBy("agents: {payment: {url: 'ftp://p.example', batch: 50}}"),
			[]string{"begins with https", "batch is 50"},
		},
		"no YAML": {payingBy("agents: ["), []string{"a.yaml: line 1, column 9"}},
		"everything at once": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.SweepInterval = 90 * time.Second
			p.Agents["payment"] = infra.Agent{Folder: filepath.Join(t.TempDir(), "nowhere")}
			p.Agents["mail"] = infra.Agent{HTTP: "nowhere.yaml"}
			delete(p.Agents, "inventory")
			p.Workflows = append(p.Workflows, workflowFile(t, "bad", strings.Replace(step, "payment", "missing", 1)))
		}, []string{
			"Engine cannot be deployed:", "SweepInterval is 1m30s; 1m0s to 1h0m0s are possible",
			`agent "payment": Folder`, "holds no agent", "agents file nowhere.yaml", "there is no agent inventory",
			"there is no agent missing",
		}},
		"names that would clash": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			for _, name := range []string{"pay-1", "pay1", "payment-dead"} {
				p.Agents[name] = infra.Agent{External: true}
			}
			p.Workflows = append(p.Workflows, workflowFile(t, "order-1", quick), workflowFile(t, "order1", quick))
		}, []string{
			`agents "pay-1" and "pay1"`, `agents "payment" and "payment-dead"`,
			"workflows order-1 and order1",
		}},
	}
}

func refusedBuilds() map[string]refused {
	not := func(pkg string) func(*testing.T, awscdk.Stack, *infra.Props) {
		return func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Build = func(b build.Binary) error {
				if b.Package == pkg {
					return errors.New("no compiler")
				}
				return fake(b)
			}
		}
	}
	return map[string]refused{
		"Scheduler that does not build":  {not(build.Scheduler), []string{"function scheduler cannot be built: no compiler"}},
		"Supervisor that does not build": {not(build.Supervisor), []string{"function supervisor cannot be built: no compiler"}},
		"agent that does not build": {not(build.HTTPAgent), []string{
			"function agent-inventory cannot be built: no compiler",
			"function agent-payment cannot be built: no compiler",
		}},
		"build that writes nothing": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Build = func(build.Binary) error { return nil }
		}, []string{
			"function scheduler cannot be built: the app's Build returned no error, and the file Out is not there",
			"no such file",
		}},
		"folder that cannot be written": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Build = func(b build.Binary) error {
				folder := filepath.Join(filepath.Dir(b.Out), "scheduler")
				return errors.Join(fake(b), os.MkdirAll(folder, 0o700),
					os.WriteFile(filepath.Join(folder, "workflows"), nil, 0o600))
			}
		}, []string{"function scheduler cannot be built: ", "workflows: not a directory"}},
		"build that fails": {func(t *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Agents["payment"] = infra.Agent{
				Folder: folder(t, map[string]string{"main.go": "package main\n\nfunc main() { nothing() }\n"}),
			}
			p.Build = func(b build.Binary) error {
				if filepath.IsAbs(b.Package) {
					return build.Go(b)
				}
				return fake(b)
			}
		}, []string{"go build . in "}},
		"environment that is too large": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			for i := range 30 {
				id := fmt.Sprintf("department-%02d", i)
				p.ReplyTo[id] = awssqs.Queue_FromQueueArn(stack, &id,
					str(fmt.Sprintf("arn:aws:sqs:eu-west-1:%s:%s%02d", account, strings.Repeat("status", 13), i)))
			}
		}, []string{"function Scheduler: its environment would have some"}},
	}
}

func refusedAccounts() map[string]refused {
	return map[string]refused{
		"tables elsewhere": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Tables = infra.Tables{
				Orders:      "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders",
				Definitions: "arn:aws:dynamodb:eu-central-1:999999999999:table/Definitions",
			}
		}, []string{
			"Tables.Orders is in eu-west-1 and the stack in eu-central-1",
			"Tables.Definitions is of account 999999999999",
		}},
		"principals and a function of another account": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			p.Agents["notification"] = infra.Agent{
				External:   true,
				SenderARNs: []string{"arn:aws:iam::999999999999:role/mailer"},
			}
			p.Operators = []string{"arn:aws:iam::123456789012:role/near", "arn:aws:iam::999999999999:user/far"}
			p.Agents["shipping"] = foreignFunction(stack)
		}, []string{
			`agent "notification": SenderARNs has arn:aws:iam::999999999999:role/mailer of account 999999999999`,
			"Operators has arn:aws:iam::999999999999:user/far of account 999999999999, and the stack is of " + account,
			"assume a role of the stack's account",
			`agent "shipping" has a Function of account 999999999999, and the stack is of ` + account,
		}},
		"accounts of agents and submitters": {func(_ *testing.T, _ awscdk.Stack, p *infra.Props) {
			p.Submitters = []string{"*", "arn:aws:iam::999999999999:root", "arn:aws:iam::" + account + ":role/near"}
			p.Agents["shipping"] = infra.Agent{External: true, Account: "888", SenderARNs: []string{printerThere}}
			p.Agents["payment"] = infra.Agent{External: true, Account: "888888888888"}
			p.Agents["inventory"] = infra.Agent{HTTP: "app/agents.yaml", Account: "888888888888"}
			p.Agents["notification"] = infra.Agent{External: true, Account: account, SenderARNs: []string{webThere}}
		}, []string{
			`Submitters has "*"`, `Submitters has "arn:aws:iam::999999999999:root"`,
			"Submitters has arn:aws:iam::" + account + ":role/near of the stack's own account",
			`agent "shipping": Account is "888"; it must be the 12 digits`,
			`agent "payment": Account is set, and SenderARNs names no role of it`,
			`agent "inventory": Account is for external agents`,
			`agent "notification": SenderARNs has ` + webThere + ", which is not of its Account " + account,
			`agent "notification": Account is the stack's own, ` + account,
		}},
		"AlertTopic elsewhere": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			p.AlertTopic = awssns.Topic_FromTopicArn(stack, str("Far"), str("arn:aws:sns:eu-west-1:"+account+":far"))
		}, []string{"AlertTopic is in eu-west-1 and the stack in eu-central-1"}},
	}
}

// foreignFunction is an agent by a function of another account.
func foreignFunction(stack awscdk.Stack) infra.Agent {
	role := awsiam.Role_FromRoleArn(stack, str("Far"), str("arn:aws:iam::999999999999:role/f"), nil)
	return infra.Agent{Function: awslambda.Function_FromFunctionAttributes(stack, str("Function"),
		&awslambda.FunctionAttributes{
			FunctionArn: str("arn:aws:lambda:eu-central-1:999999999999:function:f"), Role: role,
		})}
}

func refusedSettings() map[string]refused {
	set := func(want string, change func(p *infra.Props)) refused {
		return refused{func(_ *testing.T, _ awscdk.Stack, p *infra.Props) { change(p) }, []string{want}}
	}
	bill := func(want string, change func(b *infra.Provisioned)) refused {
		return refused{func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			provisioned(stack, p)
			change(p.Billing)
		}, []string{want}}
	}
	long := strings.Repeat("p", 40)
	return map[string]refused{
		"capacity without reads": bill("`minCapacity` must be less than or equal to `maxCapacity`",
			func(b *infra.Provisioned) { b.Orders.Max.Reads = 0 }),
		"target of the utilisation": bill("`targetUtilizationPercent` cannot be less than 20 or greater than 90",
			func(b *infra.Provisioned) { b.Target = 95 }),
		"billing of a table that is there": set("Billing is for a table that the deployment makes",
			func(p *infra.Props) {
				p.Billing = &infra.Provisioned{}
				p.Tables.Orders = tableOf + "Orders"
			}),
		"prefix": set(`Names.Prefix is "a/b"; it must be a letter, then at most 39 letters, digits and hyphens`,
			func(p *infra.Props) { p.Names.Prefix = "a/b" }),
		"path": set(`Names.Path is "stepkeeper"; it must be a path such as /stepkeeper/`,
			func(p *infra.Props) { p.Names.Path = "stepkeeper" }),
		"long name": set("its name "+long+"-RequestsOfALongNameThatGoesOnAndOnAnOnDead would have 83 characters, and "+
			"AWS takes 80", func(p *infra.Props) {
			p.Names.Prefix = long
			p.Agents["of-a-long-name-that-goes-on-and-on-an-on"] = infra.Agent{External: true}
		}),
		"tag": set(`Tags has "aws:x": "1"; a key must have 1 to 128 characters and not begin with aws:`,
			func(p *infra.Props) { p.Tags = map[string]string{"aws:x": "1"} }),
		"profile": set(`Profile is "Test"; it must be ProfileProduction or ProfileDev`,
			func(p *infra.Props) { p.Profile = "Test" }),
		"level of alarms": set(`Alarms is "Some"; it must be AlarmsFull, AlarmsEssential or AlarmsNone`,
			func(p *infra.Props) { p.Alarms = "Some" }),
		"threshold": set(`Tuning.Thresholds["IntakeAge"] is -1 in 25 periods; a value above 0 and 1 to 24`,
			func(p *infra.Props) {
				p.Tuning.Thresholds = map[string]infra.Threshold{"IntakeAge": {Value: -1, Periods: 25}}
			}),
		"threshold of no alarm": set(`Tuning.Thresholds has "IntakeAgeAlarm"; it must be the ID of an alarm without `+
			"its ending Alarm", func(p *infra.Props) {
			p.Tuning.Thresholds = map[string]infra.Threshold{"IntakeAgeAlarm": {Value: 1}}
		}),
		"priority of nobody": set(`Priorities has "paiment"; it must be "intake" or the name of an agent`,
			func(p *infra.Props) { p.Priorities = map[string]int{"paiment": 2} }),
		"priority that is small": set(`Priorities["payment"] is 1; 2 to 3 are possible`,
			func(p *infra.Props) { p.Priorities = map[string]int{"payment": 1} }),
		"priority that is large": set(`Priorities["intake"] is 4; 2 to 3 are possible`,
			func(p *infra.Props) { p.Priorities = map[string]int{"intake": 4} }),
		"priority of an external agent": set(`Priorities has "far", which is External`, func(p *infra.Props) {
			p.Agents["far"] = infra.Agent{External: true}
			p.Priorities = map[string]int{"far": 2}
		}),
		"priority of an agent intake": set(`Priorities has "intake", which is an agent here too`, func(p *infra.Props) {
			p.Agents["intake"] = infra.Agent{External: true}
			p.Priorities = map[string]int{"intake": 2}
		}),
		"priority and a name that clashes": set(
			`agents "payment" and "payment-high": their names are too much alike`, func(p *infra.Props) {
				p.Agents["payment-high"] = infra.Agent{External: true}
				p.Priorities = map[string]int{"payment": 2}
			}),
		"many priorities": set("Priorities has 6 entries; 5 are possible", func(p *infra.Props) {
			p.Priorities = map[string]int{"a": 2, "b": 2, "c": 2, "d": 2, "e": 2, "f": 2}
		}),
		"canary without alarms": set("Canary rolls back on", func(p *infra.Props) {
			withCanary(nil, p)
			p.Alarms = infra.AlarmsNone
		}),
	}
}

func refusedResources() map[string]refused {
	return map[string]refused{
		"names whose alarms would have one ID": {func(t *testing.T, stack awscdk.Stack, p *infra.Props) {
			dir := folder(t, map[string]string{"a.yaml": "agents: {index: {url: 'https://p.example'}}"})
			p.Agents["index"] = infra.Agent{HTTP: filepath.Join(dir, "a.yaml")}
			p.ReplyTo = map[string]awssqs.IQueue{
				"a-b": awssqs.NewQueue(stack, str("One"), nil), "aB": awssqs.NewQueue(stack, str("Other"), nil),
			}
		}, []string{"two alarms would have the ID IndexThrottles", "two alarms would have the ID ABNotSent"}},
		"FIFO topic": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			p.AlarmTopic = awssns.NewTopic(stack, str("F"), &awssns.TopicProps{Fifo: jsii.Bool(true)})
		}, []string{"AlarmTopic is a FIFO topic; it must be a standard one"}},
		"AlarmEmail without a topic": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			p.AlertTopic = awssns.NewTopic(stack, str("Own"), nil)
			p.Alarms = infra.AlarmsNone
		}, []string{"AlarmEmail has no topic to subscribe to"}},
		"functions and a queue that cannot serve": {func(t *testing.T, stack awscdk.Stack, p *infra.Props) {
			short := newFunction(t, stack, "Short")
			p.Agents["payment"] = infra.Agent{Function: short, Timeout: 2 * time.Minute}
			p.Agents["inventory"] = infra.Agent{
				Function: awslambda.NewAlias(stack, str("Alias"), &awslambda.AliasProps{
					AliasName: str("now"),
					Version:   short.CurrentVersion(),
				}),
			}
			p.Agents["shipping"] = infra.Agent{
				Function: awslambda.Function_FromFunctionArn(stack, str("Foreign"),
					str("arn:aws:lambda:eu-central-1:123456789012:function:f")),
				Reserved: 20,
			}
			p.Agents["email"] = infra.Agent{Function: awslambda.NewFunction(stack, str("Long"), &awslambda.FunctionProps{
				Runtime: awslambda.Runtime_NODEJS_22_X(), Handler: str("index.handler"),
				Code: awslambda.Code_FromInline(str("x")), Timeout: awscdk.Duration_Seconds(jsii.Number(367)),
			}), Mapping: infra.Mapping{Window: 6 * time.Second}}
			p.ReplyTo["fifo"] = awssqs.Queue_FromQueueArn(stack, str("Fifo"),
				str("arn:aws:sqs:eu-central-1:123456789012:status.fifo"))
		}, []string{
			`agent "payment": Timeout is 2m0s, which is more than its function's own`,
			`agent "email": Timeout is 1m0s, so that its queue hides a message for 6m6s`,
			`"shipping": its function was imported without its role`,
			`agents "inventory" and "payment" have the same Function`, `"shipping": Reserved and VPC`,
			`ReplyTo "fifo" is a FIFO queue`,
		}},
		"dead letters": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			queue := func(id, of string) awssqs.IQueue {
				return awssqs.Queue_FromQueueArn(stack, &id, str("arn:aws:sqs:"+of+":"+account+":"+id))
			}
			one := queue("one", region)
			p.DeadLetters = map[string]awssqs.IQueue{
				"payment": one, "intake": one, "replies": one,
				"control": queue("two.fifo", region), "requests-payment": queue("far", "eu-west-1"),
			}
		}, []string{
			`DeadLetters has "payment"; it must be a queue for one of these: control, intake, replies, requests-`,
			`DeadLetters["intake"] and ["replies"] are one queue`, `DeadLetters["control"] is a FIFO queue`,
			`DeadLetters["requests-payment"] is of another account or Region`,
		}},
		"state of other properties": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			small := *p
			small.Workflows = []string{"testdata/linking.yaml"}
			p.State = infra.NewState(awscdk.NewStack(stack, str("Small"), nil), "State", &small)
			p.CustomerManagedKey = true
			p.TaskTTL = time.Hour
			p.Tables.Definitions = tableOf + "Definitions"
		}, []string{
			"which differ in the key, TaskTTL, Tables, the ledger of agent notification, the ledger of agent shipping; " +
				"give",
		}},
		"state of another Region": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			there := *p
			p.State = infra.NewState(awscdk.NewStack(stack, str("Far"), &awscdk.StackProps{Env: &awscdk.Environment{
				Account: str(account), Region: str("eu-west-1"),
			}}), "State", &there)
		}, []string{"State is in the stack RefusedFar", "of another account or Region"}},
		"state of a state": {func(_ *testing.T, stack awscdk.Stack, p *infra.Props) {
			own := *p
			p.State = infra.NewState(awscdk.NewStack(stack, str("Below"), nil), "State", &own)
			infra.NewState(awscdk.NewStack(stack, str("Other"), nil), "State", p)
		}, []string{"State is set already"}},
	}
}

// Props are checked without the CDK; one error lists everything.
func TestProps(t *testing.T) {
	props := &infra.Props{
		Shards: 5000, SweepInterval: 45 * time.Second, TaskTTL: time.Minute,
		Replicas:   []infra.Replica{{Region: "eu-west-1", KeyARN: "arn"}},
		AlarmEmail: "ops", TracesEndpoint: "10.0.0.5",
		Operators:     []string{"ops", "arn:aws:sts::123456789012:assumed-role/ops/me"},
		PagesPerSweep: 10_001, Tables: infra.Tables{
			Orders:  "orders",
			Ledgers: map[string]string{"missing": tableOf + "L"},
		},
		Tuning: infra.Tuning{
			MaxReceives: 2, ReservedSchedulers: 5,
			Warm:   infra.Warm{Orders: infra.Throughput{Writes: 5000}, Index: infra.Throughput{Writes: 100}},
			Intake: infra.Mapping{Batch: 11}, Replies: infra.Mapping{MaxConcurrency: 1},
		},
		Agents: map[string]infra.Agent{
			"Pay": {HTTP: "a.yaml", External: true},
			"supervisor": {
				External: true, SenderARNs: []string{"arn:aws:iam::123456789012:role/*"},
				SenderIDs: []string{"mailer"},
			},
			"mail": {
				Timeout: time.Second, Memory: 64, Reserved: 3,
				Environment: map[string]string{"STEPKEEPER_AGENT": "x", "TOKEN": "x", "MAIL-URL": "x"},
				Secrets:     map[string]infra.Secret{"TOKEN": {}},
			},
		},
		ReplyTo: map[string]awssqs.IQueue{"control": nil},
	}
	text := refusal(func() { infra.NewStepkeeper(nil, "Engine", props) })
	for _, want := range []string{
		"Shards is 5000", "SweepInterval is 45s", "TaskTTL is 1m0s", "Workflows names no file",
		"Tuning.MaxReceives is 2",
		"Tuning.Intake.Batch is 11", "Tuning.Replies.MaxConcurrency is 1",
		`agent "Pay": the name must be`, `agent "supervisor": the engine uses this name itself`,
		"exactly one of HTTP, Folder, Function and External must be set, not 2",
		"exactly one of HTTP, Folder, Function and External must be set, not 0", "Timeout is 1s",
		"Memory is 64", "secret TOKEN must be made with",
		"Replicas[0]", `ReplyTo "control"`, "the scope is missing", `AlarmEmail is "ops"`,
		`TracesEndpoint: the address of the collector is "10.0.0.5"`,
		`Operators has "ops"`, `Operators has "arn:aws:sts`,
		`SenderARNs has "arn:aws:iam::123456789012:role/*"`, `SenderIDs has "mailer"`,
		"Environment must not set STEPKEEPER_AGENT",
		"Environment must not set TOKEN", `Environment sets "MAIL-URL"`, "PagesPerSweep is 10001",
		"Tuning.ReservedSchedulers is 5; 11 to 1000", `agent "mail": Reserved is 3; 5 to 1000`,
		`Tables.Orders is "orders"`, `Tables.Ledgers: there is no agent "missing"`,
		"Tuning.Warm.Index is 100 writes", "Tuning.Warm.Orders is for a table that the deployment makes",
	} {
		require.Contains(t, text, want)
	}
}
