package operate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/client"
	stack "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// checkSend asks IAM whether the caller may send orders and commands. It does not send an order as a test,
// because the deployment would execute the order.
func (t *transport) checkSend(ctx context.Context) client.Check {
	const name = "message path"
	if t.aws == nil {
		return client.NotChecked(name, fmt.Errorf("this client does not ask IAM"))
	}
	whose, err := t.aws.caller.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return client.NotChecked(name,
			stack.Failed(ctx, stack.Use{Action: "sts:GetCallerIdentity", On: "the credentials"}, err))
	}
	who, err := t.principal(ctx, aws.ToString(whose.Arn))
	if err != nil {
		return client.NotChecked(name, err)
	}
	queues := map[string]string{} // queue names by ARN
	in := url.Values{"PolicySourceArn": {who.String()}, "ActionNames.member.1": {"sqs:SendMessage"}}
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
		queues[of] = queue
		in.Set(fmt.Sprintf("ResourceArns.member.%d", len(queues)), of)
	}
	asked := len(queues)
	var answer struct {
		Results []struct{ EvalResourceName, EvalDecision string } `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
	}
	if err := t.aws.rights.Query(ctx, "SimulatePrincipalPolicy", in, &answer); err != nil {
		return client.NotChecked(name,
			stack.Failed(ctx, stack.Use{Action: "iam:SimulatePrincipalPolicy", On: who.String()}, err))
	}
	for _, r := range answer.Results {
		queue := queues[r.EvalResourceName]
		delete(queues, r.EvalResourceName)
		if r.EvalDecision != "allowed" {
			return client.Check{Name: name, Result: client.CheckFailed,
				Text: fmt.Sprintf("IAM does not allow %s to send to the queue %s (%s)", who, queue,
					r.EvalDecision),
				Fix: "attach the policy " + t.Outputs.Senders(queue) +
					" to it; an explicitDeny stands in another policy of it"}
		}
	}
	if len(queues) > 0 || asked == 0 {
		return client.NotChecked(name, fmt.Errorf("IAM did not answer for %d of %d queues", len(queues), asked))
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
	var found struct {
		Arn string `xml:"GetRoleResult>Role>Arn"`
	}
	err = t.aws.rights.Query(ctx, "GetRole", url.Values{"RoleName": {role}}, &found)
	switch {
	case err != nil:
		err = stack.Failed(ctx, stack.Use{Action: "iam:GetRole", On: a.String()}, err)
	case found.Arn != "":
		return arn.Parse(found.Arn)
	default:
		err = errors.New("IAM did not answer the ARN of the role")
	}
	if strings.HasPrefix(role, singleSignOn) {
		return a, fmt.Errorf("the path of the role %s of single sign-on is not known: %w", role, err)
	}
	return a, nil
}
