package agentsfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const (
	function = "arn:aws:lambda:eu-west-3:111122223333:function:"
	machine  = "arn:aws:states:eu-west-3:111122223333:stateMachine:ship"
	queue    = "https://sqs.eu-west-3.amazonaws.com/111122223333/"
)

func parsed(text string) (settings.Agent, error) {
	c, err := agentsfile.Parse([]byte("agents: {stock: "+text+"}"), func(name string) (string, bool) {
		return map[string]string{"ACCOUNT": "111122223333"}[name], true
	})
	return c.Agents["stock"], err
}

// Each call needs the permissions for its resource, and no others.
func TestPermissionsOfCalls(t *testing.T) {
	for entry, want := range map[string]string{
		"{invoke: '" + function + "reserve:live'}": "[{lambda:InvokeFunction " + function + "reserve:live}]",
		"{invoke: '" + strings.Replace(function, "111122223333", "${env:ACCOUNT}",
			1) + "reserve'}": "[{lambda:InvokeFunction " + function + "reserve}]",
		"{putEvents: 'arn:aws-cn:events:cn-north-1:111122223333:event-bus/shop'}": "[{events:PutEvents " +
			"arn:aws-cn:events:cn-north-1:111122223333:event-bus/shop}]",
		"{publish: 'arn:aws:sns:eu-west-3:111122223333:orders.fifo'}": "[{sns:Publish " +
			"arn:aws:sns:eu-west-3:111122223333:orders.fifo}]",
		"{send: '" + queue + "orders'}": "[{sqs:SendMessage arn:aws:sqs:eu-west-3:111122223333:orders}]",
		"{send: 'https://sqs.us-gov-west-1.amazonaws.com/111122223333/orders'}": "[{sqs:SendMessage " +
			"arn:aws-us-gov:sqs:us-gov-west-1:111122223333:orders}]",
		"{invoke: 'arn:aws-eusc:lambda:eusc-de-east-1:111122223333:function:reserve'}": "[{lambda:InvokeFunction " +
			"arn:aws-eusc:lambda:eusc-de-east-1:111122223333:function:reserve}]",
		"{send: 'https://sqs.eusc-de-east-1.amazonaws.eu/111122223333/orders'}": "[{sqs:SendMessage " +
			"arn:aws-eusc:sqs:eusc-de-east-1:111122223333:orders}]",
		"{send: 'https://sqs.us-isob-east-1.sc2s.sgov.gov/111122223333/orders'}": "[{sqs:SendMessage " +
			"arn:aws-iso-b:sqs:us-isob-east-1:111122223333:orders}]",
		"{send: 'http://127.0.0.1:4566/queue/eu-west-3/000000000000/orders'}": "[{sqs:SendMessage " +
			"arn:aws:sqs:eu-west-3:000000000000:orders}]",
		"{startExecution: '" + machine + "', express: true}": "[{states:StartSyncExecution " + machine + "}]",
		"{startExecution: '" + machine + ":live'}": "[{states:StartExecution " + machine +
			":live} {states:DescribeExecution arn:aws:states:eu-west-3:111122223333:execution:ship:*}]",
	} {
		a, err := parsed("{aws: " + entry + "}")
		if err != nil {
			t.Errorf("%s: %v", entry, err)
			continue
		}
		target, ok := a.Target("any")
		require.True(t, ok, entry)
		require.Equal(t, want, fmt.Sprint(target.Permissions()), entry)
	}
}

// A resource is in the partition of its Region.
func TestPartitionOfAnotherRegion(t *testing.T) {
	for _, entry := range []string{
		"{invoke: 'arn:aws:lambda:cn-north-1:111122223333:function:reserve'}",
		"{invoke: 'arn:aws-mars:lambda:eu-west-3:111122223333:function:reserve'}",
		"{send: 'https://sqs.eusc-de-east-1.amazonaws.com/111122223333/orders'}",
		"{send: 'https://sqs.eu-west-3.amazonaws.com.example/111122223333/orders'}",
	} {
		_, err := parsed("{aws: " + entry + "}")
		require.ErrorContains(t, err, "is not the", entry)
	}
}

// A stack is not deployed with an address of this machine, whichever setting has it.
func TestAddresses(t *testing.T) {
	const local = "http://127.0.0.1:4566/queue/eu-west-3/000000000000/orders"
	for text, want := range map[string]string{
		"{aws: {send: '" + local + "'}}": "operation *: " + local,
		"{url: https://shop.example, proxy: 'http://proxy.example', auth: {oauth2: {tokenURL: " +
			"https://login.example, clientID: shop, clientSecret: '${env:ACCOUNT}'}}}": "auth: oauth2: tokenURL: " +
			"https://login.example, proxy: http://proxy.example, url: https://shop.example",
	} {
		a, err := parsed(text)
		require.NoError(t, err)
		var got []string
		for of, address := range a.Addresses() {
			if address != "" {
				got = append(got, of+": "+address)
			}
		}
		slices.Sort(got)
		require.Equal(t, want, strings.Join(got, ", "), "%v", text)
	}
}

