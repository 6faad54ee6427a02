package infra

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// To use a resource, a principal of another account needs two permissions: one in the policy of the resource,
// and one in its own account. Every policy statement in this file lists its principals by ARN.

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

func (c *checker) account(what string, a Agent) {
	switch {
	case a.Account == "":
		return
	case !accountID.MatchString(a.Account):
		c.wrong("%s: Account is %.40q; it must be the 12 digits of another account", what, a.Account)
	case !a.External:
		c.wrong("%s: Account is for external agents", what)
	case len(a.SenderARNs) == 0:
		c.wrong("%s: Account is set, and SenderARNs names no role of it", what)
	}
	for _, arn := range a.SenderARNs {
		if parts := strings.Split(arn, ":"); len(parts) > 4 && !unresolved(arn) &&
			parts[4] != a.Account {
			c.wrong("%s: SenderARNs has %s, which is not of its Account %s", what, arn, a.Account)
		}
	}
}

func (c *checker) shared(p Props, own string) {
	for _, arn := range p.Submitters {
		if strings.Contains(arn, "::"+own+":") {
			c.wrong(
				"Submitters has %s of the stack's own account; attach the policy Application to it instead",
				arn)
		}
	}
	for _, name := range sorted(p.Agents) {
		if p.Agents[name].Account == own {
			c.wrong("agent %q: Account is the stack's own, %s; leave it out", name, own)
		}
	}
}

func (s *Stepkeeper) allowAccounts() {
	if who := s.props.Submitters; len(who) > 0 {
		for _, q := range s.withHigh(port.Intake) {
			q.queue.AddToResourcePolicy(allowTo("Submitters", who, send, q.queue.QueueArn()))
		}
		s.allowKey("Submitters", who, "sqs")
	}
	var outside []string
	for _, name := range s.agentNames() {
		a := s.props.Agents[name]
		if a.Account == "" {
			continue
		}
		outside = append(outside, a.SenderARNs...)
		sid := "Agent" + pascal(name)
		through := []string{"sqs"}
		requests := s.queues[port.Requests(name)].queue
		requests.AddToResourcePolicy(allowTo(sid, a.SenderARNs, take, requests.QueueArn()))
		if ledger := s.ledgers[name]; ledger != nil {
			if own, made := ledger.(awsdynamodb.TableV2); made {
				// A table's own policy cannot contain a reference to the table.
				own.AddToResourcePolicy(allowTo(sid, a.SenderARNs, getAndPut, str("*")))
			} else {
				s.warn("ledger-"+name, "the ledger of agent %s was made elsewhere, where its resource "+
					"policy has to allow the agent dynamodb:GetItem and dynamodb:PutItem", name)
			}
			through = append(through, "dynamodb")
		}
		s.allowKey(sid, a.SenderARNs, through...)
	}
	if len(outside) > 0 { // in one statement, because the number of statements is limited (rule 28)
		for _, q := range []awssqs.Queue{s.queues[port.Replies].queue, s.quarantine} {
			q.AddToResourcePolicy(allowTo("Agents", outside, send, q.QueueArn()))
		}
	}
}

func (s *Stepkeeper) allowKey(sid string, principals []string, through ...string) {
	if s.key == nil {
		return
	}
	for i, service := range through { // the end is another domain in some partitions, and AWS alone sets the value
		through[i] = service + "." + *awscdk.Stack_Of(s.Construct).Region() + ".*"
	}
	statement := allowTo(sid, principals, useKey, str("*"))
	statement.AddCondition(str("StringLike"), map[string]any{"kms:ViaService": through})
	if added := s.key.AddToResourcePolicy(statement, jsii.Bool(true)); !*added.StatementAdded {
		s.warn("key-"+sid, "Key was made elsewhere, where its policy has to let %s use it",
			strings.Join(principals, ", "))
	}
}

func allowTo(sid string, principals, actions []string, resource *string) awsiam.PolicyStatement {
	var named []awsiam.IPrincipal
	for _, arn := range slices.Compact(slices.Sorted(slices.Values(principals))) {
		named = append(named, awsiam.NewArnPrincipal(str(arn)))
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: str(sid), Principals: &named,
		Actions: jsii.Strings(actions...), Resources: &[]*string{resource},
	})
}
