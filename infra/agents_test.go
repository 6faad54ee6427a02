package infra_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

func variables(x tmpl, function string) any {
	return at(x.of("AWS::Lambda::Function")[function].Properties, "Environment", "Variables")
}

// withSecrets gives the payment agent a file that needs two of them.
func withSecrets(stack awscdk.Stack, p *infra.Props) {
	file, err := os.CreateTemp("", "agents-*.yaml")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	_, _ = file.WriteString(
		"agents: {payment: {url: '${env:PAYMENT_URL}', headers: {Authorization: 'Bearer ${env:TOKEN}', " +
			"X-Shop: '${env:SHOP}'}}}\n")
	secret := awssecretsmanager.Secret_FromSecretCompleteArn(stack, str("Token"),
		str("arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay-AbCdEf"))
	parameter := awsssm.StringParameter_FromSecureStringParameterAttributes(stack, str("Url"),
		&awsssm.SecureStringParameterAttributes{ParameterName: str("/pay/url")})
	p.Agents["payment"] = infra.Agent{
		HTTP: file.Name(), Environment: map[string]string{"SHOP": "one"},
		Secrets: map[string]infra.Secret{
			"TOKEN":       infra.SecretValue(secret, "token", nil),
			"PAYMENT_URL": infra.ParameterValue(parameter, nil),
		},
	}
}

// Secrets go by reference: the template says where they are, and the agent alone may read them.
func TestSecrets(t *testing.T) {
	x := template(t, withSecrets)
	same(
		t,
		"where",
		at(variables(x, "AgentPayment"), "STEPKEEPER_SECRETS"),
		`{"PAYMENT_URL":{"parameter":"/pay/url"},"TOKEN":{"field":"token","secret":"arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay-AbCdEf"}}`,
	)
	same(t, "others' secrets", at(variables(x, "AgentShipping"), "STEPKEEPER_SECRETS"), nil)
	var who []string
	for _, s := range allowed(x) {
		for _, a := range s.actions {
			if strings.HasPrefix(a, "secretsmanager:") || strings.HasPrefix(a, "ssm:") {
				who = append(who, fmt.Sprint(s.where, " ", a, " ", s.resources))
			}
		}
	}
	slices.Sort(who)
	same(t, "who may", strings.Join(who, "; "),
		"AgentPaymentRole secretsmanager:GetSecretValue "+
			"[arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay-AbCdEf]; "+
			"AgentPaymentRole ssm:GetParameter "+
			"[arn:AWS::Partition:ssm:eu-central-1:123456789012:parameter/pay/url]")
}

// An agent that calls services of AWS may call those of its entries, and nothing else.
func TestCallsOfAWS(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents.yaml")
	const place = ":eu-central-1:111122223333:"
	err := os.WriteFile(
		file,
		[]byte("agents: {payment: {aws: {invoke: 'arn:aws:lambda"+place+"function:charge'}, "+
			"operations: {charge: {}, refund: {aws: {invoke: "+
			"'arn:aws:lambda:eu-central-1:${env:ACCOUNT}:function:refund'}}, "+
			"put: {aws: {putEvents: 'arn:aws:events"+place+"event-bus/shop'}}, "+
			"say: {aws: {publish: 'arn:aws:sns"+place+"orders'}}, "+
			"send: {aws: {send: 'https://sqs.eu-central-1.amazonaws.com/111122223333/orders'}}, "+
			"wait: {aws: {startExecution: 'arn:aws:states"+place+"stateMachine:short', express: true}}, "+
			"start: {aws: {startExecution: 'arn:aws:states"+place+"stateMachine:long'}}}}}"),
		0o600,
	)
	if err != nil {
		t.Fatal(err)
	}
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Agents["payment"] = infra.Agent{
			HTTP:        file,
			Environment: map[string]string{"ACCOUNT": "111122223333"},
		}
	})
	var may []string
	for _, s := range allowed(x) {
		if s.where == "AgentPaymentRole" {
			for _, r := range s.resources {
				if strings.Contains(r, "111122223333") {
					may = append(may, fmt.Sprint(s.actions, " ", strings.ReplaceAll(r, place, " ")))
				}
			}
		}
	}
	slices.Sort(may)
	same(t, "what it may", strings.Join(may, "\n"), strings.Join([]string{
		"[events:PutEvents] arn:aws:events event-bus/shop",
		"[lambda:InvokeFunction] arn:aws:lambda function:charge",
		"[lambda:InvokeFunction] arn:aws:lambda function:refund",
		"[sns:Publish] arn:aws:sns orders",
		"[sqs:SendMessage] arn:aws:sqs orders",
		"[states:DescribeExecution] arn:aws:states execution:long:*",
		"[states:StartExecution] arn:aws:states stateMachine:long",
		"[states:StartSyncExecution] arn:aws:states stateMachine:short",
	}, "\n"))
}

