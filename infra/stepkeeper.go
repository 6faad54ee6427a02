package infra

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Stepkeeper is one deployment.
type Stepkeeper struct {
	constructs.Construct
	props  Props
	assets *assets
	key    awskms.IKey // nil: the services' own keys

	orders, tasks, definitions awsdynamodb.TableV2
	ledgers                    map[string]awsdynamodb.TableV2 // by agent
	queues                     map[string]*queue              // by logical name
	quarantine, missed         awssqs.Queue
	alerts                     awssns.Topic
	roles                      map[string]awsiam.IRole // of our functions, by logical name
	functions                  map[string]awslambda.IFunction
	senders                    map[string][]*string // ARNs of who sends, by the queue's logical name
	application, operator      awsiam.ManagedPolicy
}

// NewStepkeeper adds a deployment to a scope. It panics with an error that lists everything wrong
// with the props, the workflows and the agents, as constructs do.
func NewStepkeeper(scope constructs.Construct, id string, props *Props) *Stepkeeper {
	if props == nil {
		props = &Props{}
	}
	complete, err := props.withDefaults()
	if err != nil {
		panic(fmt.Errorf("stepkeeper %s: %w", id, err))
	}
	assets, err := newAssets(complete)
	if err != nil {
		panic(fmt.Errorf("stepkeeper %s: %w", id, err))
	}
	defer assets.close()
	s := &Stepkeeper{
		Construct: constructs.NewConstruct(scope, jsii.String(id)), props: complete, assets: assets,
		ledgers: map[string]awsdynamodb.TableV2{}, queues: map[string]*queue{}, roles: map[string]awsiam.IRole{},
		functions: map[string]awslambda.IFunction{}, senders: map[string][]*string{},
	}
	if err := s.build(); err != nil {
		panic(fmt.Errorf("stepkeeper %s: %w", id, err))
	}
	return s
}

func (s *Stepkeeper) build() error {
	if err := s.assets.workflows(); err != nil {
		return err
	}
	for _, w := range s.assets.warnings {
		awscdk.Annotations_Of(s.Construct).AddWarningV2(jsii.String("stepkeeper:workflow"), jsii.String(w))
	}
	s.addKey()
	s.addTables()
	s.addQueues()
	s.addTopic()
	errs := []error{s.addScheduler(), s.addSupervisor()}
	for _, name := range s.agentNames() {
		errs = append(errs, s.addAgent(name, s.props.Agents[name]))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	s.nameSenders()
	s.addPolicies()
	s.addAlarms()
	s.addOutputs()
	return nil
}

// agentNames is sorted: a template must not change by itself.
func (s *Stepkeeper) agentNames() []string { return slices.Sorted(maps.Keys(s.props.Agents)) }

// Intake is where applications send their orders.
func (s *Stepkeeper) Intake() awssqs.IQueue { return s.queues["intake"].queue }

// Alerts is the topic of alerts and alarms.
func (s *Stepkeeper) Alerts() awssns.ITopic { return s.alerts }

// Requests is the queue of an agent; nil for an unknown name.
func (s *Stepkeeper) Requests(agent string) awssqs.IQueue {
	if q := s.queues["requests-"+agent]; q != nil {
		return q.queue
	}
	return nil
}

// Replies is where external agents send their replies.
func (s *Stepkeeper) Replies() awssqs.IQueue { return s.queues["replies"].queue }

// Application is the policy for roles of applications: submit, follow, cancel.
func (s *Stepkeeper) Application() awsiam.IManagedPolicy { return s.application }

// Operator is the policy for people: all commands, listings, dead-letter queues.
func (s *Stepkeeper) Operator() awsiam.IManagedPolicy { return s.operator }

func str(text string) *string { return jsii.String(text) }

func num[T int | int64](n T) *float64 { return jsii.Number(float64(n)) }
