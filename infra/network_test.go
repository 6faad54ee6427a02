package infra_test

import (
	"slices"
	"strings"
	"testing"
)

// The page lists an endpoint for each service that a function calls. Lambda itself writes the logs and
// attaches the network, and the services themselves use keys.
func TestEndpointsAreListed(t *testing.T) {
	for who, variants := range map[string][]string{
		"| Scheduler, Supervisor |": {"workflow with tokens", "workflow with events"},
		"| an agent |":              {"agent with secrets"},
	} {
		row := between(t, page(t, "aws-app.md"), who, "\n")
		listed := firsts("`([a-z]+)`", row)
		var statements []statement
		for _, variant := range variants {
			statements = append(statements, allowed(templateOf(t, variant))...)
		}
		var called []string
		for _, s := range statements {
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