// An agent that submits orders may send to the intake queue, and knows its address.
func TestAnAgentThatSubmitsOrders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents.yaml")
	require.NoError(t, os.WriteFile(file, []byte("agents: {payment: {orders: true}}"), 0o600))
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Agents["payment"] = infra.Agent{HTTP: file} })
	var may []string
	for _, s := range allowed(x) {
		if slices.Contains(s.actions, "sqs:SendMessage") && slices.ContainsFunc(s.resources,
			func(r string) bool { return strings.Contains(r, "Intake") }) {
			may = append(may, s.where)
		}
	}
	require.Contains(t, may, "AgentPaymentRole")
	require.NotContains(t, may, "AgentInventoryRole")
	require.Contains(t, fmt.Sprint(at(variables(x, "AgentPayment"), "STEPKEEPER_QUEUES")), "intake")
}

// An agent that signs for an API of the account may call this API alone.
func TestSignedCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents.yaml")
	err := os.WriteFile(file, []byte("agents: {payment: {auth: {sigv4: {service: execute-api}}, "+
		"url: 'https://abc123.execute-api.eu-west-1.amazonaws.com/prod'}}"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	x := template(t, func(_ awscdk.Stack, p *infra.Props) { p.Agents["payment"] = infra.Agent{HTTP: file} })
	var may []string
	for _, s := range allowed(x) {
		if slices.Contains(s.actions, "execute-api:Invoke") {
			may = append(may, fmt.Sprint(s.where, s.actions, s.resources))
		}
	}
	same(t, "who may", may, "[AgentPaymentRole[execute-api:Invoke] "+
		"[arn:AWS::Partition:execute-api:eu-west-1:123456789012:abc123/*]]")
}

// Each kind of agent: a folder, a function of the app's own, one that was imported, a process elsewhere.
func TestKindsOfAgents(t *testing.T) {
	var built []build.Binary
	folder := t.TempDir()
	code := t.TempDir()
	for _, place := range []string{filepath.Join(code, "bootstrap"), filepath.Join(folder, "main.go")} {
		if err := os.WriteFile(place, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		p.Build = func(b build.Binary) error { built = append(built, b); return fake(b) }
		p.Agents["payment"] = infra.Agent{Folder: folder, Memory: 512}
		p.Agents["shipping"] = infra.Agent{Function: awslambda.NewFunction(stack, str("Mine"),
			&awslambda.FunctionProps{
				Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
				Timeout: awscdk.Duration_Minutes(jsii.Number(2)),
				Code:    awslambda.Code_FromAsset(str(code), nil),
			}), Timeout: 2 * time.Minute}
		p.Agents["notification"] = infra.Agent{
			External:   true,
			SenderARNs: []string{"arn:aws:iam::123456789012:role/printer"},
		}
	})
	same(t, "functions", len(x.of("AWS::Lambda::Function")), 5)
	var packages []string
	for _, b := range built {
		packages = append(packages, strings.TrimPrefix(b.Package, "github.com/stepkeeper/stepkeeper/"))
	}
	same(t, "built once each", packages,
		fmt.Sprint([]string{
			"functions/scheduler/bootstrap", "functions/supervisor/bootstrap",
			"functions/agent/bootstrap", folder,
		}))
	same(t, "memory", x.of("AWS::Lambda::Function")["AgentPayment"].Properties["MemorySize"], 512)

	var mine resource
	for id, r := range x.Resources {
		if r.Type == "AWS::Lambda::Function" && strings.HasPrefix(id, "Mine") {
			mine = r
		}
	}
	same(t, "own function's guard", mine.Properties["RecursiveLoop"], "Allow")
	same(t, "own function's name as an agent",
		at(mine.Properties, "Environment", "Variables", "STEPKEEPER_AGENT"), "shipping")
	same(t, "own function's ledger",
		target(at(mine.Properties, "Environment", "Variables", "STEPKEEPER_LEDGER")), "LedgerShipping")
	same(t, "own function's queue",
		x.of("AWS::SQS::Queue")["RequestsShipping"].Properties["VisibilityTimeout"], 720)
	same(t, "mappings", len(x.of("AWS::Lambda::EventSourceMapping")), 6)
	_, queue := x.of("AWS::SQS::Queue")["RequestsNotification"]
	same(t, "an external agent's queue", queue, true)
}

// A function of an application that takes statuses and sends orders may go round; one from elsewhere cannot
// be set.
func TestAllowLoop(t *testing.T) {
	needNode(t)
	_, stack := newStack("Loop")
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "bootstrap"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	function := func(id string) awslambda.Function {
		return awslambda.NewFunction(stack, str(id), &awslambda.FunctionProps{
			Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
			Code: awslambda.Code_FromAsset(str(code), nil),
		})
	}
	engine := infra.NewStepkeeper(stack, "Engine", shop(stack))
	function("Stopped")
	engine.AllowLoop(function("Allowed"))
	refused := func(what, want string, call func()) {
		defer func() {
			if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
				t.Errorf("%s: %s, want %q", what, text, want)
			}
		}()
		call()
	}
	refused("imported function", "the function was made elsewhere; set RecursiveLoop: Allow there", func() {
		const arn = "arn:aws:lambda:eu-central-1:123456789012:function:f"
		engine.AllowLoop(awslambda.Function_FromFunctionArn(stack, str("Foreign"), str(arn)))
	})
	found := 0
	for id, r := range read(t, stack).of("AWS::Lambda::Function") {
		switch {
		case strings.HasPrefix(id, "Allowed"):
			found++
			same(t, id, r.Properties["RecursiveLoop"], "Allow")
		case strings.HasPrefix(id, "Stopped"):
			found++
			same(t, id, r.Properties["RecursiveLoop"], nil)
		}
	}
	same(t, "functions of the application", found, 2)
}

