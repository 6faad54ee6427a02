package infra_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

const tableOf = "arn:aws:dynamodb:" + region + ":" + account + ":table/"

// Two principals of other accounts.
const (
	webThere     = "arn:aws:iam::999999999999:role/web"
	printerThere = "arn:aws:iam::888888888888:role/printer"
)

// variants lists the settings by their names.
func variants(t *testing.T) map[string]variant {
	t.Helper()
	all := variantsOfDeployments()
	maps.Copy(all, variantsOfAgents(t))
	maps.Copy(all, variantsOfWorkflows(t))
	return all
}

func variantsOfDeployments() map[string]variant {
	return map[string]variant{
		"account of an agent": {change: printerElsewhere},
		"billing":             {change: provisioned},
		"billing with a seed": {change: func(stack awscdk.Stack, p *infra.Props) {
			provisioned(stack, p)
			p.Billing.Orders.Seed = infra.Throughput{Writes: 900, Reads: 90}
			p.TableClass = awsdynamodb.TableClass_STANDARD_INFREQUENT_ACCESS
		}},
		"canary with essential alarms": {change: func(stack awscdk.Stack, p *infra.Props) {
			withCanary(stack, p)
			p.Alarms = infra.AlarmsEssential
		}},
		"code signing": {change: signed},
		"dashboard":    {change: func(_ awscdk.Stack, p *infra.Props) { p.Dashboard = true }},
		"dead letters": {change: ownDeadLetters},
		"functions in a VPC": {change: func(stack awscdk.Stack, p *infra.Props) {
			inVPC(stack, p)
			p.EventBridgeRule = true
			prescribed(stack, p)
		}},
		"engine in a VPC":    {change: engineInVPC},
		"grants":             {change: grantable, after: granted},
		"key":                {change: managed},
		"key of the app":     {change: keyed(func(s awscdk.Stack) awskms.IKey { return awskms.NewKey(s, str("Own"), nil) })},
		"key from elsewhere": {change: keyed(foreignKey)},
		"key and ledger from elsewhere": {change: func(stack awscdk.Stack, p *infra.Props) {
			restored(stack, p)
			printerElsewhere(stack, p)
			p.Key = foreignKey(stack)
		}},
		"names": {change: prescribed},
		"names of policies": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.Names = infra.Names{Policies: "shop", LogGroups: "/aws/lambda/"}
		}},
		"priorities":  {change: prioritised},
		"profile Dev": {change: func(_ awscdk.Stack, p *infra.Props) { p.Profile = infra.ProfileDev }},
		"replicas": {change: func(stack awscdk.Stack, p *infra.Props) {
			managed(stack, p)
			p.Replicas = []infra.Replica{{Region: "eu-west-1", KeyARN: "arn:aws:kms:eu-west-1:123456789012:key/k"}}
		}},
		"rule": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.EventBridgeRule = true
			p.SweepInterval = 5 * time.Minute
			p.Paused = true
		}},
		"standby": {change: func(stack awscdk.Stack, p *infra.Props) {
			restored(stack, p)
			p.Paused = true
			p.Tables.KeyARN = "arn:aws:kms:" + region + ":" + account + ":key/k"
		}},
		"state": {change: withState},
		"sweeps each hour": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.SweepInterval = time.Hour
			p.Tuning.Thresholds = map[string]infra.Threshold{
				"OldestOverdue": {Periods: 24}, "PaymentErrors": {Periods: 1}, "NotCalled": {Periods: 24},
			}
		}},
		"tables restored": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.Tables = infra.Tables{Orders: tableOf + "Orders-2"}
		}},
		"thresholds": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.Tuning.Thresholds = map[string]infra.Threshold{
				"Throttles": {Value: 10}, "PaymentThrottles": {Value: 50, Periods: 15}, "IntakeAge": {Periods: 5},
			}
		}},
		"topics of the app": {change: ownTopics},
		"topic from elsewhere": {change: func(stack awscdk.Stack, p *infra.Props) {
			p.AlarmTopic = awssns.Topic_FromTopicArn(stack, str("Far"),
				str("arn:aws:sns:"+region+":"+account+":far"))
		}},
		"tuning": {change: tuned},
		"versions": {change: func(stack awscdk.Stack, p *infra.Props) {
			withVersions(stack, p)
			p.Tuning.ReservedSupervisors = 3
		}},
		"x86 for a trial": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.X86 = true
			p.FinishedOrders = true
			p.TaskTTL = 90 * 24 * time.Hour
			p.RemovalPolicy = awscdk.RemovalPolicy_DESTROY
			p.LogRetention = awslogs.RetentionDays_ONE_WEEK
			p.Shards = 32
		}},
	}
}