// An entry that cannot be called says why, and what to write.
func TestWrongCalls(t *testing.T) {
	for text, want := range map[string]string{
		"{aws: {}}": "names 0 calls; write one of invoke, putEvents",
		"{aws: {invoke: '" + function + "f', publish: 'arn:aws:sns:eu-west-3:111122223333:t'}}": "" +
			"names 2 calls",
		"{aws: {invoke: reserve}}": "" +
			"is not the ARN of a Lambda function, as in arn:aws:lambda:",
		"{aws: {invoke: '" + machine + "'}}": "" +
			"is not the ARN of a Lambda function",
		"{aws: {invoke: '" + function + "f/../x'}}":                               "is not the ARN",
		"{aws: {invoke: 'arn:aws:lambda:evil.example#:111122223333:function:f'}}": "is not the ARN",
		"{aws: {send: 'https://sqs.evil.example/111122223333/q'}}": "" +
			"is not the URL of an SQS queue",
		"{aws: {send: 'http://10.0.0.1/111122223333/q'}}": "" +
			"is not the URL of an SQS queue",
		"{aws: {send: 'https://user@127.0.0.1/111122223333/q'}}": "" +
			"is not the URL of an SQS queue",
		"{aws: {invoke: '" + function + "f', express: true}}": "" +
			"express is for startExecution",
		"{aws: {invoke: '" + function + "f', deduplicates: true}}": "" +
			"deduplicates is for putEvents",
		"{aws: {invoke: '" + function + "f'}, url: 'https://a.example'}": "" +
			"url, headers, insecure, allow and maxResponse",
		"{aws: {invoke: '" + function + "f'}, external: true}": "no other field has a meaning",
		"{aws: {invoke: '" + function + "f'}, operations: {a: {path: /a}}}": "" +
			`operation "a": method, path and check`,
		"{operations: {a: {aws: {invoke: '" + function + "f'}}, b: {}}}": `operation "b": neither it nor its agent has aws`,
		"{aws: {invoke: '" + function + "f'}, classify: {404: done}}":    "is no name of an error",
		"{aws: {invoke: '" + function + "f'}, classify: {Full: not-yet}}": "" +
			"write done, permanent or transient",
	} {
		_, err := parsed(text)
		require.ErrorContains(t, err, want, "%v", text)
	}
}

// A file is checked where its variables are not set.
func TestCheckOfCallsWithoutVariables(t *testing.T) {
	t.Setenv("UNSET", "")
	name := filepath.Join(t.TempDir(), "agents.yaml")
	text := "agents: {stock: {aws: {invoke: '${env:UNSET}'}, " +
		"operations: {a: {}, b: {aws: {send: '${env:UNSET}'}}}}}"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	c, unset, err := agentsfile.Check(name)
	require.NoError(t, err)
	require.Equal(t, []string{"UNSET"}, unset)
	require.True(t, c.Agents["stock"].OnAWS(), "%v, unset %v", err, unset)
}

// A workflow is refused if a service cannot keep what a step promises.
func TestGradesThatCannotBeKept(t *testing.T) {
	const bus, topic = "{putEvents: 'arn:aws:events:eu-west-3:111122223333:event-bus/shop'%s}",
		"{publish: 'arn:aws:sns:eu-west-3:111122223333:orders'%s}"
	for _, c := range []struct{ entry, grade, kept, more, want string }{
		{"{invoke: '" + function + "f'}", "fenced", "", "", ""},
		{"{startExecution: '" + machine + "', express: true}", "plain", "", "", ""},
		{fmt.Sprintf(bus, ""), "idempotent", "", "", "each repeated call makes another message"},
		{fmt.Sprintf(bus, ", deduplicates: true"), "idempotent", "", "", ""},
		{
			fmt.Sprintf(bus, ", deduplicates: true"), "fenced", "", "",
			"cannot refuse a call that comes after its undo",
		},
		{fmt.Sprintf(bus, ""), "plain", "", "", ""},
		{fmt.Sprintf(topic, ""), "idempotent", "", "", "operation run of agent stock is publish"},
		{"{send: '" + queue + "orders'}", "idempotent", "", "", "another message"},
		{"{send: '" + queue + "orders.fifo'}", "idempotent", "", "", "for 5 minutes"},
		{"{send: '" + queue + "orders.fifo'}", "idempotent", "5m", "", ""},
		{"{startExecution: '" + machine + "'}", "idempotent", "", "", "for 90 days"},
		{"{startExecution: '" + machine + "'}", "idempotent", "90d", "", ""},
		{"{startExecution: '" + machine + "'}", "fenced", "90d", "", "cannot refuse"},
		{"{startExecution: '" + machine + "'}", "plain", "90d", "", "is polled"},
		{"{startExecution: '" + machine + "'}", "idempotent", "90d", ", pointOfNoReturn: true", "is polled"},
	} {
		file, err := agentsfile.Parse([]byte("agents: {stock: {aws: "+c.entry+"}}"), os.LookupEnv)
		require.NoError(t, err)
		kept := ""
		if c.kept != "" {
			kept = "agents: {stock: {keyRetention: " + c.kept + "}}\n"
		}
		undo := "onFailure: undo, undo: back"
		if c.more != "" {
			undo = "onFailure: stop"
		}
		text := "workflow: w\n" + kept + "steps:\n  a: {agent: stock, operation: run, timeout: 1s, " + undo +
			c.more + ", grade: " + c.grade + "}\n"
		_, problems := source.Parse("w.yaml", []byte(text), source.Options{CannotKeep: file.CannotKeep})
		got := fmt.Sprint(problems.Err())
		if c.want == "" && problems.Err() != nil || !strings.Contains(got, c.want) {
			t.Errorf("%s %s %s: %s, want %q", c.entry, c.grade, c.kept, got, c.want)
		}
	}
}
