package infra_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// statement is one Allow of an identity policy.
type statement struct {
	where, sid         string
	actions, resources []string
}

// allowed lists all Allow statements of identity policies: inline, attached and managed ones.
func allowed(x tmpl) []statement {
	var all []statement
	add := func(id string, document any) {
		for _, s := range list(at(document, "Statement")) {
			if at(s, "Effect") != "Allow" {
				continue
			}
			found := statement{where: plainID(id), sid: fmt.Sprint(at(s, "Sid"))}
			for _, a := range list(at(s, "Action")) {
				found.actions = append(found.actions, fmt.Sprint(a))
			}
			for _, r := range list(at(s, "Resource")) {
				found.resources = append(found.resources, target(r))
			}
			if at(s, "NotAction") != nil || at(s, "NotResource") != nil {
				found.actions = append(found.actions, "*")
				found.resources = append(found.resources, "*")
			}
			all = append(all, found)
		}
	}
	for id, r := range x.Resources {
		switch r.Type {
		case "AWS::IAM::Role":
			for _, p := range list(r.Properties["Policies"]) {
				add(id, at(p, "PolicyDocument"))
			}
		case "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::UserPolicy", "AWS::IAM::RolePolicy",
			"AWS::IAM::GroupPolicy":
			add(id, r.Properties["PolicyDocument"])
		}
	}
	return all
}

// loose lists what is wrong with the identity policies of a template (rule 21).
func loose(x tmpl) (problems []string) {
	for _, s := range allowed(x) {
		for _, text := range append(slices.Clone(s.actions), s.resources...) {
			if unrestricted := text == "*" && slices.Equal(s.actions, []string{"cloudwatch:GetMetricData"}) &&
				strings.HasPrefix(s.where, "Operator"); unrestricted {
				continue // it knows no resources
			}
			if s.sid == "VpcNetworkInterfaces" && text == "*" {
				continue // Lambda makes them, and the Describe actions know no resources
			}
			if strings.HasPrefix(s.sid, "Call") && strings.Count(text, "*") == 1 &&
				(strings.HasSuffix(text, "/*") || strings.HasSuffix(text, ":*")) {
				continue // the executions of one state machine, or the methods of one API
			}
			if byName := strings.HasSuffix(text, "/*") && strings.Count(text, "*") == 1 &&
				strings.Contains(text, ":stack/"); byName &&
				slices.Equal(s.actions, []string{"cloudformation:DescribeStacks"}) {
				continue
			}
			if strings.Contains(text, "*") || strings.Contains(text, "?") {
				problems = append(problems, fmt.Sprintf("%s, %s: wildcard %s", s.where, s.sid, text))
			}
		}
		for _, a := range s.actions {
			switch a {
			case "dynamodb:Scan", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:DeleteTable",
				"iam:PassRole":
				problems = append(problems, fmt.Sprintf("%s, %s: no role has %s", s.where, s.sid, a))
			}
		}
		if s.sid == "<nil>" {
			problems = append(problems, fmt.Sprintf("%s: a statement without a Sid, with %v", s.where,
				s.actions))
		}
	}
	for id, r := range x.of("AWS::IAM::Role") {
		if r.Properties["ManagedPolicyArns"] != nil && !strings.HasPrefix(id, "Mine") { // of a function of the app
			problems = append(problems, id+": managed policies of AWS's")
		}
	}
	slices.Sort(problems)
	return problems
}

func findings(stack awscdk.Stack) []string {
	awscdk.Aspects_Of(stack).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{
		Verbose: jsii.Bool(true),
		Reports: jsii.Bool(false),
	}), nil)
	a := assertions.Annotations_FromStack(stack)
	pattern := assertions.Match_StringLikeRegexp(str("AwsSolutions-.*"))
	var all []string
	for _, m := range append(*a.FindError(str("*"), pattern), *a.FindWarning(str("*"), pattern)...) {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		all = append(all, string(text))
	}
	return all
}

// cdk-nag has nothing to say, and what it was asked to pass over has a reason that a person can
// judge.
func TestNag(t *testing.T) {
	needNode(t)
	for name, change := range map[string]func(*infra.Props){
		"default": func(*infra.Props) {},
		"all options": func(p *infra.Props) {
			p.CustomerManagedKey = true
			p.EventBridgeRule = true
			p.RemovalPolicy = awscdk.RemovalPolicy_DESTROY
		},
	} {
		_, stack := newStack("Nag")
		p := shop(stack)
		change(p)
		infra.NewStepkeeper(stack, "Engine", p)
		for _, f := range findings(stack) {
			t.Errorf("%s: %s", name, f)
		}
		passed := 0
		for id, r := range read(t, stack).Resources {
			for _, s := range list(at(r.Metadata, "cdk_nag", "rules_to_suppress")) {
				passed++
				if reason := fmt.Sprint(at(s, "reason")); len(reason) < 40 ||
					!strings.HasSuffix(reason, ".") {
					t.Errorf("%s: %s is passed over because of %q", id, at(s, "id"), reason)
				}
			}
		}
		// seven dead-letter queues, quarantine, missed ticks, the policies of operators and applications
		same(t, name+": passed over", passed, 11)
	}
}
