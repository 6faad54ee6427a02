package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

func withVersions(_ awscdk.Stack, p *infra.Props) { p.Versions = true }

func withCanary(_ awscdk.Stack, p *infra.Props) {
	p.Canary = awscodedeploy.LambdaDeploymentConfig_CANARY_10PERCENT_5MINUTES()
}

// deployed is a template as CloudFormation deploys it in the stack Test.
func deployed(x tmpl) resolved { return resolved{tmpl: x, stack: "Test", region: region} }

// ours are the functions of the example, by the beginning of their alarms' IDs.
var ours = map[string]string{
	"Scheduler": "Scheduler", "Supervisor": "Supervisor",
	"Inventory": "AgentInventory", "Payment": "AgentPayment", "Shipping": "AgentShipping",
	"Notification": "AgentNotification",
}

// What calls a function calls its alias: mappings, the schedule, and the metrics of alarms. The outputs have
// the function's own name, which commands and dimensions need.
func TestVersions(t *testing.T) {
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		withVersions(stack, p)
		p.Tuning.ReservedSupervisors = 3
	})
	r := deployed(x)
	live := map[string]string{}
	for id, a := range x.of("AWS::Lambda::Alias") {
		name := strings.TrimSuffix(id, "Alias")
		function := x.id("AWS::Lambda::Function", name)
		version := x.Resources[at(a.Properties, "FunctionVersion", "Fn::GetAtt", 0).(string)]
		same(t, id+": version of", at(version.Properties, "FunctionName", "Ref"), function)
		live[name] = r.arn(function) + ":live"
	}
	same(t, "aliases", slices.Sorted(maps.Keys(live)),
		"[AgentInventory AgentNotification AgentPayment AgentShipping Scheduler Supervisor]")
	for id, m := range x.of("AWS::Lambda::EventSourceMapping") {
		name := strings.TrimSuffix(id, "Mapping")
		if !strings.HasPrefix(id, "Agent") {
			name = "Scheduler"
		}
		_, alias, _ := strings.Cut(live[name], ":function:")
		same(t, id+": calls", r.value(m.Properties["FunctionName"]), alias)
		same(t, id+": concurrency", at(m.Properties, "ScalingConfig", "MaximumConcurrency"), 5)
	}
	schedule := x.of("AWS::Scheduler::Schedule")["Schedule"].Properties
	same(t, "schedule calls", r.value(at(schedule, "Target", "Arn")), live["Supervisor"])
	for _, p := range list(x.of("AWS::IAM::Role")["ScheduleRole"].Properties["Policies"]) {
		same(t, "schedule may call", r.value(at(p, "PolicyDocument", "Statement", 0, "Resource")),
			live["Supervisor"])
	}
	invocations := x.of("AWS::Lambda::EventInvokeConfig")["SupervisorInvocations"]
	same(t, "retries of", invocations.Properties["Qualifier"], "live")
	same(t, "retries wait for", slices.Contains(list(invocations.DependsOn),
		any(x.id("AWS::Lambda::Alias", "SupervisorAlias"))), true)
	same(t, "reserved",
		x.of("AWS::Lambda::Function")["Supervisor"].Properties["ReservedConcurrentExecutions"], 3)
	alarms := x.of("AWS::CloudWatch::Alarm")
	for prefix, function := range ours {
		_, name, _ := strings.Cut(live[function], ":function:")
		for _, id := range []string{prefix + "ErrorsAlarm", prefix + "ThrottlesAlarm"} {
			same(t, id, r.value(alarms[id].Properties["Dimensions"]), []any{
				map[string]any{"Name": "FunctionName", "Value": strings.TrimSuffix(name, ":live")},
				map[string]any{"Name": "Resource", "Value": name},
			})
		}
	}
	same(t, "sweeps watched", fmt.Sprint(r.value(at(alarms["NoSweepsAlarm"].Properties, "Dimensions", 1,
		"Value"))), strings.SplitN(live["Supervisor"], ":function:", 2)[1])
	for output, function := range map[string]string{
		"EngineSchedulerFunction":  "Scheduler",
		"EngineSupervisorFunction": "Supervisor", "EngineAgentPaymentFunction": "AgentPayment",
	} {
		same(t, output, r.value(x.Outputs[output].Value), r.name(x.id("AWS::Lambda::Function", function)))
	}
	for _, p := range loose(x) {
		t.Error(p)
	}
	same(t, "by default", len(template(t, nil).of("AWS::Lambda::Version")), 0)
}