// What cannot be deployed is reported at synthesis, all of it, before anything is built.
func TestRefused(t *testing.T) {
	needNode(t)
	write := func(name, text string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	notBuilt := func(pkg string) func(p *infra.Props) {
		return func(p *infra.Props) {
			p.Build = func(b build.Binary) error {
				if b.Package == pkg {
					return errors.New("no compiler")
				}
				return fake(b)
			}
		}
	}
	const step = "{agent: payment, operation: run, timeout: 58s, grade: fenced, onFailure: undo, undo: none}"
	for _, c := range []struct {
		name   string
		change func(p *infra.Props)
		want   []string
	}{
		{"a step that Lambda would cut off", func(p *infra.Props) {
			p.Workflows = append(p.Workflows, write("long.yaml", "workflow: long\nsteps:\n  a: "+step+"\n"))
		}, []string{
			"long.yaml:3:",
			"the timeout of step a, 58s, is longer than agent payment can work at a time, 57s",
		}},
		{"unknown agent, file without workflow", func(p *infra.Props) {
			delete(p.Agents, "payment")
			p.Workflows = append(p.Workflows, t.TempDir())
		}, []string{"there is no agent payment", "holds no *.yaml"}},
		{"half a minute", func(p *infra.Props) {
			p.SweepInterval = 90 * time.Second
		}, []string{"SweepInterval is 1m30s; 1m0s to 1h0m0s are possible"}},
		{
			"children whose file is not there", func(p *infra.Props) {
				parent := write("family.yaml", "workflow: family\nsteps:\n  all: {workflow: leaf}\n")
				child := "workflow: leaf\nsteps:\n  a: {agent: payment, operation: run, timeout: 5s, grade: " +
					"fenced, onFailure: undo, undo: none}\n"
				if err := os.WriteFile(filepath.Join(filepath.Dir(parent), "leaf.yaml"), []byte(child),
					0o600); err != nil {
					t.Fatal(err)
				}
				p.Workflows = append(p.Workflows, parent)
			},
			[]string{
				"workflow family has children of the workflow leaf, which is not among Workflows; add its " +
					"file",
			},
		},
		{"workflow twice", func(p *infra.Props) {
			p.Workflows = append(p.Workflows, p.Workflows[0])
		}, []string{"workflow order is already defined"}},
		{"secret that is not given", func(p *infra.Props) {
			p.Agents["payment"] = infra.Agent{HTTP: write("a.yaml",
				"agents: {payment: {url: 'https://p.example', headers: {Authorization: '${env:TOKEN}'}}}")}
		}, []string{`agent "payment": ${env:TOKEN} is neither in Secrets nor in Environment`}},
		{"file without the agent", func(p *infra.Props) {
			p.Agents["payment"] = infra.Agent{HTTP: write("a.yaml",
				"agents: {other: {url: 'https://p.example'}}")}
		}, []string{`has no agent "payment"`}},
		{"wrong in the file", func(p *infra.Props) {
			p.Agents["payment"] = infra.Agent{HTTP: write("a.yaml",
				"agents: {payment: {url: 'ftp://p.example', batch: 50}}")}
		}, []string{"begins with https", "batch is 50"}},
		{"no YAML", func(p *infra.Props) {
			p.Agents["payment"] = infra.Agent{HTTP: write("a.yaml", "agents: [")}
		}, []string{"a.yaml: line 1, column 9"}},
		{
			"Scheduler that does not build", notBuilt(build.Scheduler),
			[]string{"function scheduler cannot be built: no compiler"},
		},
		{
			"Supervisor that does not build", notBuilt(build.Supervisor),
			[]string{"function supervisor cannot be built: no compiler"},
		},
		{
			"agent that does not build", notBuilt(build.HTTPAgent),
			[]string{
				"function agent-inventory cannot be built: no compiler",
				"function agent-payment cannot be built: no compiler",
			},
		},
		{"workflows that are not there", func(p *infra.Props) {
			p.Workflows = append(p.Workflows, "nowhere")
		}, []string{"workflows: ", "nowhere"}},
		{
			"build that writes nothing", func(p *infra.Props) {
				p.Build = func(build.Binary) error { return nil }
			},
			[]string{
				"function scheduler cannot be built: the app's Build returned no error, and the file Out " +
					"is not there", "no such file",
			},
		},
		{"folder that cannot be written", func(p *infra.Props) {
			p.Build = func(b build.Binary) error {
				folder := filepath.Join(filepath.Dir(b.Out), "scheduler")
				return errors.Join(fake(b), os.MkdirAll(folder, 0o700),
					os.WriteFile(filepath.Join(folder, "workflows"), nil, 0o600))
			}
		}, []string{"function scheduler cannot be built: ", "workflows: not a directory"}},
		{"everything at once", func(p *infra.Props) {
			p.SweepInterval = 45 * time.Second
			p.Agents["payment"] = infra.Agent{Folder: filepath.Join(t.TempDir(), "nowhere")}
			p.Agents["mail"] = infra.Agent{HTTP: "nowhere.yaml"}
			delete(p.Agents, "inventory")
			p.Workflows = append(p.Workflows, write("bad.yaml",
				"workflow: bad\nsteps:\n  a: "+strings.Replace(step, "payment", "missing", 1)+"\n"))
		}, []string{
			"Engine cannot be deployed:", "SweepInterval is 45s", `agent "payment": Folder`,
			"holds no agent", "open nowhere.yaml", "there is no agent inventory",
			"there is no agent missing",
		}},
		{"names that would clash", func(p *infra.Props) {
			p.Agents["pay-1"] = infra.Agent{External: true}
			p.Agents["pay1"] = infra.Agent{External: true}
			p.Agents["payment-dead"] = infra.Agent{External: true}
			p.Workflows = append(p.Workflows, write("a.yaml", "workflow: order-1\nsteps:\n  a: "+
				strings.Replace(step, "58s", "1s", 1)+"\n"),
				write("b.yaml", "workflow: order1\nsteps:\n  a: "+strings.Replace(step, "58s", "1s", 1)+"\n"))
		}, []string{
			`agents "pay-1" and "pay1"`, `agents "payment" and "payment-dead"`,
			"workflows order-1 and order1",
		}},
		{"tables elsewhere", func(p *infra.Props) {
			p.Tables = infra.Tables{
				Orders:      "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders",
				Definitions: "arn:aws:dynamodb:eu-central-1:999999999999:table/Definitions",
			}
			p.Replicas = []infra.Replica{{Region: region}}
		}, []string{
			"Tables.Orders is in eu-west-1 and the stack in eu-central-1",
			"Tables.Definitions is of account 999999999999", "Replicas[0] is the stack's own Region",
		}},
		{
			"an external agent of another account", func(p *infra.Props) {
				p.Agents["notification"] = infra.Agent{
					External:   true,
					SenderARNs: []string{"arn:aws:iam::999999999999:role/mailer"},
				}
			},
			[]string{
				`agent "notification": SenderARNs has arn:aws:iam::999999999999:role/mailer of account 999999999999`, "assume a role of the stack's account",
			},
		},
		{
			"an operator of another account", func(p *infra.Props) {
				p.Operators = []string{
					"arn:aws:iam::123456789012:role/near",
					"arn:aws:iam::999999999999:user/far",
				}
			},
			[]string{
				"Operators has arn:aws:iam::999999999999:user/far of account 999999999999, and the stack " +
					"is of " + account, "assume a role of the stack's account",
			},
		},
		{"build that fails", func(p *infra.Props) {
			p.Agents["payment"] = infra.Agent{
				Folder: filepath.Dir(write("main.go", "package main\n\nfunc main() { nothing() }\n")),
			}
			p.Build = func(b build.Binary) error {
				if filepath.IsAbs(b.Package) {
					return build.Go(b)
				}
				return fake(b)
			}
		}, []string{"go build . in "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, stack := newStack("Refused")
			p := shop(stack)
			c.change(p)
			defer func() {
				text := fmt.Sprint(recover())
				for _, want := range c.want {
					if !strings.Contains(text, want) {
						t.Errorf("%q is not reported in %s", want, text)
					}
				}
			}()
			infra.NewStepkeeper(stack, "Engine", p)
			t.Error("it was accepted")
		})
	}
}

// Props are checked without the CDK; one error lists everything.
func TestProps(t *testing.T) {
	defer func() {
		text := fmt.Sprint(recover())
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
			"Subnets and SecurityGroups are for", "Environment must not set AWS_REGION",
			"Environment must not set TOKEN", "PagesPerSweep is 10001",
			"Tuning.ReservedSchedulers is 5; 11 to 1000", `agent "mail": Reserved is 3; 5 to 1000`,
			`Tables.Orders is "orders"`, `Tables.Ledgers: there is no agent "missing"`,
			"\nSubnets and SecurityGroups are for",
			"Tuning.Warm.Index is 100 writes", "Tuning.Warm.Orders is for a table that the deployment makes",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not reported in\n%s", want, text)
			}
		}
	}()
	infra.NewStepkeeper(nil, "Engine", &infra.Props{
		Shards: 5000, SweepInterval: 45 * time.Second, TaskTTL: time.Minute,
		Replicas:   []infra.Replica{{Region: "eu-west-1", KeyARN: "arn"}},
		AlarmEmail: "ops", TracesEndpoint: "10.0.0.5",
		Operators:     []string{"ops", "arn:aws:sts::123456789012:assumed-role/ops/me"},
		PagesPerSweep: 10_001, Subnets: &awsec2.SubnetSelection{}, Tables: infra.Tables{
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
				Timeout: time.Second, Memory: 64, Reserved: 3, Subnets: &awsec2.SubnetSelection{},
				Environment: map[string]string{"AWS_REGION": "x", "TOKEN": "x"},
				Secrets:     map[string]infra.Secret{"TOKEN": {}},
			},
		},
		ReplyTo: map[string]awssqs.IQueue{"control": nil},
	})
}

