package infra

import (
	"cmp"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/jsii-runtime-go"
)

// addKey sets the key that encrypts all data of the deployment (rule 22). The key is Props.Key, or a new key
// if Props.CustomerManagedKey is set. Otherwise AWS's own keys encrypt the data. addKey also allows
// CloudWatch alarms, EventBridge and CloudWatch Logs to use the key.
func (s *Stepkeeper) addKey() {
	if !s.props.managed() {
		return
	}
	s.key = s.props.Key
	if s.key == nil {
		s.key = awskms.NewKey(s.Construct, str("Key"), &awskms.KeyProps{
			Description:       str("Stepkeeper: orders, tasks, queues, alerts, logs"),
			EnableKeyRotation: jsii.Bool(true), RemovalPolicy: s.props.RemovalPolicy,
		})
		s.tagKey(s.key)
	}
	stack := awscdk.Stack_Of(s.Construct)
	group := stack.FormatArn(&awscdk.ArnComponents{
		Service: str("logs"), Resource: str("log-group"),
		ResourceName: str("*"), ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
	ours := s.allowAlarms(s.key)
	allowService(s.key, "Events", "events.amazonaws.com", s.fromThisAccount(), "kms:Decrypt",
		"kms:GenerateDataKey")
	// Unlike most services, CloudWatch Logs has another principal in each Region and each partition.
	allowService(s.key, "Logs", "logs."+*stack.Region()+"."+*stack.UrlSuffix(), map[string]any{
		"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": group},
	}, "kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey",
		"kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom", "kms:ReEncryptTo")
	if !ours {
		s.warn("key",
			"Key was made elsewhere, where its policy has to let cloudwatch.amazonaws.com, "+
				"events.amazonaws.com and the logs service of the Region use it; otherwise alarms notify "+
				"no subscriber")
	}
}

// keyTag is the tag of keys that the construct creates. docs/reference/aws-deploy-policy.json permits changes
// only of keys with this tag, because the ARN of a key does not contain the name of the stack.
const keyTag = "stepkeeper:stack"

// tagKey sets the tag of a key to the beginning of the names of the stack's other resources.
func (s *Stepkeeper) tagKey(key awskms.IKey) {
	name := cmp.Or(s.props.Names.Prefix, *awscdk.Stack_Of(s.Construct).StackName())
	awscdk.Tags_Of(key).Add(str(keyTag), &name, nil)
}

// allowService allows a service of AWS to use the key. It returns false if the app cannot change the key's
// policy.
func allowService(k awskms.IKey, sid, service string, conditions map[string]any, actions ...string) bool {
	result := k.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: str(sid), Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(str(service), nil)},
		Actions: jsii.Strings(actions...), Resources: jsii.Strings("*"), Conditions: &conditions,
	}), jsii.Bool(true))
	return *result.StatementAdded
}
