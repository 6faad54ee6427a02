package operate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
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
		return client.NotChecked(name, aws.Failed(ctx, aws.Use{Action: "sts:GetCallerIdentity", On: "the credentials"}, err))
	}
	who, err := t.principal(ctx, sdk.ToString(whose.Arn))
	if err != nil {
		return client.NotChecked(name, err)
	}
	arns, queues := t.sendQueues(who)
	results, err := t.simulate(ctx, who, arns)
	if err != nil {
		return client.NotChecked(name,
			aws.Failed(ctx, aws.Use{Action: "iam:SimulatePrincipalPolicy", On: who.String()}, err))
	}
	for _, r := range results {
		queue := queues[r.EvalResourceName]
		delete(queues, r.EvalResourceName)
		if r.EvalDecision != "allowed" {
			return client.Checked(name, false,
				fmt.Sprintf("IAM does not allow %s to send to the queue %s (%s)", who, queue, r.EvalDecision),
				"attach the policy "+t.Outputs.Senders(queue)+" to it; an explicitDeny stands in another policy of it")
		}
	}
	if len(queues) > 0 || len(arns) == 0 {
		return client.NotChecked(name, fmt.Errorf("IAM did not answer for %d of %d queues", len(queues), len(arns)))
	}
	return client.Checked(name, true, fmt.Sprintf("IAM allows %s to send orders and commands; the policies of the queues "+
		"and of their key were not checked", who), "")
}

// sendQueues returns the ARNs of the queues that take orders and commands, and the queues' names by ARN. The
// sequence is fixed, so that each run names the same queue first.
func (t *transport) sendQueues(who arn.ARN) (arns []string, names map[string]string) {
	names = map[string]string{}
	for _, queue := range []struct{ name, place string }{
		{port.Intake, t.Outputs.Intake},
		{port.High(port.Intake), t.Outputs.High[port.Intake]},
		{port.Control, t.Outputs.Control},
	} {
		u, err := url.Parse(queue.place)
		if err != nil || queue.place == "" {
			continue
		}
		account, resource, found := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
		if !found {
			continue
		}
		of := arn.ARN{
			Partition: who.Partition, Service: "sqs", Region: t.Outputs.Region, AccountID: account,
			Resource: resource,
		}.String()
		arns = append(arns, of)
		names[of] = queue.name
	}
	return arns, names
}

// evaluation is the decision of IAM about one queue.
type evaluation struct{ EvalResourceName, EvalDecision string }

// simulate asks IAM whether a role or a user may send to the queues.
func (t *transport) simulate(ctx context.Context, who arn.ARN, queues []string) ([]evaluation, error) {
	in := url.Values{"PolicySourceArn": {who.String()}, "ActionNames.member.1": {"sqs:SendMessage"}}
	for i, queue := range queues {
		in.Set(fmt.Sprintf("ResourceArns.member.%d", i+1), queue)
	}
	var answer struct {
		Results []evaluation `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
	}
	err := t.aws.rights.Query(ctx, "SimulatePrincipalPolicy", in, &answer)
	return answer.Results, err
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
	a.Service = "iam"
	a.Resource = "role/" + role
	var found struct {
		Arn string `xml:"GetRoleResult>Role>Arn"`
	}
	err = t.aws.rights.Query(ctx, "GetRole", url.Values{"RoleName": {role}}, &found)
	switch {
	case err != nil:
		err = aws.Failed(ctx, aws.Use{Action: "iam:GetRole", On: a.String()}, err)
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
