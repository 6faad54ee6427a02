package aws_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// The managed policies of the template allow what this package calls (rule 21): both everything but
// listings, the operator's these too.
func TestPoliciesAllowWhatIsCalled(t *testing.T) {
	data, err := os.ReadFile("../../infra/testdata/shop.template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &template); err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, r := range template.Resources {
		if r.Type != "AWS::IAM::ManagedPolicy" {
			continue
		}
		found++
		var p struct {
			PolicyDocument struct {
				Statement []struct{ Action, Resource json.RawMessage }
			}
		}
		if err := json.Unmarshal(r.Properties, &p); err != nil {
			t.Fatal(err)
		}
		needed := map[string][]string{
			"sqs:SendMessage": {"EngineIntake", "EngineControl"}, "dynamodb:GetItem": {"EngineOrders", "EngineTasks", "EngineDefinitions"},
			"cloudformation:DescribeStacks": {"AWS::StackId"},
		}
		operator := strings.Contains(name, "Operator")
		if operator {
			needed["dynamodb:Query"] = []string{"/index/complete-by"}
			needed["sqs:GetQueueAttributes"] = []string{"EngineIntake", "EngineReplies", "EngineControl", "EngineRequestsPayment"}
			needed["cloudwatch:GetMetricData"] = []string{`"*"`}
			for _, action := range []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes"} {
				needed[action] = append(needed[action], "EngineIntakeDead", "EngineRepliesDead", "EngineControlDead", "EngineRequestsPaymentDead", "EngineQuarantine", "EngineMissedSweeps")
			}
			needed["sqs:SendMessage"] = append(needed["sqs:SendMessage"], "EngineReplies", "EngineRequestsPayment") // of a redrive
			needed["lambda:GetEventSourceMapping"] = []string{"EngineIntakeMapping", "EngineRepliesMapping", "EngineControlMapping", "EngineAgentPaymentMapping"}
		}
		for action, resources := range needed {
			for _, resource := range resources {
				if !slices.ContainsFunc(p.PolicyDocument.Statement, func(s struct{ Action, Resource json.RawMessage }) bool {
					return strings.Contains(string(s.Action), `"`+action+`"`) && strings.Contains(string(s.Resource), resource)
				}) {
					t.Errorf("%s does not allow %s on %s", name, action, resource)
				}
			}
		}
		for _, more := range []string{"dynamodb:Query", "sqs:GetQueueAttributes", "lambda:GetEventSourceMapping", "cloudwatch:GetMetricData"} {
			if !operator && strings.Contains(string(r.Properties), more) {
				t.Errorf("%s allows %s; the package's comment says that it does not", name, more)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d managed policies", found)
	}
}
