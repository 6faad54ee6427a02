package account

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stretchr/testify/require"
)

var (
	denial = regexp.MustCompile(
		`not authorized to perform:? ([\w-]+:\w+)(?: on(?: resource:?)? ([^\s"',]+))?`,
	)
	other = regexp.MustCompile(`(?i).*(AccessDenied|not authorized|UnauthorizedOperation).*`)
)

// denials returns a line for each denied call that a program's output shows: who, action, resource.
func denials(who, text string) (all []string) {
	for _, line := range other.FindAllString(text, -1) {
		row := fmt.Sprintf("%-12s %s", who, strings.TrimSpace(line))
		if found := denial.FindStringSubmatch(line); found != nil {
			row = fmt.Sprintf("%-12s %-34s %s", who, found[1], found[2])
		}
		if !slices.Contains(all, row) {
			all = append(all, row)
		}
	}
	return all
}

func (c *check) roleARN(name string) string {
	return "arn:" + c.partition + ":iam::" + c.account + ":role/" + c.prefix + "-" + name
}

// role makes a role that the account's administrators may assume. An inline policy "" means none.
func (c *check) role(name, inline string) {
	roles := iam.NewFromConfig(c.config)
	full := c.prefix + "-" + name
	_, err := roles.CreateRole(
		c.ctx,
		&iam.CreateRoleInput{RoleName: &full, AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":` +
				`"arn:` + c.partition + `:iam::` + c.account + `:root"}}]}`,
		)},
	)
	require.NoError(c, err)
	c.Cleanup(func() {
		c.finally("role "+full, "aws iam delete-role-policy --policy-name check --role-name "+full+
			"; aws iam delete-role --role-name "+full,
			func() error { return c.removeRole(full) })
	})
	if inline == "" {
		return
	}
	_, err = roles.PutRolePolicy(c.ctx, &iam.PutRolePolicyInput{
		RoleName:   &full,
		PolicyName: aws.String("check"), PolicyDocument: &inline,
	})
	require.NoError(c, err)
}

func (c *check) removeRole(name string) error {
	ctx := context.WithoutCancel(c.ctx)
	roles := iam.NewFromConfig(c.config)
	_, _ = roles.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{
		RoleName:   &name,
		PolicyName: aws.String("check"),
	}) // DeleteRole fails if it is still there
	_, err := roles.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &name})
	return err
}

// roleEnv returns an environment with the credentials of a role, and without other ones.
func (c *check) roleEnv(name string) []string {
	var out *sts.AssumeRoleOutput
	arn := c.roleARN(name)
	c.until("session of role "+arn, func() bool {
		var err error
		out, err = sts.NewFromConfig(c.config).
			AssumeRole(context.WithoutCancel(c.ctx), &sts.AssumeRoleInput{
				RoleArn: &arn, RoleSessionName: aws.String("account-check"),
			})
		return err == nil
	})
	env := slices.DeleteFunc(
		os.Environ(),
		func(s string) bool { return strings.HasPrefix(s, "AWS_PROFILE=") },
	)
	return append(
		env,
		"AWS_ACCESS_KEY_ID="+*out.Credentials.AccessKeyId,
		"AWS_SECRET_ACCESS_KEY="+*out.Credentials.SecretAccessKey,
		"AWS_SESSION_TOKEN="+*out.Credentials.SessionToken,
		"AWS_REGION="+c.config.Region,
	)
}

// bootstrap prepares the account for the deployer as docs/how-to/aws-permissions.md says, with a qualifier
// of its own.
func (c *check) bootstrap() {
	place := strings.NewReplacer("PARTITION", c.partition, "ACCOUNT", c.account, "STACK", c.prefix, "REGION", c.config.Region,
		"hnb659fds", c.qualifier)
	page, err := os.ReadFile("../../docs/how-to/aws-permissions.md")
	require.NoError(c, err)
	_, person, _ := strings.Cut(string(page), "```json\n")
	person, _, found := strings.Cut(person, "```")
	document, err := os.ReadFile("../../docs/reference/aws-deploy-policy.json")
	require.NoError(c, err)
	require.True(c, found)
	c.role("deployer", place.Replace(person))
	policies := iam.NewFromConfig(c.config)
	toolkit := c.prefix + "-CDKToolkit"
	made, err := policies.CreatePolicy(
		c.ctx,
		&iam.CreatePolicyInput{
			PolicyName:     aws.String(c.prefix + "-deploy"),
			PolicyDocument: aws.String(place.Replace(string(document))),
		},
	)
	require.NoError(c, err)
	arn := *made.Policy.Arn
	c.Cleanup(func() {
		c.finally("policy", "aws iam delete-policy --policy-arn "+arn, func() error {
			_, err := policies.DeletePolicy(context.WithoutCancel(c.ctx),
				&iam.DeletePolicyInput{PolicyArn: &arn})
			return err
		})
	})
	bucket := "cdk-" + c.qualifier + "-assets-" + c.account + "-" + c.config.Region
	c.Cleanup(func() {
		c.finally(
			"bootstrap "+toolkit,
			"empty and delete the bucket "+bucket+" with its versions in the console of S3; "+
				"aws cloudformation delete-stack --stack-name "+toolkit,
			func() error { return c.removeBootstrap(toolkit, bucket) },
		)
	})
	err = c.cdk(os.Environ(), "bootstrap", "aws://"+c.account+"/"+c.config.Region,
		"--qualifier", c.qualifier, "--toolkit-stack-name", toolkit,
		"--cloudformation-execution-policies", arn)
	require.NoError(c, err)
}

