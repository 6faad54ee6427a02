package infra_test

import (
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// deployed is a template as CloudFormation deploys it in the stack Test.
func deployed(x tmpl) resolved { return resolved{tmpl: x, stack: "Test", region: region} }

// A changed setting of one function publishes its next version, and leaves the others' versions.
func TestVersionFollowsSettings(t *testing.T) {
	versions := func(x tmpl) map[string]string {
		found := map[string]string{}
		for id, v := range x.Resources {
			if v.Type == "AWS::Lambda::Version" {
				found[target(v.Properties["FunctionName"])] = id
			}
		}
		return found
	}
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		withVersions(stack, p)
		p.EventBridgeRule = true
		p.Tuning.SchedulerMemory = 512
		p.Tuning.ReservedSupervisors = 3
	})
	same(t, "rule calls", deployed(x).value(at(x.of("AWS::Events::Rule")["Rule"].Properties, "Targets", 0,
		"Arn")), deployed(x).ref(x.id("AWS::Lambda::Alias", "SupervisorAlias")))
	before := versions(templateOf(t, "versions"))
	after := versions(x)
	for function, version := range before {
		same(t, function+": a new version", after[function] != version, function == "Scheduler")
	}
}
