package infra_test

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// calls are what CloudFormation's handlers call for the resources of the template, as the
// resource types' schemas list them, without what the template does not use; and the ARN that a
// resource of the stack Shop has.
var calls = map[string]struct {
	arn     string
	actions []string
}{
	"AWS::CloudWatch::Alarm": {"arn:aws:cloudwatch:eu-central-1:ACCOUNT:alarm:Shop-x", []string{
		"cloudwatch:PutMetricAlarm", "cloudwatch:DeleteAlarms", "cloudwatch:DescribeAlarms", "cloudwatch:ListTagsForResource",
		"cloudwatch:TagResource", "cloudwatch:UntagResource"}},
	"AWS::DynamoDB::GlobalTable": {"arn:aws:dynamodb:eu-central-1:ACCOUNT:table/Shop-x", []string{
		"dynamodb:CreateTable", "dynamodb:DeleteTable", "dynamodb:UpdateTable", "dynamodb:DescribeTable", "dynamodb:DescribeContinuousBackups",
		"dynamodb:DescribeTimeToLive", "dynamodb:DescribeContributorInsights", "dynamodb:DescribeKinesisStreamingDestination",
		"dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTimeToLive", "dynamodb:UpdateContributorInsights", "dynamodb:GetResourcePolicy",
		"dynamodb:ListTagsOfResource", "dynamodb:TagResource", "dynamodb:UntagResource",
		"application-autoscaling:DescribeScalableTargets", "application-autoscaling:DescribeScalingPolicies"}},
	"AWS::Events::Rule": {"arn:aws:events:eu-central-1:ACCOUNT:rule/Shop-x", []string{
		"events:PutRule", "events:DeleteRule", "events:DescribeRule", "events:PutTargets", "events:RemoveTargets", "events:ListTargetsByRule",
		"events:TagResource", "events:UntagResource"}},
	"AWS::IAM::ManagedPolicy": {"arn:aws:iam::ACCOUNT:policy/Shop-x", []string{
		"iam:CreatePolicy", "iam:DeletePolicy", "iam:GetPolicy", "iam:CreatePolicyVersion", "iam:DeletePolicyVersion", "iam:GetPolicyVersion",
		"iam:ListPolicyVersions", "iam:ListEntitiesForPolicy", "iam:TagPolicy", "iam:UntagPolicy"}},
	"AWS::IAM::Role": {"arn:aws:iam::ACCOUNT:role/Shop-x", []string{
		"iam:CreateRole", "iam:DeleteRole", "iam:GetRole", "iam:UpdateRole", "iam:UpdateRoleDescription", "iam:UpdateAssumeRolePolicy",
		"iam:PutRolePolicy", "iam:DeleteRolePolicy", "iam:GetRolePolicy", "iam:ListRolePolicies", "iam:AttachRolePolicy", "iam:DetachRolePolicy",
		"iam:ListAttachedRolePolicies", "iam:TagRole", "iam:UntagRole", "iam:PassRole"}},
	"AWS::Lambda::EventInvokeConfig": {"arn:aws:lambda:eu-central-1:ACCOUNT:function:Shop-x", []string{
		"lambda:GetFunctionEventInvokeConfig", "lambda:PutFunctionEventInvokeConfig", "lambda:UpdateFunctionEventInvokeConfig",
		"lambda:DeleteFunctionEventInvokeConfig"}},
	"AWS::Lambda::EventSourceMapping": {"arn:aws:lambda:eu-central-1:ACCOUNT:event-source-mapping:x", []string{
		"lambda:CreateEventSourceMapping", "lambda:UpdateEventSourceMapping", "lambda:DeleteEventSourceMapping", "lambda:GetEventSourceMapping"}},
	"AWS::Lambda::Function": {"arn:aws:lambda:eu-central-1:ACCOUNT:function:Shop-x", []string{
		"lambda:CreateFunction", "lambda:DeleteFunction", "lambda:GetFunction", "lambda:GetFunctionConfiguration", "lambda:UpdateFunctionCode",
		"lambda:UpdateFunctionConfiguration", "lambda:PutFunctionConcurrency", "lambda:DeleteFunctionConcurrency", "lambda:GetFunctionRecursionConfig",
		"lambda:PutFunctionRecursionConfig", "lambda:GetFunctionCodeSigningConfig", "lambda:GetRuntimeManagementConfig",
		"lambda:GetFunctionScalingConfig", "lambda:TagResource", "lambda:UntagResource"}},
	"AWS::Lambda::Permission": {"arn:aws:lambda:eu-central-1:ACCOUNT:function:Shop-x", []string{
		"lambda:AddPermission", "lambda:RemovePermission", "lambda:GetPolicy"}},
	"AWS::Logs::LogGroup": {"arn:aws:logs:eu-central-1:ACCOUNT:log-group:Shop-x", []string{
		"logs:CreateLogGroup", "logs:DeleteLogGroup", "logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy", "logs:AssociateKmsKey",
		"logs:DisassociateKmsKey", "logs:GetDataProtectionPolicy", "logs:DescribeLogGroups", "logs:ListTagsForResource", "logs:ListTagsLogGroup",
		"logs:TagResource", "logs:UntagResource", "logs:TagLogGroup", "logs:UntagLogGroup"}},
	"AWS::SNS::Subscription": {"arn:aws:sns:eu-central-1:ACCOUNT:Shop-x", []string{
		"sns:Subscribe", "sns:Unsubscribe", "sns:GetSubscriptionAttributes", "sns:ListSubscriptionsByTopic"}},
	"AWS::SNS::Topic": {"arn:aws:sns:eu-central-1:ACCOUNT:Shop-x", []string{
		"sns:CreateTopic", "sns:DeleteTopic", "sns:GetTopicAttributes", "sns:SetTopicAttributes", "sns:ListSubscriptionsByTopic",
		"sns:GetDataProtectionPolicy", "sns:ListTagsForResource", "sns:TagResource", "sns:UntagResource"}},
	"AWS::SNS::TopicPolicy": {"arn:aws:sns:eu-central-1:ACCOUNT:Shop-x", []string{"sns:SetTopicAttributes", "sns:GetTopicAttributes"}},
	"AWS::SQS::Queue": {"arn:aws:sqs:eu-central-1:ACCOUNT:Shop-x", []string{
		"sqs:CreateQueue", "sqs:DeleteQueue", "sqs:GetQueueAttributes", "sqs:SetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags",
		"sqs:TagQueue", "sqs:UntagQueue"}},
	"AWS::SQS::QueuePolicy": {"arn:aws:sqs:eu-central-1:ACCOUNT:Shop-x", []string{"sqs:SetQueueAttributes", "sqs:GetQueueAttributes"}},
	"AWS::Scheduler::Schedule": {"arn:aws:scheduler:eu-central-1:ACCOUNT:schedule/default/Shop-x", []string{
		"scheduler:CreateSchedule", "scheduler:UpdateSchedule", "scheduler:DeleteSchedule", "scheduler:GetSchedule"}},
	// Not of a template: the functions' code, and whether the account is prepared for the CDK.
	"assets":    {"arn:aws:s3:::cdk-hnb659fds-assets-ACCOUNT-eu-central-1/x", []string{"s3:GetObject"}},
	"bootstrap": {"arn:aws:ssm:eu-central-1:ACCOUNT:parameter/cdk-bootstrap/hnb659fds/version", []string{"ssm:GetParameters"}},
}

