package infra_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// Two principals of other accounts, which the tests name.
const (
	webThere     = "arn:aws:iam::999999999999:role/web"
	printerThere = "arn:aws:iam::888888888888:role/printer"
)

// printerElsewhere makes shipping, which needs a ledger, an agent of another account.
func printerElsewhere(_ awscdk.Stack, p *infra.Props) {
	p.Agents["shipping"] = infra.Agent{
		External: true, Account: "888888888888",
		SenderARNs: []string{printerThere}, SenderIDs: []string{"AROAPRINTERPRINTER001"},
	}
}

// resourcePolicies are the policies of queues, tables and keys, by resource.
func resourcePolicies(x tmpl) map[string]any {
	all := map[string]any{}
	for _, q := range x.of("AWS::SQS::QueuePolicy") {
		all[target(at(q.Properties, "Queues", 0))] = q.Properties["PolicyDocument"]
	}
	for id, r := range x.of("AWS::DynamoDB::GlobalTable") {
		if p := at(r.Properties, "Replicas", 0, "ResourcePolicy", "PolicyDocument"); p != nil {
			all[id] = p
		}
	}
	for id, k := range x.of("AWS::KMS::Key") {
		all[id] = k.Properties["KeyPolicy"]
	}
	return all
}

// Each principal of another account that is named may do what it is named for, and nobody else may: an Allow
// is needed, because its own account's policy is not enough.
func TestOtherAccounts(t *testing.T) {
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		p.CustomerManagedKey = true
		p.Priorities = map[string]int{"intake": 2}
		p.Submitters = []string{webThere}
		printerElsewhere(stack, p)
	})
	policies := resourcePolicies(x)
	web := role(webThere)
	printer := role(printerThere)
	other := role("arn:aws:iam::999999999999:role/other")
	another := role(
		"arn:aws:iam::888888888888:role/other")
	through := func(r request, service string) request {
		r.keys = maps.Clone(r.keys)
		r.keys["kms:ViaService"] = service + ".eu-central-1.amazonaws.com"
		return r
	}
	for _, c := range []struct {
		on, action string
		who        request
		want       string
	}{
		{"Intake", "sqs:SendMessage", web, "Allow"},
		{"IntakeHigh", "sqs:SendMessage", web, "Allow"},
		{"Intake", "sqs:SendMessage", other, "Deny"},
		{"Intake", "sqs:SendMessage", printer, "Deny"},
		{"Intake", "sqs:ReceiveMessage", web, ""},
		{"Control", "sqs:SendMessage", web, "Deny"},
		{"Replies", "sqs:SendMessage", web, "Deny"},
		{"RequestsShipping", "sqs:SendMessage", web, "Deny"},
		{"RequestsShipping", "sqs:ReceiveMessage", web, ""},
		{"RequestsShipping", "sqs:ReceiveMessage", printer, "Allow"},
		{"RequestsShipping", "sqs:DeleteMessage", printer, "Allow"},
		{"RequestsShipping", "sqs:ChangeMessageVisibility", printer, "Allow"},
		{"RequestsShipping", "sqs:ReceiveMessage", another, ""},
		{"RequestsShipping", "sqs:SendMessage", printer, "Deny"},
		{"RequestsPayment", "sqs:ReceiveMessage", printer, ""},
		{"Replies", "sqs:SendMessage", printer, "Allow"},
		{"Replies", "sqs:ReceiveMessage", printer, ""},
		{"Replies", "sqs:SendMessage", another, "Deny"},
		{"Control", "sqs:SendMessage", printer, "Deny"},
		{"Quarantine", "sqs:SendMessage", printer, "Allow"},
		{"LedgerShipping", "dynamodb:PutItem", printer, "Allow"},
		{"LedgerShipping", "dynamodb:DeleteItem", printer, ""},
		{"LedgerShipping", "dynamodb:PutItem", web, ""},
		{"Orders", "dynamodb:GetItem", printer, ""},
		{"Key", "kms:GenerateDataKey", through(web, "sqs"), "Allow"},
		{"Key", "kms:Decrypt", through(web, "dynamodb"), ""},
		{"Key", "kms:Decrypt", web, ""},
		{"Key", "kms:Decrypt", through(printer, "sqs"), "Allow"},
		{"Key", "kms:Decrypt", through(printer, "dynamodb"), "Allow"},
		{"Key", "kms:Decrypt", through(another, "sqs"), ""},
	} {
		same(t, fmt.Sprint(c.on, ": ", c.action, " by ", c.who.keys["aws:PrincipalArn"]),
			decideOn(t, policies[c.on], c.action, c.who), c.want)
	}
	for on, policy := range policies {
		for _, s := range list(at(policy, "Statement")) {
			if at(s, "Effect") == "Allow" && meant(at(s, "Principal"), request{keys: map[string]string{}}) {
				t.Errorf("%s: any principal is allowed %v", on, at(s, "Action"))
			}
		}
	}
}

// By default no policy allows a principal of another account anything.
func TestNoOtherAccounts(t *testing.T) {
	for on, policy := range resourcePolicies(template(t, nil)) {
		for _, s := range list(at(policy, "Statement")) {
			own := strings.Contains(fmt.Sprint(at(s, "Principal", "AWS")), "::"+account+":root") ||
				at(s, "Condition", "StringEquals", "aws:SourceAccount") == account
			if at(s, "Effect") == "Allow" && !own {
				t.Errorf("%s: allows %v", on, s)
			}
		}
	}
}
