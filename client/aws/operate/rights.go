package operate

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Caller reads the identity of the credentials. *sts.Client implements this interface.
type Caller interface {
	GetCallerIdentity(ctx context.Context, in *sts.GetCallerIdentityInput,
		o ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// Rights reads the permissions of a role or a user. It is the method SimulatePrincipalPolicy of an
// *iam.Client. Rights is a function type, because the linker can then omit the other 180 methods of the
// client. These methods need 9 MB.
type Rights func(context.Context, *iam.SimulatePrincipalPolicyInput,
	...func(*iam.Options)) (*iam.SimulatePrincipalPolicyOutput, error)

// Role reads a role with its path. It is the method GetRole of an *iam.Client.
type Role func(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error)

// checkSend asks IAM whether the caller may send orders and commands. It does not send an order as a test,
// because the deployment would execute the order.
func (t *transport) checkSend(ctx context.Context) client.Check {
	const name = "message path"
	if t.Parts.Caller == nil || t.Parts.Rights == nil {
		return client.NotChecked(name, fmt.Errorf("this client does not ask IAM"))
	}
	whose, err := t.Parts.Caller.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return client.NotChecked(name,
			stack.Failed(ctx, stack.Use{Action: "sts:GetCallerIdentity", On: "the credentials"}, err))
	}
	who, err := t.principal(ctx, aws.ToString(whose.Arn))
	if err != nil {
		return client.NotChecked(name, err)
	}
	queues := map[string]string{} // queue names by ARN
	in := &iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String(who.String()),
		ActionNames: []string{"sqs:SendMessage"}}
	addresses := map[string]string{
		port.Intake: t.Outputs.Intake, port.High(port.Intake): t.Outputs.High[port.Intake],
		port.Control: t.Outputs.Control,
	}
	// The sequence is fixed, so that each run names the same queue first.
	for _, queue := range []string{port.Intake, port.High(port.Intake), port.Control} {
		place := addresses[queue]
		u, err := url.Parse(place)
		account, resource, found := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
		if err != nil || place == "" || !found {
			continue
		}
		of := arn.ARN{Partition: who.Partition, Service: "sqs", Region: t.Outputs.Region, AccountID: account,
			Resource: resource}.String()
		queues[of], in.ResourceArns = queue, append(in.ResourceArns, of)
	}
	answer, err := t.Parts.Rights(ctx, in)
	if err != nil {
		return client.NotChecked(name,
			stack.Failed(ctx, stack.Use{Action: "iam:SimulatePrincipalPolicy", On: who.String()}, err))
	}
	for _, r := range answer.EvaluationResults {
		queue := queues[aws.ToString(r.EvalResourceName)]
		if delete(queues,
			aws.ToString(r.EvalResourceName)); r.EvalDecision != types.PolicyEvaluationDecisionTypeAllowed {
			return client.Check{Name: name, Result: client.CheckFailed,
				Text: fmt.Sprintf("IAM does not allow %s to send to the queue %s (%s)", who, queue,
					r.EvalDecision),
				Fix: "attach the policy " + t.Outputs.Senders(queue) +
					" to it; an explicitDeny stands in another policy of it"}
		}
	}
	if len(queues) > 0 || len(in.ResourceArns) == 0 {
		return client.NotChecked(name, fmt.Errorf("IAM did not answer for %d of %d queues", len(queues),
			len(in.ResourceArns)))
	}
	return client.Check{Name: name, Result: client.CheckOK,
		Text: fmt.Sprintf(
			"IAM allows %s to send orders and commands; the policies of the queues and of their key were "+
				"not checked", who)}
}

// singleSignOn is the prefix of the names of roles that IAM Identity Center creates. The path of such a role
// begins with aws-reserved/sso.amazonaws.com/. In most Regions, the name of the Region follows.
const singleSignOn = "AWSReservedSSO_"

// principal returns the ARN of the caller's role or user. If the caller has a role, STS returns the ARN of a
// session, which does not contain the role's path. principal then reads the role from IAM. If IAM does not
// return the role, principal assumes that the role has no path. For a role of IAM Identity Center, principal
// returns an error instead, because such a role always has a path.
func (t *transport) principal(ctx context.Context, caller string) (arn.ARN, error) {
	a, err := arn.Parse(caller)
	if err != nil {
		return a, fmt.Errorf("AWS answered the caller %q, which is no ARN", caller)
	}
	kind, rest, _ := strings.Cut(a.Resource, "/")
	if a.Service == "iam" && kind == "user" {
		return a, nil
	}
	if a.Service != "sts" || kind != "assumed-role" {
		return a, fmt.Errorf("the caller %s is neither a role nor a user", caller)
	}
	role, _, _ := strings.Cut(rest, "/")
	a.Service, a.Resource = "iam", "role/"+role
	if t.Parts.Role == nil {
		err = fmt.Errorf("IAM is not asked for roles through this client")
	} else if found, asked := t.Parts.Role(ctx, &iam.GetRoleInput{RoleName: &role}); asked != nil {
		err = stack.Failed(ctx, stack.Use{Action: "iam:GetRole", On: a.String()}, asked)
	} else if found.Role != nil {
		return arn.Parse(aws.ToString(found.Role.Arn))
	}
	if strings.HasPrefix(role, singleSignOn) {
		return a, fmt.Errorf("the path of the role %s of single sign-on is not known: %w", role, err)
	}
	return a, nil
}
