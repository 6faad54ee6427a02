// Package account checks a deployment in an AWS account, with the documented permissions and nothing more.
// `make account-check` runs it; plain `go test` skips it.
//
// The caller's credentials make three roles, a bootstrap of the check's own, a topic and a secret. Everything
// else is done by these roles: deployer has the policy of docs/how-to/aws-permissions.md, application and
// operator have the policies of the stack. Names and the bootstrap's qualifier are those of one run, so that
// runs do not meet. The check removes everything it made, also after a failure, and prints the commands for
// what it could not remove.
package account

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

const (
	varAccount  = "ACCOUNT"                // the account that the caller means
	varEmulator = "STEPKEEPER_INTEGRATION" // endpoint of MiniStack instead of an account
	deadline    = 80 * time.Minute         // `make account-check` ends the process after two hours
	orders      = 20
	settled     = 3 * time.Minute // for IAM until it knows a new role everywhere, and for the first sweep
)

type check struct {
	testing.TB
	ctx                          context.Context
	config                       aws.Config // the caller's credentials
	emulated                     bool
	account, prefix, dir, binary string
	partition                    string // partition of AWS
	qualifier                    string // qualifier of the bootstrap
	outputs                      map[string]string
	denied                       []string // one line for each call: who, action, resource
	kept                         bool     // the stack was not removed, and needs the bootstrap and its role
	last                         string   // output of the last program
}

func TestAccount(t *testing.T) {
	c := start(t)
	t.Cleanup(c.report) // after all other cleanups
	for _, role := range []string{"application", "operator"} {
		c.role(role, "")
	}
	c.bootstrap()
	topic, secret := c.resources()
	c.deploy(topic, secret, "first")
	c.attach()

	c.smoke("application", "first")
	c.application("submit", "--workflow", "first", "--id", c.prefix, "--wait", c.file("order.json"))
	c.application("show", c.prefix)
	c.refused("application", "list")
	c.smoke("operator", "first")
	c.doctor()
	c.operator("list")
	c.console()
	c.redrive()

	_, err := secretsmanager.NewFromConfig(c.config).PutSecretValue(c.ctx,
		&secretsmanager.PutSecretValueInput{SecretId: &secret, SecretString: aws.String("2")})
	require.NoError(t, err)
	before := c.code()
	c.deploy(topic, secret, "first", "added") // the workflows are in the Scheduler's code
	require.NotEqual(t, before, c.code())
	c.smoke("application", "added")
	c.doctor()
}

// start checks what the run needs and where it would run, before anything is made.
func start(t *testing.T) *check {
	endpoint := os.Getenv(varEmulator)
	account := os.Getenv(varAccount)
	if endpoint != "" {
		require.NoError(t, cdkapp.Loopback(endpoint))
		account = cdkapp.Account
	}
	if account == "" {
		t.Skip("SKIPPED: NO ACCOUNT WAS CHECKED, because " + varAccount +
			" is not set; run `make account-check ACCOUNT=123456789012`, or with BACKEND=ministack")
	}
	require.True(t, regexp.MustCompile(`^[0-9]{12}$`).MatchString(account))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, deadline)
	t.Cleanup(cancel)
	config, err := awsclient.Load(ctx, awsclient.Options{Endpoint: endpoint, CallTimeout: time.Minute})
	require.NoError(t, err)
	me, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	switch {
	case err != nil:
		t.Fatalf("your credentials do not work: %v", err)
	case *me.Account != account:
		t.Fatalf(
			"REFUSED: your credentials are of account %s, and %s is %s",
			*me.Account,
			varAccount,
			account,
		)
	case config.Region == "":
		t.Fatal("no Region is set: add AWS_REGION=eu-central-1")
	case endpoint == "" && strings.HasSuffix(*me.Arn, ":root"):
		t.Fatal("the root user cannot assume roles; use an administrator of the account")
	}
	if endpoint != "" {
		t.Setenv("AWS_ENDPOINT_URL", endpoint)
	}
	now := time.Now()
	name := strconv.FormatInt(now.Unix(), 36) // six letters and digits until 2038
	c := &check{
		TB: t, ctx: ctx, config: config, emulated: endpoint != "", account: account,
		partition: strings.Split(*me.Arn, ":")[1],
		prefix:    "SkCheck" + name, qualifier: "sk" + name, dir: t.TempDir(),
	}
	c.binary = c.file("stepkeeper")
	c.Logf("%s in account %s, %s; it ends by %s", c.prefix, account, config.Region,
		now.Add(deadline).Format(time.TimeOnly))
	c.command("builder", os.Environ(), "go", "build", "-o", c.binary, "../../cmd/stepkeeper")
	c.write("order.json", `{"note":"account-check"}`)
	return c
}

func (c *check) file(name string) string { return filepath.Join(c.dir, name) }

func (c *check) write(name, text string) {
	require.NoError(c, os.WriteFile(c.file(name), []byte(text), 0o600))
}

