package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"
)

const cloudWatch = "cloudwatch.amazonaws.com"

// addTopics adds the topic of alerts, to which the functions publish, and the topic of alarms, to which
// CloudWatch publishes. A topic of the app replaces either.
func (s *Stepkeeper) addTopics() {
	if s.alerts = s.props.AlertTopic; s.alerts == nil {
		s.alerts = s.addTopic("Alerts", "Stepkeeper", s.key)
	}
	if s.props.Alarms == AlarmsNone {
		return
	}
	if s.alarms = s.props.AlarmTopic; s.alarms == nil {
		s.alarms = s.addTopic("Alarms", "Stepkeeper alarms", s.alarmKey())
	}
	condition := s.fromThisAccount()
	added := s.alarms.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: str("Alarms"), Principals: &[]awsiam.IPrincipal{
			awsiam.NewServicePrincipal(str(cloudWatch), nil)},
		Actions: jsii.Strings("sns:Publish"), Resources: &[]*string{s.alarms.TopicArn()},
		Conditions: &condition,
	}))
	ours := *added.StatementAdded
	if key := s.alarms.MasterKey(); ours && s.props.AlarmTopic != nil && key != nil {
		ours = s.allowAlarms(key)
	}
	if !ours {
		s.warn("alarm-topic",
			"AlarmTopic or its key was made elsewhere: their policies have to let cloudwatch.amazonaws.com "+
				"publish and use the key; otherwise alarms notify no subscriber")
	}
}

// addTopic adds an encrypted topic. A nil key means the account's key that AWS manages.
func (s *Stepkeeper) addTopic(id, name string, key awskms.IKey) awssns.ITopic {
	made := awssns.NewTopic(s.Construct, str(id), &awssns.TopicProps{
		EnforceSSL: jsii.Bool(true), MasterKey: key, DisplayName: str(name),
	})
	if key == nil {
		made.Node().DefaultChild().(awssns.CfnTopic).SetKmsMasterKeyId(str("alias/aws/sns"))
	}
	if s.props.AlarmEmail != "" {
		made.AddSubscription(awssnssubscriptions.NewEmailSubscription(str(s.props.AlarmEmail), nil))
	}
	return made
}

// alarmKey returns the key of the topic of alarms: the deployment's key, or a key of the topic alone. The
// policy of the key that AWS manages does not let CloudWatch publish, and nobody can change it.
func (s *Stepkeeper) alarmKey() awskms.IKey {
	if s.key != nil {
		return s.key
	}
	made := awskms.NewKey(s.Construct, str("AlarmsKey"), &awskms.KeyProps{
		Description:       str("Stepkeeper: topic of alarms"),
		EnableKeyRotation: jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	s.allowAlarms(made)
	return made
}

// allowAlarms lets alarms of this account use a key. It reports whether the key's policy can be changed here.
func (s *Stepkeeper) allowAlarms(key awskms.IKey) bool {
	return allowService(key, "Alarms", cloudWatch, s.fromThisAccount(), "kms:Decrypt", "kms:GenerateDataKey")
}

// fromThisAccount is a condition on the account for which a service acts.
func (s *Stepkeeper) fromThisAccount() map[string]any {
	return map[string]any{
		"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Stack_Of(s.Construct).Account()}}
}

// alertKey returns the permission for the key of an alert topic that has its own key.
func (s *Stepkeeper) alertKey() []awsiam.PolicyStatement {
	if key := s.alerts.MasterKey(); s.props.AlertTopic != nil && key != nil {
		return []awsiam.PolicyStatement{allow("AlertKey", useKey, key.KeyArn())}
	}
	return nil
}

// ownTopics returns the app's own topics by property; a missing one is nil.
func (p Props) ownTopics() map[string]awssns.ITopic {
	return map[string]awssns.ITopic{"AlertTopic": p.AlertTopic, "AlarmTopic": p.AlarmTopic}
}

// topics checks the app's own topics.
func (c *checker) topics(p Props) {
	for _, what := range sorted(p.ownTopics()) {
		if t := p.ownTopics()[what]; t != nil && *t.Fifo() {
			c.wrong("%s is a FIFO topic; it must be a standard one", what)
		}
	}
	if p.AlarmEmail != "" && p.AlertTopic != nil && (p.AlarmTopic != nil || p.Alarms == AlarmsNone) {
		c.wrong("AlarmEmail has no topic to subscribe to: AlertTopic and AlarmTopic are your own; " +
			"subscribe the address there")
	}
}
