package infra

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
)

// State contains the resources of a deployment that must not be lost: the tables, the key, and the secret
// with the token keys. If State is in a separate stack, these resources stay when the other stack is replaced
// or deleted.
type State struct {
	constructs.Construct
	made *Stepkeeper
}

// NewState adds the tables, the key and the secret to a scope, usually a separate stack. Pass the same Props
// to NewStepkeeper, with Props.State set to the result. Like NewStepkeeper, NewState panics if the props are
// wrong.
func NewState(scope constructs.Construct, id string, props *Props) *State {
	s := prepare(scope, id, props)
	defer s.content.close()
	if s.props.State != nil {
		panic(refused(id, errors.New("State is set already; give NewState the properties without it")))
	}
	s.addState()
	if err := s.setNames(); err != nil {
		panic(refused(id, err))
	}
	return &State{Construct: s.Construct, made: s}
}

func (s *Stepkeeper) addState() {
	s.addKey()
	s.addTables()
	s.addTokenKeys()
}

func (s *Stepkeeper) useState() error {
	from := s.props.State.made
	own := awscdk.Stack_Of(s.Construct)
	other := awscdk.Stack_Of(from.Construct)
	if elsewhere(*own.Account(), *other.Account()) || elsewhere(*own.Region(), *other.Region()) {
		return fmt.Errorf("State is in the stack %s of another account or Region; put both into one",
			*other.StackName())
	}
	var differ []string
	unlike := func(what string, is bool) {
		if is {
			differ = append(differ, what)
		}
	}
	unlike("the key", s.props.managed() != from.props.managed())
	unlike("TaskTTL", (s.props.TaskTTL > 0) != (from.props.TaskTTL > 0))
	unlike("Tables", fmt.Sprint(s.props.Tables) != fmt.Sprint(from.props.Tables))
	unlike("the workflows' tokens", s.content.Tokens && from.tokenKeys == nil)
	for _, name := range s.agentNames() {
		if s.content.Ledgers[name] {
			unlike("the ledger of agent "+name, from.ledgers[name] == nil)
			s.ledgers[name] = from.ledgers[name]
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("State was made with other properties, which differ in %s; give NewState and "+
			"NewStepkeeper the same", strings.Join(differ, ", "))
	}
	s.key = from.key
	s.orders = from.orders
	s.definitions = from.definitions
	if s.content.Tokens {
		s.tokenKeys = from.tokenKeys
	}
	return nil
}

func (s *Stepkeeper) deadLetters() error {
	c := &checker{}
	stack := awscdk.Stack_Of(s.Construct)
	taken := map[string]string{}
	for _, name := range sorted(s.props.DeadLetters) {
		q := s.props.DeadLetters[name]
		if s.queues[name] == nil || q == nil {
			c.wrong("DeadLetters has %.90q; it must be a queue for one of these: %s", name,
				strings.Join(sorted(s.queues), ", "))
			continue
		}
		if *q.Fifo() {
			c.wrong("DeadLetters[%q] is a FIFO queue; it must be a standard one", name)
		}
		if env := q.Env(); elsewhere(*stack.Account(), *env.Account) ||
			elsewhere(*stack.Region(), *env.Region) {
			c.wrong("DeadLetters[%q] is of another account or Region, to which SQS moves no message", name)
		}
		if other, twice := taken[*q.QueueArn()]; twice {
			c.wrong("DeadLetters[%q] and [%q] are one queue; give each its own, because alarms, listings "+
				"and redrives are for one queue", other, name)
		}
		taken[*q.QueueArn()] = name
	}
	return errors.Join(c.problems...)
}

func (s *Stepkeeper) deadOf(name string) awssqs.IQueue {
	if q := s.props.DeadLetters[name]; q != nil {
		return q
	}
	return s.deadQueue(queueID(name)+"Dead", "it is itself a dead-letter queue")
}