// A function of another account cannot have an event source mapping of the stack's.
func TestAFunctionElsewhere(t *testing.T) {
	needNode(t)
	_, stack := newStack("Elsewhere")
	p := shop(stack)
	p.Agents["shipping"] = infra.Agent{Function: awslambda.Function_FromFunctionAttributes(stack,
		str("Function"), &awslambda.FunctionAttributes{
			FunctionArn: str("arn:aws:lambda:eu-central-1:999999999999:function:f"),
			Role: awsiam.Role_FromRoleArn(stack, str("Far"), str("arn:aws:iam::999999999999:role/f"),
				nil),
		})}
	defer func() {
		want := `agent "shipping" has a Function of account 999999999999, and the stack is of ` + account
		if text := fmt.Sprint(recover()); !strings.Contains(text, want) {
			t.Errorf("%s; want %q", text, want)
		}
	}()
	infra.NewStepkeeper(stack, "Engine", p)
}

// A function of the app's own, and a queue, that cannot serve.
func TestAdoptedIsChecked(t *testing.T) {
	needNode(t)
	_, stack := newStack("Adopted")
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "bootstrap"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	short := awslambda.NewFunction(stack, str("Short"), &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
		Code: awslambda.Code_FromAsset(str(code), nil),
	})
	foreign := awslambda.Function_FromFunctionArn(stack, str("Foreign"),
		str("arn:aws:lambda:eu-central-1:123456789012:function:f"))
	p := shop(stack)
	p.Agents["payment"] = infra.Agent{Function: short}
	p.Agents["inventory"] = infra.Agent{
		Function: awslambda.NewAlias(stack, str("Alias"), &awslambda.AliasProps{
			AliasName: str("now"),
			Version:   short.CurrentVersion(),
		}),
	}
	p.Agents["shipping"] = infra.Agent{Function: foreign, Reserved: 20}
	p.ReplyTo["fifo"] = awssqs.Queue_FromQueueArn(stack, str("Fifo"),
		str("arn:aws:sqs:eu-central-1:123456789012:status.fifo"))
	defer func() {
		text := fmt.Sprint(recover())
		for _, want := range []string{
			`agent "payment": Timeout is 1m0s, which is more than its function's own`,
			`"shipping": its function was imported without its role`,
			`agents "inventory" and "payment" have the same Function`, `"shipping": Reserved and VPC`,
			`ReplyTo "fifo" is a FIFO queue`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not reported in\n%s", want, text)
			}
		}
	}()
	infra.NewStepkeeper(stack, "Engine", p)
}