func variantsOfAgents(t *testing.T) map[string]variant {
	t.Helper()
	const place = ":eu-central-1:111122223333:"
	services := "agents: {payment: {aws: {invoke: 'arn:aws:lambda" + place + "function:charge'}, " +
		"operations: {charge: {}, refund: {aws: {invoke: " +
		"'arn:aws:lambda:eu-central-1:${env:ACCOUNT}:function:refund'}}, " +
		"put: {aws: {putEvents: 'arn:aws:events" + place + "event-bus/shop'}}, " +
		"say: {aws: {publish: 'arn:aws:sns" + place + "orders'}}, " +
		"send: {aws: {send: 'https://sqs.eu-central-1.amazonaws.com/111122223333/orders'}}, " +
		"wait: {aws: {startExecution: 'arn:aws:states" + place + "stateMachine:short', express: true}}, " +
		"start: {aws: {startExecution: 'arn:aws:states" + place + "stateMachine:long'}}}}}"
	payment := func(text string) variant {
		file := filepath.Join(folder(t, map[string]string{"agents.yaml": text}), "agents.yaml")
		return variant{change: func(_ awscdk.Stack, p *infra.Props) {
			p.Agents["payment"] = infra.Agent{HTTP: file, Environment: map[string]string{"ACCOUNT": "111122223333"}}
		}}
	}
	external := func(ids ...string) variant {
		return variant{change: func(_ awscdk.Stack, p *infra.Props) {
			p.Agents["notification"] = infra.Agent{
				External: true, SenderARNs: []string{"arn:aws:iam::" + account + ":role/mailer"}, SenderIDs: ids,
			}
			p.Agents["mail-2"] = infra.Agent{External: true, SenderIDs: []string{"AROAMAILERMAILERMAIL3"}}
		}}
	}
	python := folder(t, map[string]string{"agent.py": "handler = None\n", "requirements.txt": "# none\n"})
	return map[string]variant{
		"agent that calls services of AWS": payment(services),
		"agent that signs its calls": payment("agents: {payment: {auth: {sigv4: {service: execute-api}}, " +
			"url: 'https://abc123.execute-api.eu-west-1.amazonaws.com/prod'}}"),
		"agent that submits orders": payment("agents: {payment: {orders: true}}"),
		"agent with secrets":        {change: withSecrets},
		"agent outside":             external(),
		"agent outside with IDs":    external("AROAMAILERMAILERMAIL1", "AROAMAILERMAILERMAIL2"),
		"agent outside with a role": {
			change: func(_ awscdk.Stack, p *infra.Props) { p.Agents["notification"] = infra.Agent{External: true} },
			after: func(stack awscdk.Stack, engine *infra.Stepkeeper) {
				engine.GrantAgent("notification", newRole(stack, "Mailer"))
			},
		},
		"agent in Python": {change: func(_ awscdk.Stack, p *infra.Props) {
			p.Agents["payment"] = infra.Agent{Folder: python}
		}},
		"agent with a mapping of its own": {change: func(_ awscdk.Stack, p *infra.Props) {
			a := p.Agents["payment"]
			a.Timeout = 90 * time.Second
			a.Memory = 512
			a.Reserved = 40
			a.Mapping = infra.Mapping{Batch: 7, Window: 3 * time.Second, MaxConcurrency: 40}
			p.Agents["payment"] = a
		}},
		"functions of the app": {change: func(stack awscdk.Stack, p *infra.Props) {
			managed(stack, p)
			p.Agents["shipping"] = infra.Agent{Function: newFunction(t, stack, "Mine"), Timeout: time.Minute}
			p.Agents["notification"] = infra.Agent{Function: awslambda.Function_FromFunctionAttributes(stack,
				str("Far"), &awslambda.FunctionAttributes{
					FunctionArn: str("arn:aws:lambda:" + region + ":" + account + ":function:far"),
					Role: awsiam.Role_FromRoleArn(stack, str("FarRole"),
						str("arn:aws:iam::"+account+":role/far"), nil),
				})}
		}},
		"function behind an alias": {change: func(stack awscdk.Stack, p *infra.Props) {
			withCanary(stack, p)
			p.Agents["shipping"] = infra.Agent{Function: awslambda.NewAlias(stack, str("Mine-now"),
				&awslambda.AliasProps{
					AliasName: str("now"),
					Version:   newFunction(t, stack, "Mine").CurrentVersion(),
				})}
		}},
	}
}

