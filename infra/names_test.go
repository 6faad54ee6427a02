package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"github.com/stepkeeper/stepkeeper/infra"
)

// prescribed names, limits and tags everything.
func prescribed(stack awscdk.Stack, p *infra.Props) {
	p.Names = infra.Names{
		Prefix: "Shop", Path: "/stepkeeper/", LogGroups: "/aws/lambda/",
		PermissionsBoundary: awsiam.ManagedPolicy_FromManagedPolicyArn(stack, str("Boundary"),
			str("arn:aws:iam::"+account+":policy/boundary")),
	}
	p.Tags = map[string]string{"cost-center": "42"}
}

// names are those that the template gives, by the type of resource.
func names(x tmpl) map[string][]string {
	all := map[string][]string{}
	for id, r := range x.Resources {
		kind := r.Type[strings.LastIndex(r.Type, ":")+1:]
		for _, property := range []string{strings.TrimPrefix(kind, "Global") + "Name", "Name"} {
			if name := r.Properties[property]; name != nil && kind != "Permission" {
				all[kind] = append(all[kind], plainID(id)+"="+target(name))
			}
		}
	}
	for _, named := range all {
		slices.Sort(named)
	}
	return all
}

// All resources that can have one get a name, a path, a boundary and the tags.
func TestNames(t *testing.T) {
	x := template(t, prescribed)
	got := names(x)
	same(t, "named types", slices.Sorted(maps.Keys(got)), "[Alarm Function GlobalTable LogGroup "+
		"ManagedPolicy Queue Role Schedule Topic]")
	same(t, "policies", got["ManagedPolicy"], "[Application=Shop-Application Operator=Shop-Operator]")
	same(t, "log groups", got["LogGroup"][4:], "[SchedulerLogs=/aws/lambda/Shop-Scheduler "+
		"SupervisorLogs=/aws/lambda/Shop-Supervisor]")
	for kind, named := range got {
		for _, text := range named {
			id, name, _ := strings.Cut(text, "=")
			if kind != "LogGroup" && name != "Shop-"+id {
				t.Errorf("%s %s is called %s", kind, id, name)
			}
		}
	}
	for id, r := range x.of("AWS::IAM::Role") {
		same(t, id+": path", r.Properties["Path"], "/stepkeeper/")
		same(t, id+": boundary", r.Properties["PermissionsBoundary"],
			"arn:aws:iam::"+account+":policy/boundary")
	}
	for id, r := range x.of("AWS::IAM::ManagedPolicy") {
		same(t, id+": path", r.Properties["Path"], "/stepkeeper/")
	}
	var without []string
	for _, r := range x.Resources {
		if !strings.Contains(fmt.Sprint(r.Properties), "cost-center") {
			without = append(without, r.Type)
		}
	}
	slices.Sort(without)
	same(t, "types that can have no tags", slices.Compact(without), "[AWS::IAM::ManagedPolicy "+
		"AWS::Lambda::EventInvokeConfig AWS::SNS::Subscription AWS::SNS::TopicPolicy AWS::SQS::QueuePolicy "+
		"AWS::Scheduler::Schedule]")
	x = template(t, func(stack awscdk.Stack, p *infra.Props) {
		prescribed(stack, p)
		p.EventBridgeRule = true
		inVPC(stack, p)
	})
	same(t, "a security group", x.of("AWS::EC2::SecurityGroup")["AgentPaymentSecurityGroup"].
		Properties["GroupName"], "Shop-AgentPaymentSecurityGroup")
	same(t, "what the names of the agents' queues share", strings.Contains(fmt.Sprint(at(variables(x,
		"Supervisor"), "STEPKEEPER_AGENTS")), "~=Shop-Requests,"), true)
	same(t, "tags of a rule", at(x.of("AWS::Events::Rule")["Rule"].Properties, "Tags", 0, "Key"),
		"cost-center")
}

// Policies and log groups can have names without all other resources having some.
func TestSomeNames(t *testing.T) {
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Names = infra.Names{Policies: "shop", LogGroups: "/aws/lambda/"}
	})
	got := names(x)
	same(t, "named types", slices.Sorted(maps.Keys(got)), "[LogGroup ManagedPolicy]")
	same(t, "policies", got["ManagedPolicy"], "[Application=shop-Application Operator=shop-Operator]")
	same(t, "a log group", got["LogGroup"][5], "SupervisorLogs=/aws/lambda/Test-Engine-Supervisor")
}

func TestCodeSigning(t *testing.T) {
	const arn = "arn:aws:lambda:" + region + ":" + account + ":code-signing-config:csc-0123456789abcdef0"
	x := template(t, signed)
	for id, f := range x.of("AWS::Lambda::Function") {
		same(t, id, f.Properties["CodeSigningConfigArn"], arn)
	}
}

// signed lets Lambda check the code of the functions.
func signed(stack awscdk.Stack, p *infra.Props) {
	p.CodeSigning = awslambda.CodeSigningConfig_FromCodeSigningConfigArn(stack, str("Signing"),
		str("arn:aws:lambda:"+region+":"+account+":code-signing-config:csc-0123456789abcdef0"))
}

func TestNamesRefused(t *testing.T) {
	long := strings.Repeat("p", 40)
	refuses(t, map[string]func(awscdk.Stack, *infra.Props){
		`Names.Prefix is "a/b"; it must be a letter, then at most 39 letters, digits and hyphens`: func(
			_ awscdk.Stack, p *infra.Props,
		) {
			p.Names.Prefix = "a/b"
		},
		`Names.Path is "stepkeeper"; it must be a path such as /stepkeeper/`: func(_ awscdk.Stack,
			p *infra.Props,
		) {
			p.Names.Path = "stepkeeper"
		},
		"its name " + long + "-RequestsOfALongNameThatGoesOnAndOnAnOnDead would have 83 characters, and AWS " +
			"takes 80": func(_ awscdk.Stack, p *infra.Props) {
			p.Names.Prefix = long
			p.Agents["of-a-long-name-that-goes-on-and-on-an-on"] = infra.Agent{External: true}
		},
		`Tags has "aws:x": "1"; a key must have 1 to 128 characters and not begin with aws:`: func(_ awscdk.Stack,
			p *infra.Props,
		) {
			p.Tags = map[string]string{"aws:x": "1"}
		},
	})
}

// The tables in a stack of their own have the names and tags too.
func TestNamesOfState(t *testing.T) {
	needNode(t)
	app, stack := newStack("Test")
	below := awscdk.NewStack(app, str("Below"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: str(account), Region: str(region),
	}})
	p := shop(stack)
	prescribed(stack, p)
	p.State = infra.NewState(below, "State", p)
	infra.NewStepkeeper(stack, "Engine", p)
	orders := 0
	for _, r := range read(t, below).of("AWS::DynamoDB::GlobalTable") {
		if r.Properties["TableName"] == "Shop-Orders" {
			orders++
			same(t, "tag", at(r.Properties, "Replicas", 0, "Tags", 0, "Key"), "cost-center")
		}
	}
	same(t, "tables of this name", orders, 1)
}