// ownDocs are kinds of resources that the page lists beside the policy, by the setting that makes them.
var ownDocs = map[string]string{"AWS::KMS::Key": "CustomerManagedKey", "AWS::SecretsManager::Secret": "TokenKeys"}

type deployPolicy struct {
	Statement []struct {
		Sid       string
		Action    any
		Resource  any
		Condition any
	}
}

func texts(v any) (all []string) {
	for _, x := range list(v) {
		all = append(all, x.(string))
	}
	return all
}

func (d deployPolicy) allows(action, arn string) bool {
	for _, s := range d.Statement {
		for _, a := range texts(s.Action) {
			if fits, _ := path.Match(a, action); !fits {
				continue
			}
			for _, r := range texts(s.Resource) {
				if r = strings.ReplaceAll(r, "STACK", "Shop"); r == "*" || like(r, arn) {
					return true
				}
			}
		}
	}
	return false
}

// like matches as IAM does: a * stands for any text, slashes and colons too.
func like(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(text, first) {
		return false
	}
	if text = text[len(first):]; !star {
		return text == ""
	}
	for i := range len(text) + 1 {
		if like(rest, text[i:]) {
			return true
		}
	}
	return false
}

// docs/aws-deploy-policy.json is enough for every resource of the template, and has nothing besides.
func TestDeployPolicy(t *testing.T) {
	data, err := os.ReadFile("../docs/aws-deploy-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/aws.md")
	if err != nil {
		t.Fatal(err)
	}
	var policy deployPolicy
	if err := json.Unmarshal(data, &policy); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{"assets": true, "bootstrap": true}
	for _, change := range []func(awscdk.Stack, *infra.Props){nil, func(_ awscdk.Stack, p *infra.Props) {
		p.EventBridgeRule, p.CustomerManagedKey, p.FinishedOrders, p.TaskTTL = true, true, true, time.Hour
	}} {
		for _, r := range template(t, change).Resources {
			kinds[r.Type] = true
		}
	}
	needed := map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if setting := ownDocs[kind]; setting != "" {
			if !strings.Contains(string(page), "| `"+setting+"`") {
				t.Errorf("docs/aws.md does not say what %s needs to deploy", setting)
			}
			continue
		}
		c, known := calls[kind]
		if !known {
			t.Errorf("the template has a %s: say here, and in docs/aws-deploy-policy.json, what deploying it needs", kind)
		}
		for _, action := range c.actions {
			needed[action] = true
			if !policy.allows(action, c.arn) {
				t.Errorf("%s: docs/aws-deploy-policy.json does not allow %s on %s", kind, action, c.arn)
			}
			if kind != "assets" && kind != "bootstrap" && policy.allows(action, strings.ReplaceAll(c.arn, "Shop", "Other")) && !lookups[action] {
				t.Errorf("%s: docs/aws-deploy-policy.json allows %s on resources of other stacks", kind, action)
			}
		}
	}
	for kind := range calls {
		if !kinds[kind] {
			t.Errorf("no template has a %s any more", kind)
		}
	}
	for _, s := range policy.Statement {
		for _, action := range texts(s.Action) {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(needed)), func(n string) bool { fits, _ := path.Match(action, n); return fits }) {
				t.Errorf("statement %s: nothing needs %s", s.Sid, action)
			}
		}
	}
}

// lookups know no resources, or ones that have no names of the stack's; the mappings are bound by a
// condition.
var lookups = map[string]bool{
	"lambda:GetEventSourceMapping": true, "logs:DescribeLogGroups": true, "cloudwatch:DescribeAlarms": true,
	"application-autoscaling:DescribeScalableTargets": true, "application-autoscaling:DescribeScalingPolicies": true,
	"lambda:CreateEventSourceMapping": true, "lambda:UpdateEventSourceMapping": true, "lambda:DeleteEventSourceMapping": true,
}
