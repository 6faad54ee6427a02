package infra

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Sizes in characters. environmentSize is Lambda's limit for an environment. The other sizes are estimates of
// the longest values that CloudFormation inserts for references.
const (
	environmentSize = 4_096
	roleIDSize      = 21
	referenceSize   = 80
	urlSize         = 140
	arnLongest      = 160
)

// environmentsFit returns an error for each function of the app whose environment exceeds Lambda's limit.
func (s *Stepkeeper) environmentsFit() error {
	var errs []error
	for _, name := range sorted(s.functions) {
		made, own := s.functions[name].Node().DefaultChild().(awslambda.CfnFunction)
		if !own {
			continue
		}
		if n := size(awscdk.Stack_Of(made).Resolve(made.Environment())); n > environmentSize {
			errs = append(errs, fmt.Errorf("function %s: its environment would have some %d bytes, and "+
				"Lambda takes %d; give the stack, the agents or the reply-to queues shorter names, have "+
				"fewer Priorities, or make a second deployment", *s.functions[name].Node().Id(), n, environmentSize))
		}
	}
	return errors.Join(errs...)
}

// policyLimits contains the limits of policies, in characters without white space, by resource type. The main
// sources are the pages "IAM and AWS STS quotas" and "Amazon SQS policy quotas". Managed policies are not
// listed, because Stepkeeper.split divides them.
var policyLimits = map[string]struct {
	limit, principals int // 0 means no limit
	do                string
}{
	"AWS::IAM::Role": {
		10_240, 0,
		"give its agent fewer Secrets, or the deployment fewer ReplyTo; or make a second deployment",
	},
	"AWS::IAM::Policy": {10_240, 0, "grant its role less"},
	"AWS::SQS::QueuePolicy": {
		8_192, 50,
		"have fewer Operators, Submitters and SenderARNs: name roles that users assume, instead of users",
	},
	"AWS::SNS::TopicPolicy": {30_720, 0, "grant fewer principals to publish"},
	"AWS::KMS::Key":         {32_768, 0, "grant fewer principals the key"},
}

// policySizes is a CDK validation that checks the sizes of all policies in construct. The CDK runs the
// validation after the app has added its grants.
type policySizes struct{ construct constructs.Construct }

// Validate returns a message for each policy that exceeds its limit.
func (p *policySizes) Validate() *[]*string {
	problems := []*string{}
	stack := awscdk.Stack_Of(p.construct)
	for _, c := range *p.construct.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		var document any
		switch r := c.(type) {
		case awsiam.CfnRole:
			document = r.Policies()
		case awsiam.CfnPolicy:
			document = r.PolicyDocument()
		case awssqs.CfnQueuePolicy:
			document = r.PolicyDocument()
		case awssns.CfnTopicPolicy:
			document = r.PolicyDocument()
		case awskms.CfnKey:
			document = r.KeyPolicy()
		}
		if document == nil {
			continue
		}
		document = stack.Resolve(document)
		of := policyLimits[*c.(awscdk.CfnResource).CfnResourceType()]
		refuse := func(n int, what string, limit int) {
			if n > limit && limit > 0 {
				problems = append(problems, jsii.Sprintf("%s: its policies would have some %d %s, and AWS takes %d; %s",
					*c.Node().Path(), n, what, limit, of.do))
			}
		}
		refuse(size(document), "characters", of.limit)
		refuse(principals(document), "principals", of.principals)
	}
	return &problems
}

// principals counts the principals in the statements of a policy.
func principals(document any) (n int) {
	policy, _ := document.(map[string]any)
	statements, _ := policy["Statement"].([]any)
	for _, s := range statements {
		statement, _ := s.(map[string]any)
		named, _ := statement["Principal"].(map[string]any)
		several, _ := named["AWS"].([]any)
		n += max(1, len(several))
	}
	return n
}

func size(v any) int {
	switch x := v.(type) {
	case string:
		return len(x)
	case []any:
		n := 0
		for _, e := range x {
			n += size(e)
		}
		return n
	case map[string]any:
		if len(x) == 1 {
			for name, argument := range x {
				if n, reference := sizeOfReference(name, argument); reference {
					return n
				}
			}
		}
		n := 0
		for key, e := range x {
			n += len(key) + size(e) + len(`"":"",`)
		}
		return n
	}
	return 0
}

// sizeOfReference returns the approximate size of the value that CloudFormation inserts for Ref, Fn::GetAtt,
// Fn::ImportValue or Fn::Join. It returns false for any other object.
func sizeOfReference(name string, argument any) (n int, is bool) {
	list, _ := argument.([]any)
	switch {
	case name == "Ref" && strings.HasPrefix(fmt.Sprint(argument), "AWS::"):
		return len("ap-southeast-2"), true
	case name == "Fn::ImportValue" && strings.Contains(fmt.Sprint(argument), "FnGetAtt"):
		return arnLongest, true
	case name == "Fn::ImportValue":
		return referenceSize, true
	case name == "Ref": // the longest result of Ref is the URL of a queue
		return urlSize, true
	case name == "Fn::GetAtt" && len(list) == 2:
		switch list[1] {
		case "RoleId":
			return roleIDSize, true
		case "QueueName":
			return referenceSize, true
		}
		return arnLongest, true
	case name == "Fn::Join" && len(list) == 2:
		if split, is := list[1].(map[string]any); is { // Stepkeeper.peers removes a prefix with Fn::Split
			parts, _ := split["Fn::Split"].([]any)
			return max(0, referenceSize-len(fmt.Sprint(parts[0]))) + 1, true
		}
		return size(list[1]), true
	}
	return 0, false
}
