package infra

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
)

// Minimum warm throughput, in units per second. Every new on-demand table has this throughput.
const (
	leastWarmWrites = 4_000
	leastWarmReads  = 12_000
)

var tableARN = regexp.MustCompile(
	`^arn:[a-z-]+:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]{3,255})$`)

func (t Tables) given() map[string]string {
	given := map[string]string{"Orders": t.Orders, "Definitions": t.Definitions}
	for agent, arn := range t.Ledgers {
		given["Ledgers["+agent+"]"] = arn
	}
	maps.DeleteFunc(given, func(_, arn string) bool { return arn == "" })
	return given
}

func (c *checker) tables(p Props) {
	given := p.Tables.given()
	t := p.Tables
	warm := p.Tuning.Warm
	for _, what := range sorted(given) {
		if arn := given[what]; !unresolved(arn) && !tableARN.MatchString(arn) {
			c.wrong("Tables.%s is %.300q; it must be the ARN of a table", what, arn)
		}
	}
	for _, agent := range sorted(t.Ledgers) {
		if _, there := p.Agents[agent]; !there {
			c.wrong("Tables.Ledgers: there is no agent %q", agent)
		}
	}
	if t.KeyARN != "" && len(given) == 0 {
		c.wrong("Tables.KeyARN is for tables that are there already, and none is named")
	}
	warmed := map[string]Throughput{"Orders": warm.Orders, "Index": warm.Index}
	for _, what := range sorted(warmed) {
		w := warmed[what]
		if w.Writes != 0 && w.Writes < leastWarmWrites || w.Reads != 0 && w.Reads < leastWarmReads {
			c.wrong(
				"Tuning.Warm.%s is %d writes and %d reads; %d and %d are the least, which every table has",
				what, w.Writes, w.Reads, leastWarmWrites, leastWarmReads)
		}
		if w != (Throughput{}) && t.Orders != "" {
			c.wrong(
				"Tuning.Warm.%s is for a table that the deployment makes; warm the one that is there by hand",
				what)
		}
	}
}

// placed checks settings that depend on the stack's account and Region. If the account or the Region is
// unknown at synthesis, placed skips most of these checks.
func (p Props) placed(scope constructs.Construct) error {
	if scope == nil {
		return errors.New("the scope is missing; give a stack")
	}
	c := &checker{}
	stack := awscdk.Stack_Of(scope)
	given := p.Tables.given()
	for _, what := range sorted(given) {
		parts := tableARN.FindStringSubmatch(given[what])
		if parts == nil {
			continue
		}
		if region := *stack.Region(); elsewhere(region, parts[1]) {
			c.wrong("Tables.%s is in %s and the stack in %s; a deployment uses the copies of its own Region",
				what, parts[1], region)
		}
		if account := *stack.Account(); elsewhere(account, parts[2]) {
			c.wrong("Tables.%s is of account %s and the stack of %s; they must be the same", what, parts[2],
				account)
		}
	}
	for _, what := range sorted(p.ownTopics()) {
		if t := p.ownTopics()[what]; t != nil && elsewhere(*stack.Region(), *t.Env().Region) {
			c.wrong("%s is in %s and the stack in %s; they must be the same", what, *t.Env().Region,
				*stack.Region())
		}
	}
	c.accounts(p, *stack.Account())
	c.shared(p, *stack.Account())
	return errors.Join(c.problems...)
}

const (
	sameAccount = "let its process assume a role of the stack's account, or name its account in " +
		"Agent.Account and its role in SenderARNs"
	operatorAccount = "the policies Operator cannot be attached in another account, and the queues and " +
		"tables allow it nothing: let operators assume a role of the stack's account"
	functionAccount = "an event source mapping must be of the account of its function: make the function " +
		"in the stack's account, or make the agent external with a role there"
)

// outsider is a principal or a function in the props that must belong to the stack's account.
type outsider struct{ what, account, advice string }

func (p Props) outsiders() (all []outsider) {
	add := func(what, arn, advice string) {
		if parts := strings.Split(arn, ":"); !unresolved(arn) && len(parts) > 4 {
			all = append(all, outsider{what + " has " + arn, parts[4], advice})
		}
	}
	for _, arn := range p.Operators {
		add("Operators", arn, operatorAccount)
	}
	for _, name := range sorted(p.Agents) {
		a := p.Agents[name]
		for _, arn := range a.SenderARNs {
			if a.Account != "" { // the roles may belong to a different account
				break
			}
			add(fmt.Sprintf("agent %q: SenderARNs", name), arn, sameAccount)
		}
		if a.Function != nil && !unresolved(*a.Function.Env().Account) {
			all = append(all, outsider{
				fmt.Sprintf("agent %q has a Function", name),
				*a.Function.Env().Account, functionAccount,
			})
		}
	}
	return all
}

// accounts reports outsiders that do not belong to the stack's account, because the deployment would not
// work. If this account is unknown at synthesis, accounts compares all outsiders with the first outsider.
func (c *checker) accounts(p Props, own string) {
	all := p.outsiders()
	of := "the stack is of "
	if len(all) > 0 && unresolved(own) {
		own = all[0].account
		of = all[0].what + " of account "
	}
	for _, o := range all {
		if elsewhere(own, o.account) {
			c.wrong("%s of account %s, and %s%s; %s", o.what, o.account, of, own, o.advice)
		}
	}
}

// elsewhere reports whether two accounts or two Regions certainly differ. It returns false if one of them is
// unknown at synthesis.
func elsewhere(own, other string) bool {
	return own != other && !unresolved(own) && !unresolved(other)
}

// unresolved reports whether the CDK knows a part of the text only at the deployment.
func unresolved(text string) bool { return strings.Contains(text, "${Token[") }