func variantsOfWorkflows(t *testing.T) map[string]variant {
	t.Helper()
	const pay = "operation: charge, timeout: 2s, onFailure: undo, undo: refund, grade: idempotent, retry: " +
		"{maxFailures: 9}}\n"
	dir := folder(t, map[string]string{
		"nightly.yaml": "workflow: nightly\nschedule: {cron: \"30 2 * * *\"}\nsteps:\n  pause: {wait: 1m}\n",
		"paying.yaml":  "workflow: paying\nsteps:\n  pay: {agents: [payment, shipping], " + pay,
		"family.yaml":  "workflow: family\nsteps:\n  all: {each: \"${ order.items }\", workflow: leaf}\n",
		"leaf.yaml":    "workflow: leaf\nsteps:\n  pay: {agent: payment, " + pay,
	})
	also := func(files ...string) variant {
		return variant{change: func(_ awscdk.Stack, p *infra.Props) {
			for _, file := range files {
				p.Workflows = append(p.Workflows, filepath.Join(dir, file))
			}
		}}
	}
	return map[string]variant{
		"workflow with a schedule":           also("nightly.yaml"),
		"workflow with a choice of agents":   also("paying.yaml"),
		"workflow with children":             also("family.yaml", "leaf.yaml"),
		"workflow with tokens":               {change: withTokens},
		"workflow with times that are short": {change: func(_ awscdk.Stack, p *infra.Props) { p.Workflows = []string{"../examples/order/order.yaml"} }},
		"workflow with tokens of the app": {change: func(stack awscdk.Stack, p *infra.Props) {
			withTokens(stack, p)
			p.TokenKeys = awssecretsmanager.Secret_FromSecretCompleteArn(stack, jsii.String("Keys"),
				jsii.String("arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys-AbCdEf"))
		}},
		"workflow with events": {
			change: func(stack awscdk.Stack, p *infra.Props) {
				p.Workflows = []string{withEvents(t)}
				p.ReplyToBuses = map[string]awsevents.IEventBus{
					"events": awsevents.NewEventBus(stack, str("Bus"), nil),
					"audit": awsevents.EventBus_FromEventBusArn(stack, str("Audit"),
						str("arn:aws:events:"+region+":999999999999:event-bus/audit")),
				}
			},
			after: func(stack awscdk.Stack, engine *infra.Stepkeeper) {
				ordersFrom(stack, awsevents.EventBus_FromEventBusName(stack, str("Shopping"), str("shop")), engine)
			},
		},
	}
}

// printerElsewhere makes shipping, which needs a ledger, an agent of another account.
func printerElsewhere(_ awscdk.Stack, p *infra.Props) {
	p.Agents["shipping"] = infra.Agent{
		External: true, Account: "888888888888",
		SenderARNs: []string{printerThere}, SenderIDs: []string{"AROAPRINTERPRINTER001"},
	}
}

func newFunction(t *testing.T, stack awscdk.Stack, id string) awslambda.Function {
	t.Helper()
	return awslambda.NewFunction(stack, &id, &awslambda.FunctionProps{
		Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
		Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
		Code:    awslambda.Code_FromAsset(str(folder(t, map[string]string{"bootstrap": "mine"})), nil),
	})
}

