package infra_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"

	"github.com/stepkeeper/stepkeeper/infra"
)

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
