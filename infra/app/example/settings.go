package example

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

type settings struct {
	app      awscdk.App
	problems []error
}

func (c *settings) wrong(name, value, meant string) {
	c.problems = append(c.problems, fmt.Errorf("context %s is %.300q; it must be %s", name, value, meant))
}

func (c *settings) text(name, otherwise string) string {
	switch v := c.app.Node().TryGetContext(jsii.String(name)).(type) {
	case nil:
	case string:
		return v
	case bool, float64: // as cdk.json may have them
		return fmt.Sprint(v)
	default:
		c.wrong(name, fmt.Sprint(v), "one text, with commas in place of a list")
	}
	return otherwise
}

func (c *settings) list(name, otherwise string) []string {
	return strings.FieldsFunc(c.text(name, otherwise), func(r rune) bool { return r == ',' })
}

func (c *settings) truth(name string, otherwise bool) bool {
	text := c.text(name, fmt.Sprint(otherwise))
	if text != "true" && text != "false" {
		c.wrong(name, text, "true or false")
	}
	return text == "true"
}

func (c *settings) number(name string, otherwise int) int {
	text := c.text(name, strconv.Itoa(otherwise))
	n, err := strconv.Atoi(text)
	if err != nil {
		c.wrong(name, text, "a whole number")
	}
	return n
}

func (c *settings) duration(name string, otherwise time.Duration) time.Duration {
	text := c.text(name, otherwise.String())
	d, ok := core.ParseDuration(text)
	if !ok {
		c.wrong(name, text, "a time as in 1m or 7d")
	}
	return d.Std()
}

func (c *settings) pairs(name, meant string, value *regexp.Regexp) map[string]string {
	found := map[string]string{}
	for _, text := range c.list(name, "") {
		key, v, _ := strings.Cut(text, "=")
		if key == "" || !value.MatchString(v) || found[key] != "" {
			c.wrong(name, text, meant+", each name once,")
			continue
		}
		found[key] = v
	}
	return found
}

func (c *settings) priorities() map[string]int {
	shares := map[string]int{}
	for name, text := range c.pairs("priorities", "intake=functions or agent=functions",
		regexp.MustCompile(`^[0-9]{1,4}$`)) {
		shares[name], _ = strconv.Atoi(text)
	}
	return shares
}

func arnOf(service, resource string) *regexp.Regexp {
	return regexp.MustCompile("^" + arnText(service, resource) + "$")
}

func arnText(service, resource string) string {
	return `arn:[a-z-]+:` + service + `:[a-z0-9-]*:[0-9]{12}:` + resource + `[^\s,]+`
}

var queueOrBus = regexp.MustCompile("^(" + arnText("sqs", "") + "|" + arnText("events", "event-bus/") + ")$")

// place matches a reference to a secret: the complete ARN of a secret in Secrets Manager, or the name of a
// parameter in Parameter Store. A field may follow the ARN.
var place = regexp.MustCompile(`^(` + arnText("secretsmanager", "secret:") +
	`-[A-Za-z0-9]{6}(#[^\s,]+)?|/[A-Za-z0-9_./-]+)$`)

func (c *settings) secrets(stack awscdk.Stack, agents map[string]infra.Agent) {
	given := c.pairs("secrets",
		"agent.VARIABLE=ARN of a secret with its last six letters, with #field or without, or =/name of a "+
			"parameter", place)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		name, variable, _ := strings.Cut(key, ".")
		a, there := agents[name]
		if !there || variable == "" || a.HTTP == "" {
			c.wrong("secrets", key, "agent.VARIABLE, with the name of an HTTP agent of the agents file,")
			continue
		}
		if a.Secrets == nil {
			a.Secrets = map[string]infra.Secret{}
		}
		id := jsii.String("Secret-" + name + "-" + variable)
		if where, field, _ := strings.Cut(given[key], "#"); strings.HasPrefix(where, "/") {
			a.Secrets[variable] = infra.ParameterValue(
				awsssm.StringParameter_FromSecureStringParameterAttributes(stack, id,
					&awsssm.SecureStringParameterAttributes{ParameterName: &where}), nil)
		} else {
			a.Secrets[variable] = infra.SecretValue(awssecretsmanager.Secret_FromSecretCompleteArn(stack, id,
				&where), field, nil)
		}
		agents[name] = a
	}
}

// external calls add for each agent=value pair of a setting. An agent may occur in several pairs.
func (c *settings) external(agents map[string]infra.Agent, name, meant string, value *regexp.Regexp,
	add func(a *infra.Agent, value string),
) {
	for _, text := range c.list(name, "") {
		agent, v, _ := strings.Cut(text, "=")
		a, there := agents[agent]
		if !there || !a.External || !value.MatchString(v) {
			c.wrong(name, text, meant+", with the name of an external agent of the agents file,")
			continue
		}
		add(&a, v)
		agents[agent] = a
	}
}

func (c *settings) tables() (t infra.Tables) {
	const meant = "orders, definitions or ledger.AGENT=ARN of a table"
	for key, arn := range c.pairs("tables", meant, arnOf("dynamodb", "table/")) {
		switch agent, ledger := strings.CutPrefix(key, "ledger."); {
		case key == "orders":
			t.Orders = arn
		case key == "definitions":
			t.Definitions = arn
		case ledger && agent != "":
			if t.Ledgers == nil {
				t.Ledgers = map[string]string{}
			}
			t.Ledgers[agent] = arn
		default:
			c.wrong("tables", key, meant)
		}
	}
	return t
}