func newRole(stack awscdk.Stack, id string) awsiam.Role {
	return awsiam.NewRole(stack, &id,
		&awsiam.RoleProps{AssumedBy: awsiam.NewServicePrincipal(str("ecs-tasks.amazonaws.com"), nil)})
}

func managed(_ awscdk.Stack, p *infra.Props) { p.CustomerManagedKey = true }

func keyed(key func(awscdk.Stack) awskms.IKey) func(awscdk.Stack, *infra.Props) {
	return func(stack awscdk.Stack, p *infra.Props) { p.Key = key(stack) }
}

func foreignKey(stack awscdk.Stack) awskms.IKey {
	return awskms.Key_FromKeyArn(stack, str("Own"), str("arn:aws:kms:eu-central-1:123456789012:key/k"))
}

// restored lets the deployment use tables that are there, as in a second Region (rule 14).
func restored(_ awscdk.Stack, p *infra.Props) {
	p.Tables = infra.Tables{
		Orders: tableOf + "Shop-Orders", Definitions: tableOf + "Shop-Definitions",
		Ledgers: map[string]string{"shipping": tableOf + "Shop-Ledger", "notification": tableOf + "Shop-Notices"},
	}
}

// provisioned bills Orders and its index by capacity.
func provisioned(_ awscdk.Stack, p *infra.Props) {
	p.Billing = &infra.Provisioned{Orders: infra.Range{
		Min: infra.Throughput{Writes: 10},
		Max: infra.Throughput{Writes: 6_000, Reads: 4_000},
	}}
}

func withVersions(_ awscdk.Stack, p *infra.Props) { p.Versions = true }

func withCanary(_ awscdk.Stack, p *infra.Props) {
	p.Canary = awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_5MINUTES()
}

// withTokens adds a workflow that makes tokens.
func withTokens(_ awscdk.Stack, p *infra.Props) {
	p.Workflows = append(p.Workflows, "testdata/linking.yaml")
}

// withEvents is the example's workflow, which sends the ends of its orders to the bus.
func withEvents(t *testing.T) string {
	t.Helper()
	text := file(t, "infra", "app", "order.yaml")
	return filepath.Join(folder(t, map[string]string{"order.yaml": "events: true\n" + text}), "order.yaml")
}