func (c *check) removeBootstrap(toolkit, bucket string) error {
	ctx := context.WithoutCancel(c.ctx)
	objects := s3.NewFromConfig(c.config, func(o *s3.Options) { o.UsePathStyle = c.emulated })
	for {
		page, err := objects.ListObjectVersions(ctx, &s3.ListObjectVersionsInput{Bucket: &bucket})
		if err != nil {
			return err
		}
		var all []s3types.ObjectIdentifier
		for _, v := range page.Versions {
			all = append(all, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, v := range page.DeleteMarkers {
			all = append(all, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		if len(all) == 0 {
			break
		}
		if _, err := objects.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &bucket,
			Delete: &s3types.Delete{Objects: all},
		}); err != nil {
			return err
		}
	}
	stacks := cloudformation.NewFromConfig(c.config)
	if _, err := stacks.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &toolkit}); err != nil {
		return err
	}
	if err := cloudformation.NewStackDeleteCompleteWaiter(stacks).Wait(ctx,
		&cloudformation.DescribeStacksInput{StackName: &toolkit}, 10*time.Minute); err != nil {
		return err
	}
	_, err := objects.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket}) // the stack keeps it
	return err
}

// attach gives the roles the stack's policies, and waits until IAM knows them.
func (c *check) attach() {
	for name, value := range c.outputs {
		role := ""
		switch {
		case strings.HasPrefix(name, "EngineApplicationPolicy"):
			role = "application"
		case strings.HasPrefix(name, "EngineOperatorPolicy"):
			role = "operator"
		default:
			continue
		}
		full := c.prefix + "-" + role
		actions := `"cloudformation:DescribeStacks"`
		if role == "operator" {
			actions += `,"iam:GetRole","iam:SimulatePrincipalPolicy","lambda:ListEventSourceMappings"`
		}
		_, err := iam.NewFromConfig(c.config).AttachRolePolicy(c.ctx, &iam.AttachRolePolicyInput{
			RoleName: &full, PolicyArn: &value,
		})
		require.NoError(c, err)
		c.Cleanup(func() { // before the stack goes, because IAM keeps policies that a role has
			c.finally("policy of role "+full, "aws iam detach-role-policy --role-name "+full+" --policy-arn "+
				value, func() error {
				_, err := iam.NewFromConfig(c.config).DetachRolePolicy(context.WithoutCancel(c.ctx),
					&iam.DetachRolePolicyInput{RoleName: &full, PolicyArn: &value})
				return err
			})
		})
		if !c.emulated {
			continue
		}
		// MiniStack looks at no resource for these actions, and asks for the last instead of
		// lambda:GetEventSourceMapping.
		_, err = iam.NewFromConfig(c.config).PutRolePolicy(c.ctx, &iam.PutRolePolicyInput{
			RoleName:   &full,
			PolicyName: aws.String("check"), PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{` +
				`"Effect":"Allow","Resource":"*","Action":[` + actions + `]}]}`),
		})
		require.NoError(c, err)
	}
	for role, args := range map[string][]string{"application": {"show", "nothing"}, "operator": {"list"}} {
		before := len(c.denied)
		c.until("policies of role "+role, func() bool {
			c.denied = c.denied[:before]
			text, err := c.try(c.ctx, role, c.roleEnv(role), c.args(c.prefix, args...)...)
			return err == nil || len(c.denied) == before && strings.Contains(text, "nothing")
		})
	}
}

// cdk runs the CDK's command line, also while the check cleans up.
func (c *check) cdk(env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), 25*time.Minute)
	defer cancel()
	env = append(
		env,
		"CDK_DISABLE_CLI_TELEMETRY=true",
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20",
		"NODE_EXTRA_CA_CERTS="+os.Getenv("AWS_CA_BUNDLE"),
	)
	_, err := c.try(
		ctx,
		"deployer",
		env,
		append([]string{"../../infra/node_modules/.bin/cdk", "--no-notices"},
			args...)...)
	return err
}

func (c *check) args(stack string, args ...string) []string {
	return append([]string{c.binary, "--stack", stack, "--region", c.config.Region}, args...)
}

func (c *check) stepkeeper(role, stack string, args ...string) string {
	return c.command(role, c.roleEnv(role), c.args(stack, args...)...)
}

func (c *check) application(args ...string) { c.stepkeeper("application", c.prefix, args...) }
func (c *check) operator(args ...string)    { c.stepkeeper("operator", c.prefix, args...) }

// refused runs a command that the role's policy does not allow, which shows that policies are enforced.
func (c *check) refused(role string, args ...string) {
	before := len(c.denied)
	_, err := c.try(c.ctx, role, c.roleEnv(role), c.args(c.prefix, args...)...)
	require.Error(c, err, role)
	require.NotEqual(c, before, len(c.denied), role)
	c.denied = c.denied[:before]
}

// console reads pages of the console as the operator.
func (c *check) console() {
	ctx, stop := context.WithCancel(c.ctx)
	args := c.args(c.prefix, "console", "--read-only", "--listen", "127.0.0.1:0")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = c.roleEnv("operator")
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	require.NoError(c, err)
	defer func() {
		stop()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	address := ""
	for address == "" && lines.Scan() {
		address = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`).FindString(lines.Text())
	}
	for _, page := range []string{
		"/", "/orders", "/orders/" + c.prefix, "/incidents", "/waiting", "/answers",
		"/health", "/dead-letters", "/dead-letters/replies",
	} {
		resp, err := http.Get(address + page)
		require.NoError(c, err)
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		c.note("operator", string(text))
		require.NoError(c, err, page)
		require.Equal(c, http.StatusOK, resp.StatusCode, page)
	}
}