// A changed setting of one function publishes its next version, and leaves the others' versions.
func TestVersionFollowsSettings(t *testing.T) {
	versions := func(shards int) map[string]string {
		x := template(t, func(stack awscdk.Stack, p *infra.Props) {
			withVersions(stack, p)
			p.EventBridgeRule = true
			p.Tuning.SchedulerMemory = shards
		})
		same(t, "rule calls", deployed(x).value(at(x.of("AWS::Events::Rule")["Rule"].Properties, "Targets", 0,
			"Arn")), deployed(x).ref(x.id("AWS::Lambda::Alias", "SupervisorAlias")))
		found := map[string]string{}
		for id, v := range x.Resources {
			if v.Type == "AWS::Lambda::Version" {
				found[target(v.Properties["FunctionName"])] = id
			}
		}
		return found
	}
	before := versions(256)
	after := versions(512)
	for function, version := range before {
		same(t, function+": a new version", after[function] != version, function == "Scheduler")
	}
}

// CodeDeploy moves each alias, and moves it back on the alarm of its function.
func TestCanary(t *testing.T) {
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		withCanary(stack, p)
		p.Alarms = infra.AlarmsEssential
	})
	r := deployed(x)
	groups := x.of("AWS::CodeDeploy::DeploymentGroup")
	same(t, "groups", len(groups), len(ours))
	for prefix, function := range ours {
		g := groups[prefix+"Canary"].Properties
		same(t, prefix+": shift", g["DeploymentConfigName"],
			"CodeDeployDefault.LambdaCanary10Percent5Minutes")
		for i, kind := range []string{"Errors", "Returned"} {
			same(t, prefix+": back on", target(at(g, "AlarmConfiguration", "Alarms", i, "Name")),
				prefix+kind+"Alarm")
		}
		same(t, prefix+": back on", at(g, "AutoRollbackConfiguration"),
			"map[Enabled:true Events:[DEPLOYMENT_FAILURE DEPLOYMENT_STOP_ON_ALARM]]")
		update := x.of("AWS::Lambda::Alias")[function+"Alias"].UpdatePolicy
		same(t, prefix+": alias moved by",
			target(at(update, "CodeDeployLambdaAliasUpdate", "DeploymentGroupName")), prefix+"Canary")
	}
	var may []string
	for _, p := range list(x.of("AWS::IAM::Role")["CanaryRole"].Properties["Policies"]) {
		for _, s := range list(at(p, "PolicyDocument", "Statement")) {
			may = append(may, fmt.Sprint(at(s, "Action")))
			for _, on := range list(at(s, "Resource")) {
				may = append(may, fmt.Sprint(r.value(on)))
			}
		}
	}
	for _, want := range []string{
		"[lambda:GetAlias lambda:GetProvisionedConcurrencyConfig lambda:UpdateAlias]",
		r.arn(x.id("AWS::Lambda::Function", "Scheduler")) + ":live", "cloudwatch:DescribeAlarms",
		r.arn(x.id("AWS::CloudWatch::Alarm", "PaymentErrorsAlarm")),
		r.arn(x.id("AWS::CloudWatch::Alarm", "SupervisorReturnedAlarm")),
	} {
		same(t, "may "+want, slices.Contains(may, want), true)
	}
	for _, p := range loose(x) {
		t.Error(p)
	}
	needNode(t)
	_, stack := newStack("Refused")
	p := shop(stack)
	withCanary(stack, p)
	p.Alarms = infra.AlarmsNone
	defer func() {
		if text := fmt.Sprint(recover()); !strings.Contains(text, "Canary rolls back on") {
			t.Error(text)
		}
	}()
	infra.NewStepkeeper(stack, "Engine", p)
}

// An agent's own function may be an alias: its mapping calls the alias, and its settings go to the function.
func TestAgentByAlias(t *testing.T) {
	code := t.TempDir()
	if err := os.WriteFile(filepath.Join(code, "bootstrap"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		withCanary(stack, p)
		f := awslambda.NewFunction(stack, str("Mine"), &awslambda.FunctionProps{
			Runtime: awslambda.Runtime_PROVIDED_AL2023(), Handler: str("bootstrap"),
			Timeout: awscdk.Duration_Minutes(jsii.Number(1)),
			Code:    awslambda.Code_FromAsset(str(code), nil),
		})
		p.Agents["shipping"] = infra.Agent{Function: awslambda.NewAlias(stack, str("Mine-now"),
			&awslambda.AliasProps{AliasName: str("now"), Version: f.CurrentVersion()})}
	})
	r := deployed(x)
	function := ""
	for id, f := range x.Resources {
		if strings.HasPrefix(id, "Mine") && f.Type == "AWS::Lambda::Function" {
			function = id
		}
	}
	same(t, "mapping calls", r.value(x.of("AWS::Lambda::EventSourceMapping")["AgentShippingMapping"].
		Properties["FunctionName"]), r.name(function)+":now")
	same(t, "output", r.value(x.Outputs["EngineAgentShippingFunction"].Value), r.name(function))
	same(t, "name as an agent", at(x.Resources[function].Properties, "Environment", "Variables",
		"STEPKEEPER_AGENT"), "shipping")
	same(t, "loop", x.Resources[function].Properties["RecursiveLoop"], "Allow")
	same(t, "groups", len(x.of("AWS::CodeDeploy::DeploymentGroup")), 5)
}