// withSecrets gives the payment agent a file that needs two of them.
func withSecrets(stack awscdk.Stack, p *infra.Props) {
	file, err := os.CreateTemp("", "agents-*.yaml")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	_, _ = file.WriteString(
		"agents: {payment: {url: '${env:PAYMENT_URL}', allow: {hosts: [pay.example]}, headers: {Authorization: 'Bearer ${env:TOKEN}', " +
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

// prescribed names, limits and tags everything.
func prescribed(stack awscdk.Stack, p *infra.Props) {
	p.Names = infra.Names{
		Prefix: "Shop", Path: "/stepkeeper/", LogGroups: "/aws/lambda/",
		PermissionsBoundary: awsiam.ManagedPolicy_FromManagedPolicyArn(stack, str("Boundary"),
			str("arn:aws:iam::"+account+":policy/boundary")),
	}
	p.Tags = map[string]string{"cost-center": "42"}
}

// signed lets Lambda check the code of the functions.
func signed(stack awscdk.Stack, p *infra.Props) {
	p.CodeSigning = awslambda.CodeSigningConfig_FromCodeSigningConfigArn(stack, str("Signing"),
		str("arn:aws:lambda:"+region+":"+account+":code-signing-config:csc-0123456789abcdef0"))
}

// inVPC puts the agent payment into a VPC.
func inVPC(stack awscdk.Stack, p *infra.Props) {
	a := p.Agents["payment"]
	a.VPC = awsec2.Vpc_FromVpcAttributes(stack, str("Vpc"), &awsec2.VpcAttributes{
		VpcId: str("vpc-0123456789abcdef0"), AvailabilityZones: jsii.Strings("eu-central-1a"),
		PrivateSubnetIds: jsii.Strings("subnet-0123456789abcdef0"),
	})
	p.Agents["payment"] = a
}

// engineInVPC puts Scheduler and Supervisor into a VPC.
func engineInVPC(stack awscdk.Stack, p *infra.Props) {
	inVPC(stack, p)
	a := p.Agents["payment"]
	p.VPC = a.VPC
	a.VPC = nil
	p.Agents["payment"] = a
	p.Subnets = &awsec2.SubnetSelection{Subnets: &[]awsec2.ISubnet{
		awsec2.Subnet_FromSubnetId(stack, str("Subnet"), str("subnet-1")),
		awsec2.Subnet_FromSubnetId(stack, str("Other"), str("subnet-2")),
	}}
	p.SecurityGroups = []awsec2.ISecurityGroup{awsec2.SecurityGroup_FromSecurityGroupId(stack, str("Group"),
		str("sg-1"), nil)}
}

// ownDeadLetters lets queues of the app take dead letters.
func ownDeadLetters(stack awscdk.Stack, p *infra.Props) {
	p.DeadLetters = map[string]awssqs.IQueue{
		"requests-payment": awssqs.Queue_FromQueueArn(stack, str("There"),
			str("arn:aws:sqs:"+region+":"+account+":payment-dead")),
		"intake": awssqs.NewQueue(stack, str("Mine"), &awssqs.QueueProps{
			EncryptionMasterKey: awskms.NewKey(stack, str("MyKey"), nil),
		}),
	}
}

// ownTopics replaces both topics, each with a key of its own.
func ownTopics(stack awscdk.Stack, p *infra.Props) {
	topic := func(id string) awssns.ITopic {
		return awssns.NewTopic(stack, str(id), &awssns.TopicProps{
			EnforceSSL: jsii.Bool(true), MasterKey: awskms.NewKey(stack, str(id+"Key"), nil),
		})
	}
	p.AlertTopic = topic("OwnAlerts")
	p.AlarmTopic = topic("OwnAlarms")
	p.AlarmEmail = ""
}

// prioritised gives two queues others beside them (P46).
func prioritised(_ awscdk.Stack, p *infra.Props) {
	a := p.Agents["payment"]
	a.MaxConcurrency = 20
	a.Batch = 7
	p.Agents["payment"] = a
	p.Priorities = map[string]int{"intake": 2, "payment": 4}
	p.Submitters = []string{webThere}
	p.Tuning.IntakeRetention = 36 * time.Minute // with a warning
}

func tuned(_ awscdk.Stack, p *infra.Props) {
	p.PagesPerSweep = 200
	p.FairQueues = true
	p.OutcomeMetrics = true
	p.TracesEndpoint = "http://10.0.0.5:4318"
	p.Tuning.SystemLogLevel = awslambda.SystemLogLevel_INFO
	p.Tuning.ReservedSchedulers = 60
	p.Tuning.AlertWindow = time.Hour
	p.Tuning.AlertReminder = -1
	p.Tuning.Warm = infra.Warm{
		Orders: infra.Throughput{Writes: 20_000},
		Index:  infra.Throughput{Writes: 8_000, Reads: 15_000},
	}
}

// grantable lets the app grant rights. Of the first sender of notification only the ARN is known.
func grantable(_ awscdk.Stack, p *infra.Props) {
	p.CustomerManagedKey = true
	p.Agents["notification"] = infra.Agent{
		External:   true,
		SenderARNs: []string{"arn:aws:iam::123456789012:role/first"},
	}
}

func granted(stack awscdk.Stack, engine *infra.Stepkeeper) {
	engine.GrantSubmit(newRole(stack, "Web"))
	engine.GrantOperate(newRole(stack, "Ops"))
	engine.GrantAgent("notification", newRole(stack, "Mailer"))
}

// withState puts tables, key and secret into a stack of their own.
func withState(stack awscdk.Stack, p *infra.Props) {
	below := awscdk.NewStack(stack.Node().Root().(constructs.Construct), str("Below"), &awscdk.StackProps{
		Env: &awscdk.Environment{Account: str(account), Region: str(region)},
	})
	withTokens(stack, p)
	prescribed(stack, p)
	printerElsewhere(stack, p)
	p.CustomerManagedKey = true
	p.TaskTTL = time.Hour
	p.Submitters = []string{webThere}
	p.State = infra.NewState(below, "State", p)
}