// What the CDK itself refuses is reported without its stack trace; a mistake in the program is no message.
func TestExplain(t *testing.T) {
	needNode(t)
	_, stack := newStack("Twice")
	func() {
		defer func() {
			err := infra.Explain(recover(), nil)
			if err == nil || !strings.Contains(err.Error(), "already a Construct with name 'Same'") ||
				strings.Contains(err.Error(), "\n    at ") {
				t.Errorf("reported as %v", err)
			}
		}()
		awssqs.NewQueue(stack, str("Same"), nil)
		awssqs.NewQueue(stack, str("Same"), nil)
	}()
	if err := infra.Explain(nil, os.ErrClosed); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an error became %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a mistake in the program was printed as a message")
		}
	}()
	func() {
		defer func() { _ = infra.Explain(recover(), nil) }()
		list(nil)[len(os.Args)] = "there is no such place"
	}()
}

// A function of the app's own decrypts with the deployment's key as ours do, and its mapping waits for its
// rights: a mapping that comes first finds a role that may not receive, and the deploy fails.
func TestAdoptedWithKey(t *testing.T) {
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "bootstrap"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		p.CustomerManagedKey = true
		p.Agents["shipping"] = infra.Agent{Function: awslambda.NewFunction(stack, str("Mine"),
			&awslambda.FunctionProps{
				Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
				Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
				Code:    awslambda.Code_FromAsset(str(code), nil),
			})}
		p.Agents["notification"] = infra.Agent{Function: awslambda.Function_FromFunctionAttributes(stack,
			str("Far"), &awslambda.FunctionAttributes{
				FunctionArn: str("arn:aws:lambda:" + region + ":" + account + ":function:far"),
				Role: awsiam.Role_FromRoleArn(stack, str("FarRole"),
					str("arn:aws:iam::"+account+":role/far"), nil),
			})}
	})
	for agent, role := range map[string]string{
		"Shipping":     "MineServiceRoleDefaultPolicy",
		"Notification": "FarRolePolicy",
	} {
		policy := ""
		for id := range x.Resources {
			if strings.HasPrefix(id, role) && x.Resources[id].Type == "AWS::IAM::Policy" {
				policy = id
			}
		}
		var rights []string
		for _, s := range list(at(x.Resources[policy].Properties, "PolicyDocument", "Statement")) {
			rights = append(rights, fmt.Sprint(at(s, "Sid"), " ", target(list(at(s, "Resource"))[0])))
		}
		for _, want := range []string{"Take Requests" + agent, "Send Replies", "Key Key"} {
			if !slices.Contains(rights, want) {
				t.Errorf("%s: %q is not among the rights %q", agent, want, rights)
			}
		}
		if waits := list(x.of("AWS::Lambda::EventSourceMapping")["Agent"+agent+
			"Mapping"].DependsOn); !slices.Contains(waits, any(policy)) {
			t.Errorf("%s: the mapping waits for %v, and not for %s", agent, waits, policy)
		}
	}
}

