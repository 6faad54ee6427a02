package infra

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

type function struct {
	id, archive, description string
	language                 build.Language // language of an agent's program
	memory                   int
	timeout                  time.Duration
	environment              map[string]*string
	access                   access
	loops                    bool // true for the Scheduler and for agents, which invoke each other
	reserved                 int
	vpc                      awsec2.IVpc
	subnets                  *awsec2.SubnetSelection
	groups                   []awsec2.ISecurityGroup
}

func runtimeOf(language build.Language) (r awslambda.Runtime, handler string) {
	switch language {
	case build.Python:
		return awslambda.Runtime_PYTHON_3_13(), "agent.handler"
	case build.TypeScript:
		return awslambda.Runtime_NODEJS_22_X(), "index.handler"
	}
	return awslambda.Runtime_PROVIDED_AL2023(), "bootstrap"
}

func (s *Stepkeeper) addFunction(f function) (awslambda.Function, awsiam.Role) {
	logs := awslogs.NewLogGroup(s.Construct, str(f.id+"Logs"), &awslogs.LogGroupProps{
		Retention: s.props.LogRetention, RemovalPolicy: s.removal(), EncryptionKey: s.key,
	})
	statements := f.access
	statements.allow("Logs", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, logs.LogGroupArn())
	statements.allow("Key", useKey, s.ownKey()...)
	if f.vpc != nil {
		statements = append(statements, vpcAccess())
	}
	role := s.role(f.id+"Role", awsiam.NewServicePrincipal(str("lambda.amazonaws.com"), nil), f.description,
		statements...)
	if f.vpc != nil {
		Accept(role, "AwsSolutions-IAM5",
			"Lambda makes the network interfaces of a function in a VPC under names that are not known "+
				"before, and the Describe actions know no resources.")
	}
	runtime, handler := runtimeOf(f.language)
	props := &awslambda.FunctionProps{
		Description: str("Stepkeeper: " + f.description), Runtime: runtime, Handler: &handler,
		Architecture: awslambda.Architecture_ARM_64(),
		Code:         awslambda.Code_FromAsset(str(f.archive), nil), Role: role, LogGroup: logs,
		LoggingFormat: awslambda.LoggingFormat_JSON,
		// CloudWatch charges for Lambda's own log lines too, so the level limits these lines.
		SystemLogLevelV2: s.props.Tuning.SystemLogLevel,
		MemorySize:       num(f.memory), Timeout: seconds(f.timeout), Environment: &f.environment,
		EnvironmentEncryption: s.key,
		Vpc:                   f.vpc, VpcSubnets: f.subnets, CodeSigningConfig: s.props.CodeSigning,
	}
	if s.props.X86 {
		props.Architecture = awslambda.Architecture_X86_64()
	}
	if len(f.groups) > 0 {
		props.SecurityGroups = &f.groups
	}
	if f.loops {
		// The hop budget limits such loops, so Lambda need not stop them (rule 1; P23, a hop budget bounds
		// claims).
		props.RecursiveLoop = awslambda.RecursiveLoop_ALLOW
	}
	if f.reserved > 0 {
		props.ReservedConcurrentExecutions = num(f.reserved)
	}
	return awslambda.NewFunction(s.Construct, str(f.id), props), role
}

// role adds a role. Its policies are inline, so that the permissions of a function exist before the function.
func (s *Stepkeeper) role(id string, by awsiam.IPrincipal, description string,
	statements ...awsiam.PolicyStatement,
) awsiam.Role {
	return awsiam.NewRole(s.Construct, str(id), &awsiam.RoleProps{
		AssumedBy: by, Description: str("Stepkeeper: " + description),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			"Access": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
}

// addMapping adds an event source mapping, so that a function consumes a queue (rules 2 to 4). CDK's
// SqsEventSource is not suitable, because it grants more permissions than needed.
func (s *Stepkeeper) addMapping(id string, f awslambda.IFunction, q *queue) awslambda.EventSourceMapping {
	props := &awslambda.EventSourceMappingProps{
		Target: f, EventSourceArn: q.queue.QueueArn(), BatchSize: num(q.mapping.Batch),
		MaxConcurrency: num(q.mapping.MaxConcurrency), ReportBatchItemFailures: jsii.Bool(true),
		// CloudFormation sets a property only if its value changes. Without the value true, the mappings of a
		// deployment with Paused would stay disabled after the next deployment.
		Enabled: jsii.Bool(!s.props.Paused),
	}
	if q.mapping.Window > 0 {
		props.MaxBatchingWindow = seconds(q.mapping.Window)
	}
	s.concurrency += q.mapping.MaxConcurrency
	q.source = awslambda.NewEventSourceMapping(s.Construct, str(id), props)
	return q.source
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
