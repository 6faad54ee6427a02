package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// Accept suppresses a rule of cdk-nag for a resource, and records the reason in the template. Only apps that
// run cdk-nag need Accept.
func Accept(c constructs.IConstruct, rule, reason string) {
	resource, is := c.Node().DefaultChild().(awscdk.CfnResource)
	if !is {
		return
	}
	resource.AddMetadata(str("cdk_nag"), map[string]any{
		"rules_to_suppress": []any{map[string]any{"id": rule, "reason": reason}},
	})
}
