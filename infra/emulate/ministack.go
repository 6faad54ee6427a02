// Package emulate changes a synthesised template where an emulator differs from AWS, so that templates for
// AWS need no changes for emulators.
package emulate

import (
	"slices"
	"strings"
)

// MiniStack changes a template for MiniStack 1.5.33 with policies enforced. It differs from
// AWS in four ways:
//
//   - A batch call of SQS needs its own action, such as sqs:SendMessageBatch; on AWS it needs
//     sqs:SendMessage. Statements that allow the single action get the batch action too, so that a
//     missing grant still fails.
//   - aws:PrincipalArn of a function is the ARN of its session; on AWS it is the ARN of its role.
//     Conditions on roles get the ARNs of the roles' sessions too.
//   - It refuses alarms on a calculation over several metrics. The template then has none of them.
//   - Ref of a secret is its name; on AWS it is its ARN. The attribute Id, its ARN on both, replaces Ref.
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

// sessions adds the sessions of the template's own roles.
func sessions(principals []any) []any {
	for _, p := range slices.Clone(principals) {
		get, _ := p.(map[string]any)
		of := listed(get["Fn::GetAtt"])
		if len(of) != 2 || of[1] != "Arn" {
			continue
		}
		if role, _ := of[0].(string); strings.Contains(role, "Role") {
			principals = append(principals,
				map[string]any{"Fn::Sub": "arn:aws:sts::${AWS::AccountId}:assumed-role/${" + role + "}/*"})
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
