package infra

import (
	"fmt"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func (s *Stepkeeper) addAgent(name string, a Agent) error {
	senders := func(arn ...*string) {
		for _, to := range []string{port.Replies, port.Quarantine} {
			s.senders[to] = append(s.senders[to], arn...)
		}
	}
	if a.External {
		for _, arn := range a.SenderARNs {
			senders(str(arn))
		}
		s.sendsAs(name, a, nil)
		return nil
	}
	id := "Agent" + pascal(name)
	if a.Function != nil {
		role, policies := s.adoptFunction(name, a)
		s.functions[name] = behind(a.Function)
		if alias, is := a.Function.(awslambda.Alias); is {
			s.aliases[name] = alias
		}
		senders(role.RoleArn())
		s.sendsAs(name, a, role)
		s.addMappings(id, s.invoked(name), name, policies...)
		return nil
	}
	archive, err := s.agentArchive(name, a)
	if err != nil {
		return err
	}
	f, role := s.addFunction(function{
		id: id, archive: archive, language: build.LanguageOf(a.Folder),
		description: fmt.Sprintf("agent of the %s service", name),
		memory:      a.Memory, timeout: a.Timeout, reserved: a.Reserved,
		environment: s.agentEnvironment(name, a), access: s.agentAccess(name, a), loops: true,
		vpc: a.VPC, subnets: a.Subnets, groups: a.SecurityGroups,
	})
	s.publish(name, id, f)
	senders(role.RoleArn())
	s.sendsAs(name, a, role)
	s.addMappings(id, s.invoked(name), name)
	return nil
}

func (s *Stepkeeper) addMappings(id string, f awslambda.IFunction, agent string,
	after ...constructs.IDependable,
) {
	s.addMapping(id+"Mapping", f, s.queues[port.Requests(agent)]).Node().AddDependency(after...)
	if high := s.queues[port.High(port.Requests(agent))]; high != nil {
		s.addMapping(id+"HighMapping", f, high).Node().AddDependency(after...)
	}
}

// sendsAs records the IDs of the roles with which an agent sends replies: SenderIDs, or the ID of the given
// role if the app creates it. The Scheduler uses the IDs to check that a reply comes from the agent (rule 32
// of docs/reference/aws-rules.md).
func (s *Stepkeeper) sendsAs(name string, a Agent, role awsiam.IRole) {
	own, made := role.(awsiam.Role)
	switch {
	case len(a.SenderIDs) > 0:
		s.senderIDs[name] = a.SenderIDs
	case made:
		s.senderIDs[name] = []string{*own.RoleId()}
	// For an external agent without SenderARNs, GrantAgent records the ID.
	case !a.External || len(a.SenderARNs) > 0:
		s.warn("unchecked-replies-"+name,
			"whether replies of agent %s come from it is not checked: set its SenderIDs to what `aws iam "+
				"get-role --role-name ROLE --query Role.RoleId` answers", name)
	}
}

func (s *Stepkeeper) agentArchive(name string, a Agent) (string, error) {
	if a.Folder == "" {
		return s.content.archive("agent-"+name, build.HTTPAgent,
			map[string][]byte{deployment.AgentFile: s.content.Settings[name]})
	}
	folder, err := filepath.Abs(a.Folder)
	if err != nil {
		return "", fmt.Errorf("agent %q: %w", name, err)
	}
	return s.content.archive("agent-"+name, folder, nil)
}

func (s *Stepkeeper) agentEnvironment(name string, a Agent) map[string]*string {
	environment := map[string]*string{}
	for variable, value := range a.Environment {
		environment[variable] = str(value)
	}
	if a.Folder == "" && a.Function == nil && environment[deployment.VarTraces] == nil {
		s.traced(environment)
	}
	environment[deployment.VarAgent] = str(name)
	environment[deployment.VarStack] = s.stackName()
	queues := []string{port.Requests(name), port.Replies, port.Quarantine}
	if high := port.High(port.Requests(name)); s.queues[high] != nil {
		queues = append(queues, high)
	}
	if s.content.Checked.Agents[name].Orders {
		queues = append(queues, port.Intake)
	}
	environment[deployment.VarQueues] = s.urls(queues...)
	if ledger := s.ledgers[name]; ledger != nil {
		environment[deployment.VarLedger] = ledger.TableName()
	}
	if len(a.Secrets) > 0 {
		where := map[string]any{}
		for variable, v := range a.Secrets {
			if v.secret != nil {
				place := map[string]*string{"secret": v.secret.SecretFullArn()}
				if v.field != "" {
					place["field"] = str(v.field)
				}
				where[variable] = place
				continue
			}
			where[variable] = map[string]*string{"parameter": v.parameter.ParameterName()}
		}
		environment[deployment.VarSecrets] = awscdk.Stack_Of(s.Construct).ToJsonString(where, nil)
	}
	return environment
}

// adoptFunction adds permissions and environment variables to a function that the app provides. For an
// imported function, it adds only permissions, and only if CDK may change the function's role. It returns the
// function's role, and the policies that must exist before the event source mapping.
func (s *Stepkeeper) adoptFunction(name string,
	a Agent,
) (role awsiam.IRole, policies []constructs.IDependable) {
	role = a.Function.Role()
	for _, statement := range s.roleAccess(name, a) {
		if added := role.AddToPrincipalPolicy(statement); added.PolicyDependable != nil {
			policies = append(policies, added.PolicyDependable)
		}
	}
	if own, made := behind(a.Function).(awslambda.Function); made {
		environment := s.agentEnvironment(name, a)
		for _, variable := range sorted(environment) {
			own.AddEnvironment(str(variable), environment[variable], nil)
		}
		allowLoop(own)
		return role, policies
	}
	awscdk.Annotations_Of(s.Construct).AddInfo(jsii.Sprintf(
		"agent %s: its function was made elsewhere; set its variables and RecursiveLoop: Allow there", name))
	return role, policies
}

// allowLoop sets RecursiveLoop: Allow, so that Lambda does not stop a loop that contains the function (rule 1
// of docs/reference/aws-rules.md). It returns false if the function is imported.
func allowLoop(f awslambda.Function) bool {
	resource, is := f.Node().DefaultChild().(awslambda.CfnFunction)
	if is {
		resource.AddPropertyOverride(str("RecursiveLoop"), str("Allow"))
	}
	return is
}

func (s *Stepkeeper) roleAccess(name string, a Agent) access {
	statements := s.agentAccess(name, a)
	statements.allow("Key", useKey, s.ownKey()...)
	return statements
}
