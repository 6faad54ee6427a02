package infra_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/infra/app/example"
)

// release writes the function zips of a release for both architectures, and their checksums.
func release(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	sums := ""
	for _, name := range []string{"scheduler", "supervisor", "agent"} {
		var data bytes.Buffer
		w := zip.NewWriter(&data)
		f, err := w.Create("bootstrap")
		_, written := fmt.Fprint(f, name)
		err = errors.Join(err, written, w.Close())
		require.NoError(t, err)
		for _, file := range []string{name + "_arm64.zip", name + "_amd64.zip"} {
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data.Bytes()), file)
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), data.Bytes(), 0o600))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(sums), 0o600))
	return dir
}

// app is the example's app, set by its context, with the functions of a release.
func app(t *testing.T, context map[string]any) (awscdk.App, error) {
	t.Helper()
	needNode(t)
	all := map[string]any{"prebuilt": release(t)}
	maps.Copy(all, context)
	a := awscdk.NewApp(&awscdk.AppProps{Context: &all, AnalyticsReporting: jsii.Bool(false)})
	return a, example.Add(a)
}

// The app that `make deploy` deploys, as it is and with other settings, which change what testdata/variants says.
func TestExample(t *testing.T) {
	file := filepath.Join(folder(t, map[string]string{"agents.yaml": `agents:
  inventory: {url: "https://i.example"}
  payment: {url: "${env:URL}", headers: {Authorization: "Bearer ${env:TOKEN}"}}
  shipping: {external: true}
  notification: {external: true}
`}), "agents.yaml")
	const secret, role = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay-AbCdEf",
		"arn:aws:iam::123456789012:role/shipper"
	synthesised := func(context map[string]any) (map[string]bool, awscdk.Stack) {
		a, err := app(t, context)
		require.NoError(t, err)
		stack := a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack)
		x := read(t, stack)
		all := lines(x)
		for _, w := range warnings(stack) {
			all["warning: "+w] = true
		}
		require.Empty(t, loose(x))
		return all, stack
	}
	before, _ := synthesised(nil)
	own := maps.Clone(before)
	maps.DeleteFunc(own, func(line string, _ bool) bool {
		return !regexp.MustCompile("ShopStatus|REPLY_TO|DeletionPolicy|warning").MatchString(line)
	})
	golden.Assert(t, difference(nil, own), "variants/app.txt")
	after, stack := synthesised(map[string]any{
		"email": "ops@example.com", "keep": "false", "x86": "true",
		"sweep": "5m", "finished": "true",
		"reply-to": "web=arn:aws:sqs:eu-central-1:123456789012:web", "nag": "true", "dashboard": "true",
		"outcomes":  "true",
		"operators": "arn:aws:iam::123456789012:role/a,arn:aws:iam::123456789012:role/b",
	})
	maps.DeleteFunc(after, func(line string, _ bool) bool { return strings.Contains(line, "Dashboard: DashboardBody") })
	golden.Assert(t, difference(before, after), "variants/app-with-settings.txt")
	require.Empty(t, findings(stack))
	after, _ = synthesised(map[string]any{
		"agents": file, "secrets": "payment.TOKEN=" + secret + "#token,payment.URL=/pay/url",
		"senders":  "shipping=" + role + ",shipping=" + role + "2",
		"role-ids": "shipping=AROAEXAMPLEEXAMPLE12", "fair": "true", "pages": 70, "paused": "true",
		"email": "ops@example.com", "priorities": "payment=2",
		"tables": "orders=" + tableOf + "O-1,definitions=" + tableOf + "D-1,ledger.shipping=" + tableOf +
			"L-1,ledger.notification=" + tableOf + "L-2",
	})
	golden.Assert(t, difference(before, after), "variants/app-with-agents-outside.txt")
	t.Setenv("CDK_DEFAULT_ACCOUNT", account)
	t.Setenv("CDK_DEFAULT_REGION", region)
	a, err := app(t, map[string]any{"replicas": "eu-west-1", "stack": "Shop"})
	require.NoError(t, err)
	x := read(t, a.Node().FindChild(str("Shop")).(awscdk.Stack))
	same(t, "Regions", len(list(x.of("AWS::DynamoDB::GlobalTable")["Orders"].Properties["Replicas"])), 2)
}

// A mistake in the context is an error of one line, not a stack trace.
func TestExampleRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		context map[string]any
		want    string
	}{
		"no truth":  {map[string]any{"fair": "perhaps"}, "context fair is"},
		"no number": {map[string]any{"pages": "many"}, "context pages is"},
		"a list":    {map[string]any{"operators": []string{"a"}}, "context operators is"},
		"no secret": {
			map[string]any{
				"secrets": "payment.TOKEN=arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay",
			},
			"context secrets is",
		},
		"stray secret": {map[string]any{"secrets": "mail.TOKEN=/mail/token"}, "the name of an HTTP agent"},
		"no role": {
			map[string]any{"senders": "payment=arn:aws:iam::123456789012:role/x"},
			"the name of an external agent",
		},
		"no queue": {
			map[string]any{
				"reply-to": "shop=https://sqs.eu-central-1.amazonaws.com/123456789012/shop",
			},
			"context reply-to is",
		},
		"no bus": {
			map[string]any{"reply-to": "events=arn:aws:events:eu-central-1:123456789012:rule/shop"},
			"context reply-to is",
		},
		"no table": {map[string]any{"tables": "orders=Shop-Orders"}, "context tables is"},
		"strange table": {
			map[string]any{"tables": "others=" + tableOf + "Shop-Orders"},
			"context tables is",
		},
		"two mistakes":  {map[string]any{"fair": "perhaps", "pages": "many"}, "context pages is"},
		"no interval":   {map[string]any{"sweep": "often"}, "context sweep"},
		"no file":       {map[string]any{"agents": "nowhere.yaml"}, "nowhere.yaml"},
		"no workflow":   {map[string]any{"workflows": "nowhere"}, "nowhere"},
		"nothing built": {map[string]any{"prebuilt": t.TempDir()}, "_arm64.zip of the release in"},
		"strange sweep": {map[string]any{"sweep": "45s"}, "SweepInterval is 45s"},
		"stray ID": {
			map[string]any{"role-ids": "payment=AROAEXAMPLEEXAMPLE12"},
			"context role-ids is",
		},
		"missing service": {map[string]any{"workflows": "../examples/order"}, "there is no agent accounts"},
	} {
		_, err := app(t, c.context)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
