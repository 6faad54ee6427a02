// Package emulate changes a synthesised template for an emulator that differs from AWS. Templates for AWS
// therefore contain no workarounds for emulators.
package emulate

import (
	"slices"
	"strings"
)

// MiniStack changes a template for the emulator MiniStack 1.5.33, if the emulator enforces IAM policies. The
// emulator differs from AWS in four ways:
//
//   - A batch call of SQS needs the permission for a separate action, such as sqs:SendMessageBatch. On AWS,
//     the call needs only sqs:SendMessage. This function adds the batch action to each statement that allows
//     the action for one message.
//   - The condition key aws:PrincipalArn contains the ARN of a Lambda function's session. On AWS, the key
//     contains the ARN of the function's role. This function adds the ARNs of the sessions to conditions on
//     roles.
//   - The emulator refuses alarms on a math expression over metrics. This function removes these alarms.
//   - Ref of a secret returns the name of the secret. On AWS, Ref returns the ARN. This function replaces
//     Ref by the attribute Id, which is the ARN in the emulator and on AWS.
func MiniStack(template map[string]any) error {
	resources, _ := template["Resources"].(map[string]any)
	walk(template, func(id any) bool {
		name, _ := id.(string)
		r, _ := resources[name].(map[string]any)
		return r["Type"] == "AWS::SecretsManager::Secret"
	})
	for id, r := range resources {
		if inside(r, "Properties")["Metrics"] != nil &&
			r.(map[string]any)["Type"] == "AWS::CloudWatch::Alarm" {
			delete(resources, id)
		}
	}
	return nil
}

var batches = []string{"sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}

func walk(v any, secret func(id any) bool) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			walk(e, secret)
		}
	case map[string]any:
		statement(x)
		if id := x["Ref"]; len(x) == 1 && secret(id) {
			delete(x, "Ref")
			x["Fn::GetAtt"] = []any{id, "Id"}
		}
		for _, e := range x {
			walk(e, secret)
		}
	}
}

func statement(s map[string]any) {
	action, is := s["Action"]
	if _, effect := s["Effect"].(string); !is || !effect {
		return
	}
	actions := listed(action)
	for _, a := range slices.Clone(actions) {
		if name, _ := a.(string); slices.Contains(batches, name) {
			actions = append(actions, name+"Batch")
		}
	}
	s["Action"] = actions
	condition, _ := s["Condition"].(map[string]any)
	unless, _ := condition["ArnNotEquals"].(map[string]any)
	if principals, there := unless["aws:PrincipalArn"]; there {
		delete(condition, "ArnNotEquals")
		condition["ArnNotLike"] = map[string]any{"aws:PrincipalArn": sessions(listed(principals))}
	}
}

func sessions(principals []any) []any {
	for _, p := range slices.Clone(principals) {
		get, _ := p.(map[string]any)
		of := listed(get["Fn::GetAtt"])
		if len(of) != 2 || of[1] != "Arn" {
			continue
		}
		if role, _ := of[0].(string); strings.Contains(role, "Role") {
			principals = append(principals,
				map[string]any{"Fn::Sub": "arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role/${" + role + "}/*"})
		}
	}
	return principals
}

func listed(v any) []any {
	switch x := v.(type) {
	case nil:
		return nil
	case []any:
		return x
	default:
		return []any{x}
	}
}