// deploy synthesises the app of infra with a workflow and an agent for each name, and deploys it as deployer.
func (c *check) deploy(topic, secret string, names ...string) {
	agents := "agents:\n"
	workflows := ""
	for _, name := range names {
		agents += fmt.Sprintf(
			"  %s: {aws: {publish: %q, deduplicates: true}, operations: {do: {}}}\n",
			name,
			topic,
		)
		c.write(
			name+".yaml",
			"workflow: "+name+"\nsteps:\n  publish:\n    agent: "+name+"\n    operation: do\n"+
				"    input: {order: \"${ orderId }\"}\n    timeout: 20s\n    pointOfNoReturn: true\n"+
				"    onFailure: stop\n    grade: idempotent\n"+
				"    retry: {maxFailures: 5, backoff: {initial: 1s, max: 1m}}\n",
		)
		workflows += "," + c.file(name+".yaml")
	}
	c.write("agents.yaml", agents)
	backend := ""
	if c.emulated {
		backend = emulate.NameMiniStack
	}
	c.Setenv("CDK_DEFAULT_ACCOUNT", c.account)
	c.Setenv("CDK_DEFAULT_REGION", c.config.Region)
	out := c.file("cdk.out-" + strconv.Itoa(len(names)))
	assembly, err := cdkapp.Synthesise(c.ctx, "../../infra", out, backend, map[string]string{
		"agents": c.file("agents.yaml"), "workflows": workflows[1:], "stack": c.prefix, "keep": "false",
		"operators": c.roleARN("operator"), "secrets": "first.TOKEN=" + secret,
		"@aws-cdk/core:bootstrapQualifier": c.qualifier,
	})
	require.NoError(c, err)
	if c.emulated {
		c.emulate(assembly)
	}
	if len(names) == 1 {
		c.Cleanup(func() {
			c.finally(
				"cdk destroy of stack "+c.prefix,
				"aws cloudformation delete-stack --stack-name "+c.prefix,
				func() error {
					c.kept = true // also if roleEnv ends the check
					err := c.cdk(c.roleEnv("deployer"), "destroy", "--app", out, "--force")
					c.kept = err != nil
					return err
				},
			)
		})
	}
	require.NoError(c, c.cdk(c.roleEnv("deployer"), "deploy", "--app", out, "--require-approval", "never"))
	got, err := cloudformation.NewFromConfig(c.config).DescribeStacks(c.ctx,
		&cloudformation.DescribeStacksInput{StackName: &c.prefix})
	require.NoError(c, err)
	c.outputs = map[string]string{"ARN": *got.Stacks[0].StackId}
	for _, o := range got.Stacks[0].Outputs {
		c.outputs[*o.OutputKey] = *o.OutputValue
	}
}

// code returns the hash of the Scheduler's code.
func (c *check) code() string {
	got, err := lambda.NewFromConfig(c.config).GetFunction(c.ctx,
		&lambda.GetFunctionInput{FunctionName: aws.String(c.outputs["EngineSchedulerFunction"])})
	require.NoError(c, err)
	return *got.Configuration.CodeSha256
}

// emulate rewrites the template on the disk for MiniStack.
func (c *check) emulate(a *cdkapp.Assembly) {
	err := emulate.MiniStack(a.Template)
	data, errJSON := json.Marshal(a.Template)
	require.NoError(c, err)
	require.NoError(c, errJSON)
	// MiniStack compares the ARN of the role's session, where AWS compares that of the role.
	role := `"` + c.roleARN("operator") + `"`
	session := `"arn:` + c.partition + `:sts::` + c.account + ":assumed-role/" + c.prefix + `-operator/*",`
	text := strings.NewReplacer(","+role, ","+session+role, "["+role, "["+session+role).
		Replace(string(data))
	require.NoError(c, os.WriteFile(filepath.Join(a.Dir, a.Stack+".template.json"), []byte(text), 0o600))
}

// resources makes the topic that agents publish to, and the secret of one agent.
func (c *check) resources() (topic, secret string) {
	topics := sns.NewFromConfig(c.config)
	secrets := secretsmanager.NewFromConfig(c.config)
	made, err := topics.CreateTopic(c.ctx, &sns.CreateTopicInput{Name: aws.String(c.prefix + "-work")})
	require.NoError(c, err)
	topic = *made.TopicArn
	c.Cleanup(func() {
		c.finally("topic", "aws sns delete-topic --topic-arn "+topic, func() error {
			_, err := topics.DeleteTopic(
				context.WithoutCancel(c.ctx),
				&sns.DeleteTopicInput{TopicArn: &topic},
			)
			return err
		})
	})
	kept, err := secrets.CreateSecret(c.ctx, &secretsmanager.CreateSecretInput{
		Name: aws.String(c.prefix + "-token"), SecretString: aws.String("1"),
	})
	require.NoError(c, err)
	secret = *kept.ARN
	c.Cleanup(func() {
		c.finally(
			"secret",
			"aws secretsmanager delete-secret --force-delete-without-recovery --secret-id "+secret,
			func() error {
				_, err := secrets.DeleteSecret(context.WithoutCancel(c.ctx),
					&secretsmanager.DeleteSecretInput{
						SecretId:                   &secret,
						ForceDeleteWithoutRecovery: aws.Bool(true),
					})
				return err
			},
		)
	})
	return topic, secret
}

