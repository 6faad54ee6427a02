// Package example defines the stack of the order example. The CDK context contains the settings of the stack.
package example

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/infra/project"
)

// Add adds the stack to the app. It reads the settings from the app's context.
func Add(app awscdk.App) (err error) {
	defer func() { err = infra.Explain(recover(), err) }() // constructs panic instead of returning errors
	c := &settings{app: app}
	agents, err := project.File(c.text("agents", filepath.Join("app", "agents.yaml")))
	if err != nil {
		c.problems = append(c.problems, err)
	}
	stack := awscdk.NewStack(app, jsii.String(c.text("stack", "Stepkeeper")), &awscdk.StackProps{
		Description: jsii.String("Stepkeeper: orders that end done or undone"),
		Env:         environment(),
	})
	props := &infra.Props{
		Workflows: c.list("workflows", filepath.Join("app", "order.yaml")), Agents: agents,
		AlarmEmail: c.text("email", ""), Operators: c.list("operators", ""),
		X86:                c.truth("x86", false),
		CustomerManagedKey: c.truth("key", false),
		FinishedOrders:     c.truth("finished", false), FairQueues: c.truth("fair", false),
		Versions: c.truth("versions", false), OutcomeMetrics: c.truth("outcomes", false),
		Paused: c.truth("paused", false), Dashboard: c.truth("dashboard", false),
		Profile:       infra.Profile(c.text("profile", "")),
		SweepInterval: c.duration("sweep", 0), PagesPerSweep: c.number("pages", 0),
		Tables: c.tables(), Priorities: c.priorities(),
	}
	for _, region := range c.list("replicas", "") {
		props.Replicas = append(props.Replicas, infra.Replica{Region: region})
	}
	props.RemovalPolicy = awscdk.RemovalPolicy_DESTROY
	if c.truth("keep", props.Profile != infra.ProfileDev) {
		props.RemovalPolicy = awscdk.RemovalPolicy_RETAIN
	}
	if folder := c.text("prebuilt", ""); folder != "" {
		props.Build = build.Prebuilt(folder)
	}
	replyTo(stack, c, props)
	c.secrets(stack, agents)
	c.external(agents, "senders", "agent=ARN of a role", arnOf("iam", "(role|user)/"),
		func(a *infra.Agent, arn string) { a.SenderARNs = append(a.SenderARNs, arn) })
	c.external(agents, "role-ids", "agent=ID of its role", regexp.MustCompile(`.`),
		func(a *infra.Agent, id string) { a.SenderIDs = append(a.SenderIDs, id) })
	nag := c.truth("nag", false)
	if len(c.problems) > 0 {
		return errors.Join(c.problems...)
	}
	infra.NewStepkeeper(stack, "Engine", props)
	warn(stack, props)
	if nag {
		awscdk.Aspects_Of(stack).Add(
			cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: jsii.Bool(true)}), nil)
	}
	return nil
}

// warn adds warnings about settings that AWS accepts, but that cause problems after the deployment.
func warn(stack awscdk.Stack, props *infra.Props) {
	notes := awscdk.Annotations_Of(stack)
	for _, name := range slices.Sorted(maps.Keys(props.Agents)) {
		if a := props.Agents[name]; a.External && len(a.SenderARNs) == 0 {
			notes.AddWarningV2(jsii.String("stepkeeper:silent-agent-"+name), jsii.Sprintf(
				"the replies of the external agent %s are refused until its role is named: add -c "+
					"senders=%s=ARN", name, name))
		}
	}
}

// environment returns nil if CDK does not know the account or the Region of the user's credentials.
func environment() *awscdk.Environment {
	account := os.Getenv("CDK_DEFAULT_ACCOUNT")
	region := os.Getenv("CDK_DEFAULT_REGION")
	if account == "" || region == "" {
		return nil
	}
	return &awscdk.Environment{Account: &account, Region: &region}
}

// replyTo sets the queues and event buses that receive statuses. The context names them. If it names no
// queue, replyTo adds the queue "shop" to the stack.
func replyTo(stack awscdk.Stack, c *settings, props *infra.Props) {
	props.ReplyTo = map[string]awssqs.IQueue{}
	props.ReplyToBuses = map[string]awsevents.IEventBus{}
	given := c.pairs("reply-to", "name=ARN of a queue or an event bus", queueOrBus)
	for name, arn := range given {
		if strings.Contains(arn, ":event-bus/") {
			props.ReplyToBuses[name] = awsevents.EventBus_FromEventBusArn(stack,
				jsii.String("ReplyTo"+name), &arn)
			continue
		}
		props.ReplyTo[name] = awssqs.Queue_FromQueueArn(stack, jsii.String("ReplyTo"+name), &arn)
	}
	if len(props.ReplyTo) > 0 {
		return
	}
	removal := props.RemovalPolicy
	if removal == awscdk.RemovalPolicy_RETAIN { // the queue of a first deployment that failed is empty
		removal = awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE
	}
	queue := awssqs.NewQueue(stack, jsii.String("ShopStatus"), &awssqs.QueueProps{
		EnforceSSL: jsii.Bool(true), Encryption: awssqs.QueueEncryption_SQS_MANAGED,
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(4)), RemovalPolicy: removal,
	})
	infra.Accept(queue, "AwsSolutions-SQS3",
		"The example's own status queue has no dead-letter queue: its messages are read once and not "+
			"worked on.")
	props.ReplyTo["shop"] = queue
	awscdk.NewCfnOutput(stack, jsii.String("ShopStatusUrl"),
		&awscdk.CfnOutputProps{Value: queue.QueueUrl(), Description: jsii.String("reply-to shop")})
}