// Orders must not be undone because a queue was busy for some seconds: the times of a demo are warned of.
func TestHastyWorkflow(t *testing.T) {
	for file, want := range map[string]int{"../examples/order/order.yaml": 4, "app/order.yaml": 0} {
		var in awscdk.Stack
		template(t, func(stack awscdk.Stack, p *infra.Props) {
			in = stack
			p.Workflows = []string{file}
		})
		reported := warnings(in)
		same(t, file+": warnings", len(reported), want)
		for _, w := range reported {
			if !strings.Contains(w, "order.yaml: step ") ||
				!strings.Contains(w, "on AWS let it be 30s or more: raise queueAllowance or maxFailures") {
				t.Errorf("warned of %q", w)
			}
		}
	}
}

// What `make deploy` deploys is the example's workflow with other times, and no other workflow.
func TestProductionOrderIsTheExample(t *testing.T) {
	times := regexp.MustCompile(
		`"(timeout|queueAllowance|clockSkew|grace|tellAfter|initial|max|extendedInterval|lifetime|deadline)":[0-9]+,?`,
	)
	load := func(file string) string {
		d, problems := source.LoadFile(file,
			source.Options{KnownAgents: []string{"inventory", "payment", "shipping", "notification"}})
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		data, err := workflow.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		return times.ReplaceAllString(string(data), "")
	}
	same(t, "app/order.yaml without its times", load("app/order.yaml"), load("../examples/order/order.yaml"))
}