// redrive lets the operator redrive two dead letters, replies that their order no longer needs: one names the
// stack, the other its ARN.
func (c *check) redrive() {
	dead := c.outputs["EngineRepliesDeadUrl"]
	for _, name := range []string{c.prefix, c.outputs["ARN"]} {
		err := cdkapp.DeadLetter(c.ctx, c.config, dead, `{"schema":1,"task":"`+c.prefix+
			`","run":0,"step":"publish","attempt":1,"operation":"do","outcome":"done","waited":0}`)
		require.NoError(c, err)
		c.stepkeeper("operator", name, "dead-letters", "list")
		c.until("a redriven dead letter", func() bool {
			text := c.stepkeeper("operator", name, "dead-letters", "redrive", "replies", "--all", "--yes",
				"--reason", "account-check", "--journal", c.file("redriven.jsonl"))
			return strings.Contains(text, "redriven to replies")
		})
	}
	c.operator("dead-letters", "list", "quarantine")
}

// report prints the denied calls.
func (c *check) report() {
	undocumented := 0
	for i, row := range c.denied {
		if field := strings.Fields(row); slices.Contains(
			documented[field[0]],
			strings.ToLower(field[1]),
		) {
			c.denied[i] += " (the documents say so)"
		} else {
			undocumented++
		}
	}
	c.Logf("denied calls: %d\n%s", len(c.denied), strings.Join(c.denied, "\n"))
	require.LessOrEqual(c, undocumented, 0)
}

// documented holds the actions that commands try, and do without if they are denied.
var documented = map[string][]string{
	// whether agents take their requests (docs/reference/command-line.md)
	"application": {
		"lambda:geteventsourcemapping",
		"lambda:listeventsourcemappings",
		"sqs:getqueueattributes",
		"lambda:getaccountsettings",
	},
	// quotas (docs/how-to/check-health.md)
	"operator": {"lambda:getaccountsettings", "dynamodb:describelimits"},
}

// finally removes something, and prints the command that does it if that fails. While the stack is left,
// nothing else is removed, because the stack cannot be deleted without its bootstrap.
func (c *check) finally(what, by string, remove func() error) {
	err := fmt.Errorf("the stack %s is left; remove it first", c.prefix)
	if !c.kept {
		err = remove()
	}
	if err != nil {
		c.Errorf("LEFT: %s: %v\n  remove it: %s --region %s", what, err, by, c.config.Region)
	}
}

// printed keeps the errors that a check reports.
type printed struct {
	testing.TB
	text string
}

func (p *printed) Errorf(format string, args ...any) { p.text += fmt.Sprintf(format, args...) }

func TestALeftStackKeepsItsBootstrap(t *testing.T) {
	for _, kept := range []bool{false, true} {
		removed := false
		out := &printed{TB: t}
		c := &check{TB: out, prefix: "SkCheck1", kept: kept}
		c.finally("role", "aws iam delete-role", func() error { removed = true; return nil })
		require.NotEqual(t, kept, removed)
		require.Equal(t, strings.Contains(out.text, "LEFT: role: the stack SkCheck1 is left"), kept)
	}
}

func (c *check) smoke(role, workflow string) {
	c.stepkeeper(role, c.prefix, "doctor", "--smoke", "--workflow", workflow, "--order", c.file("order.json"), "--orders",
		strconv.Itoa(orders))
}

// unsubscribed matches what doctor reports of a stack without a subscriber, which this one is.
var unsubscribed = regexp.MustCompile(`(?m)^failed +(alerts|alarms): nobody receives them`)

// doctor runs until the stack is healthy; at first the Supervisor has not come yet.
func (c *check) doctor() {
	c.until("healthy stack", func() bool {
		text, _ := c.try(c.ctx, "operator", c.roleEnv("operator"), c.args(c.prefix, "doctor")...)
		return strings.Contains(text, "ok       stack: ") &&
			len(unsubscribed.FindAllString(text, -1)) == 2 && strings.Count(text, "\nfailed ") == 2
	})
}

// note keeps the denied calls that a program's output shows.
func (c *check) note(who, text string) {
	for _, row := range denials(who, text) {
		if !slices.Contains(c.denied, row) {
			c.denied = append(c.denied, row)
		}
	}
}

func (c *check) until(what string, reached func() bool) {
	for end := time.Now().Add(settled); ; {
		if reached() {
			return
		}
		if time.Now().After(end) || c.ctx.Err() != nil {
			c.Fatalf("no %s within %s\n%s", what, settled, c.last)
		}
		time.Sleep(5 * time.Second)
	}
}

// command runs a program to its end, which must be good.
func (c *check) command(who string, env []string, args ...string) string {
	text, err := c.try(c.ctx, who, env, args...)
	require.NoError(c, err)
	return text
}

func (c *check) try(ctx context.Context, who string, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = env
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	c.note(who, string(out))
	c.last = string(out)
	c.Logf("%s: %s: %v", who, strings.Join(args[min(len(args)-1, 1):], " "), err)
	if err != nil {
		return string(out), fmt.Errorf("%s: %s: %w\n%s", who, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
