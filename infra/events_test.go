package infra_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awseventstargets"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
)

// ordersFrom is the rule that docs/how-to/aws-queues.md shows.
func ordersFrom(stack awscdk.Stack, bus awsevents.IEventBus, engine *infra.Stepkeeper) {
	awsevents.NewRule(stack, jsii.String("Placed"), &awsevents.RuleProps{
		EventBus:     bus,
		EventPattern: &awsevents.EventPattern{DetailType: jsii.Strings("OrderPlaced")},
		Targets: &[]awsevents.IRuleTarget{awseventstargets.NewSqsQueue(engine.Intake(),
			&awseventstargets.SqsQueueProps{
				Message: awsevents.RuleTargetInput_FromObject(map[string]any{
					"schema": 1, "workflow": "order",
					"orderId": awsevents.EventField_FromPath(jsii.String("$.detail.id")),
					"order":   awsevents.EventField_FromPath(jsii.String("$.detail")),
				}),
			})},
	})
}

// The page shows the rule, whose events are submissions, and which variants of the template have.
func TestRuleIsDocumented(t *testing.T) {
	_, source, _ := strings.Cut(file(t, "infra", "events_test.go"), "*infra.Stepkeeper) {\n")
	source, _, _ = strings.Cut(source, "\n}\n")
	plain := strings.NewReplacer("\t", "", " ", "")
	require.Contains(t, plain.Replace(page(t, "aws-queues.md")), plain.Replace(source))
}
