package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

const cloudWatch = "cloudwatch.amazonaws.com"

func (s *Stepkeeper) addTopics() {
	s.alerts = s.props.AlertTopic
	if s.alerts == nil {
		s.alerts = s.addTopic("Alerts", "Stepkeeper", s.key)
	}
	if s.props.Alarms == AlarmsNone {
		return
	}
	s.alarms = s.props.AlarmTopic
	if s.alarms == nil {
		s.alarms = s.addTopic("Alarms", "Stepkeeper alarms", s.alarmKey())
	}
	condition := s.fromThisAccount()
	added := s.alarms.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid: str("Alarms"), Principals: &[]awsiam.IPrincipal{
			awsiam.NewServicePrincipal(str(cloudWatch), nil),
		},
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

// subscribers is a CDK validation that warns if a deployment for production has a topic without a subscriber. The
// CDK runs it after the app has added its subscriptions.
type subscribers struct{ s *Stepkeeper }

// Validate returns no problem, because a person may subscribe to the topic after the deployment.
func (v *subscribers) Validate() *[]*string {
	var silent []string
	for _, t := range []struct {
		name  string
		topic awssns.ITopic
	}{{"Alerts (orders that need a person)", v.s.alerts}, {"Alarms", v.s.alarms}} {
		// The subscriptions of an imported topic are unknown.
		if t.topic != nil && t.topic.Node().DefaultChild() != nil && !subscribed(t.topic) {
			silent = append(silent, t.name)
		}
	}
	if len(silent) > 0 {
		v.s.warn("no-subscriber", "nobody receives what these topics publish, because they have no subscriber: "+
			"%s; set AlarmEmail, or subscribe to the topics; acknowledge this warning if you subscribe outside "+
			"the app", strings.Join(silent, ", "))
	}
	return &[]*string{}
}

// subscribed reports whether the app has a subscription to the topic, in any stack.
func subscribed(topic awssns.ITopic) bool {
	stack := awscdk.Stack_Of(topic)
	own := fmt.Sprint(stack.Resolve(topic.TopicArn()))
	for _, c := range *topic.Node().Root().Node().FindAll(constructs.ConstructOrder_PREORDER) {
		if s, is := c.(awssns.CfnSubscription); is && fmt.Sprint(stack.Resolve(s.TopicArn())) == own {
			return true
		}
	}
	return false
}

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

// alarmKey returns the deployment's key or, if the deployment has no key, a new key. The alarm topic cannot
// use the key alias/aws/sns, because the policy of this key does not allow CloudWatch to use it.
func (s *Stepkeeper) alarmKey() awskms.IKey {
	if s.key != nil {
		return s.key
	}
	made := awskms.NewKey(s.Construct, str("AlarmsKey"), &awskms.KeyProps{
		Description:       str("Stepkeeper: topic of alarms"),
		EnableKeyRotation: jsii.Bool(true), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	s.tagKey(made)
	s.allowAlarms(made)
	return made
}

func (s *Stepkeeper) allowAlarms(key awskms.IKey) bool {
	return allowService(key, "Alarms", cloudWatch, s.fromThisAccount(), "kms:Decrypt", "kms:GenerateDataKey")
}

func (s *Stepkeeper) fromThisAccount() map[string]any {
	return map[string]any{
		"StringEquals": map[string]any{"aws:SourceAccount": awscdk.Stack_Of(s.Construct).Account()},
	}
}

// topics returns the ARNs of the topics for alerts and alarms.
func (s *Stepkeeper) topics() []*string {
	arns := []*string{s.alerts.TopicArn()}
	if s.alarms != nil {
		arns = append(arns, s.alarms.TopicArn())
	}
	return arns
}

func (s *Stepkeeper) alertKey() []*string {
	if key := s.alerts.MasterKey(); s.props.AlertTopic != nil && key != nil {
		return []*string{key.KeyArn()}
	}
	return nil
}

func (p Props) ownTopics() map[string]awssns.ITopic {
	return map[string]awssns.ITopic{"AlertTopic": p.AlertTopic, "AlarmTopic": p.AlarmTopic}
}

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
