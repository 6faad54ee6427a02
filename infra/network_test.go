package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"

	"github.com/stepkeeper/stepkeeper/infra"
)

// engineInVPC puts Scheduler and Supervisor into a VPC.
func engineInVPC(stack awscdk.Stack, p *infra.Props) {
	inVPC(stack, p)
	a := p.Agents["payment"]
	p.VPC = a.VPC
	a.VPC = nil
	p.Agents["payment"] = a
	p.Subnets = &awsec2.SubnetSelection{Subnets: &[]awsec2.ISubnet{
		awsec2.Subnet_FromSubnetId(stack, str("Subnet"), str("subnet-1")),
		awsec2.Subnet_FromSubnetId(stack, str("Other"), str("subnet-2")),
	}}
	p.SecurityGroups = []awsec2.ISecurityGroup{awsec2.SecurityGroup_FromSecurityGroupId(stack, str("Group"),
		str("sg-1"), nil)}
}

func TestEngineInVPC(t *testing.T) {
	x := template(t, engineInVPC)
	for id, f := range x.of("AWS::Lambda::Function") {
		want := "<nil> <nil>"
		if id == "Scheduler" || id == "Supervisor" {
			want = "[subnet-1 subnet-2] [sg-1]"
		}
		same(t, id+": network", shown(at(f.Properties, "VpcConfig", "SubnetIds"))+" "+
			shown(at(f.Properties, "VpcConfig", "SecurityGroupIds")), want)
	}
	for _, problem := range loose(x) {
		if !strings.HasPrefix(problem, "SchedulerRole, VpcNetworkInterfaces:") &&
			!strings.HasPrefix(problem, "SupervisorRole, VpcNetworkInterfaces:") {
			t.Error(problem)
		}
	}
	same(t, "groups made", len(x.of("AWS::EC2::SecurityGroup")), 0)
}

// The page lists an endpoint for each service that a function calls. Lambda itself writes the logs and
// attaches the network, and the services themselves use keys.
func TestEndpointsAreListed(t *testing.T) {
	tokensAndBus := func(stack awscdk.Stack, p *infra.Props) {
		withTokens(stack, p)
		p.ReplyToBuses = map[string]awsevents.IEventBus{
			"ends": awsevents.EventBus_FromEventBusName(stack, str("Ends"), str("ends")),
		}
	}
	for who, change := range map[string]func(awscdk.Stack, *infra.Props){
		"| Scheduler, Supervisor |": tokensAndBus, "| an agent |": withSecrets,
	} {
		row := between(t, page(t, "aws-app.md"), who, "\n")
		listed := firsts("`([a-z]+)`", row)
		var called []string
		for _, s := range allowed(template(t, change)) {
			engine := s.where == "SchedulerRole" || s.where == "SupervisorRole"
			if engine != strings.Contains(who, "Scheduler") || !strings.HasSuffix(s.where, "Role") ||
				s.where == "ScheduleRole" {
				continue
			}
			for _, action := range s.actions {
				service, _, _ := strings.Cut(action, ":")
				called = append(called, service)
			}
		}
		slices.Sort(called)
		called = slices.DeleteFunc(slices.Compact(called),
			func(service string) bool { return service == "logs" || service == "kms" || service == "ec2" })
		same(t, who+" endpoints", listed, called)
	}
}
