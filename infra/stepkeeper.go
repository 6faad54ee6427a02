package infra

import (
	"errors"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Stepkeeper is the construct of one deployment.
type Stepkeeper struct {
	constructs.Construct
	props   Props
	content *content
	key     awskms.IKey // nil means AWS's keys

	orders, definitions awsdynamodb.ITableV2
	ledgers             map[string]awsdynamodb.ITableV2 // ledgers by agent
	queues              map[string]*queue               // queues by logical name
	quarantine, missed  awssqs.Queue
	alerts, alarms      awssns.ITopic             // alarms is nil if there are no alarms
	tokenKeys           awssecretsmanager.ISecret // nil if no workflow creates tokens
	functions           map[string]awslambda.IFunction
	aliases             map[string]awslambda.Alias // aliases by the function's name
	scheduler           awslambda.Function
	senders             map[string][]*string // ARNs of senders, by the queue's logical name
	alarmIDs            []string             // IDs of all possible alarms, without the suffix Alarm
	doubled             []string             // IDs that several alarms would have
	concurrency         int                  // sum of MaxConcurrency of all mappings
	senderIDs           map[string][]string  // IDs of the roles that send replies, by agent
	refusals            map[string]awsiam.PolicyStatement
	application         awsiam.ManagedPolicy
	operator            []awsiam.ManagedPolicy
}

// NewStepkeeper adds a deployment to a scope. Like other constructs, it panics if the props are wrong. The
// panic's value is an error that lists all mistakes in the props, the workflows and the agents. Main prints
// this error.
func NewStepkeeper(scope constructs.Construct, id string, props *Props) *Stepkeeper {
	s := prepare(scope, id, props)
	defer s.content.close()
	if err := s.build(); err != nil {
		panic(refused(id, err))
	}
	return s
}

func prepare(scope constructs.Construct, id string, props *Props) *Stepkeeper {
	if props == nil {
		props = &Props{}
	}
	own := *props
	emulated, unknown := own.forEmulator(scope)
	complete, err := own.withDefaults()
	made, failed := newContent(complete)
	if failed != nil {
		panic(refused(id, failed))
	}
	made.Emulated = emulated
	err = errors.Join(unknown, err, complete.placed(scope), made.load(complete.Workflows),
		complete.reservedSchedulers(made), alike(made.Hashes))
	if err != nil {
		made.close()
		panic(refused(id, err))
	}
	return &Stepkeeper{
		Construct: constructs.NewConstruct(scope, jsii.String(id)), props: complete, content: made,
		ledgers: map[string]awsdynamodb.ITableV2{}, queues: map[string]*queue{},
		functions: map[string]awslambda.IFunction{}, senders: map[string][]*string{},
		aliases:   map[string]awslambda.Alias{},
		refusals:  map[string]awsiam.PolicyStatement{},
		senderIDs: map[string][]string{},
	}
}

func refused(id string, err error) error {
	return fmt.Errorf("stepkeeper %s cannot be deployed:\n%w", id, err)
}

func (s *Stepkeeper) build() error {
	for _, w := range s.content.Warnings {
		s.warn("workflow", "%s", w)
	}
	if all := s.props.outsiders(); len(all) > 0 &&
		unresolved(*awscdk.Stack_Of(s.Construct).Account()) {
		s.warn("account",
			"%s of account %s, and works in no stack of another one: set StackProps.Env, so that this is "+
				"checked", all[0].what, all[0].account)
	}
	if s.props.State == nil {
		s.addState()
	} else if err := s.useState(); err != nil {
		return err
	}
	s.addQueues()
	if err := s.deadLetters(); err != nil {
		return err
	}
	s.addTopics()
	errs := []error{s.addScheduler(), s.addSupervisor()}
	for _, name := range s.agentNames() {
		errs = append(errs, s.addAgent(name, s.props.Agents[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.namePeers()
	if err := s.environmentsFit(); err != nil {
		return err
	}
	s.nameSenders()
	s.addPolicies()
	s.addAlarms()
	s.addCanaries()
	if err := s.alarmsFit(); err != nil {
		return err
	}
	s.addDashboard()
	s.addOutputs()
	if err := s.setNames(); err != nil {
		return err
	}
	s.Construct.Node().AddValidation(&policySizes{s.Construct})
	if s.props.Profile == ProfileProduction && s.props.AlarmEmail == "" {
		s.Construct.Node().AddValidation(&subscribers{s})
	}
	return nil
}

// agentNames sorts the names, so that equal props always give the same template.
func (s *Stepkeeper) agentNames() []string { return sorted(s.props.Agents) }

// warn adds a warning about a setting that AWS accepts, although it causes problems after the deployment.
// Synthesis prints warnings with the same ID and text only once.
func (s *Stepkeeper) warn(id, format string, args ...any) {
	awscdk.Annotations_Of(s.Construct).AddWarningV2(str("stepkeeper:"+id), jsii.Sprintf(format, args...))
}

func str(text string) *string { return jsii.String(text) }

func num[T int | int64](n T) *float64 { return jsii.Number(float64(n)) }
