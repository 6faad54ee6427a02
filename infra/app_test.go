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
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

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
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{name + "_arm64.zip", name + "_amd64.zip"} {
			sums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data.Bytes()), file)
			if err := os.WriteFile(filepath.Join(dir, file), data.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(sums), 0o600); err != nil {
		t.Fatal(err)
	}
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

// The app that `make deploy` deploys, as it is and with other settings.
func TestExample(t *testing.T) {
	a, err := app(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := read(t, a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack))
	same(t, "functions", len(x.of("AWS::Lambda::Function")), 6)
	same(t, "tables stay", x.of("AWS::DynamoDB::GlobalTable")["Orders"].DeletionPolicy, "Retain")
	same(t, "statuses stay", x.of("AWS::SQS::Queue")["ShopStatus"].DeletionPolicy, "RetainExceptOnCreate")
	same(t, "reply-to", target(at(variables(x, "Scheduler"), "STEPKEEPER_REPLY_TO")), `{"shop":"ShopStatus"}`)
	for _, p := range loose(x) {
		t.Error(p)
	}
	if w := strings.Join(warnings(a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack)),
		" "); !strings.Contains(w, "have no subscriber") {
		t.Errorf("an app without subscribers warns of %q", w)
	}

	a, err = app(t, map[string]any{
		"stack": "Shop", "email": "ops@example.com", "keep": "false", "x86": "true",
		"sweep": "5m", "finished": "true",
		"reply-to": "web=arn:aws:sqs:eu-central-1:123456789012:web", "nag": "true", "dashboard": "true",
		"outcomes":  "true",
		"operators": "arn:aws:iam::123456789012:role/a,arn:aws:iam::123456789012:role/b",
	})
	if err != nil {
		t.Fatal(err)
	}
	stack := a.Node().FindChild(str("Shop")).(awscdk.Stack)
	x = read(t, stack)
	same(t, "tables go", x.of("AWS::DynamoDB::GlobalTable")["Orders"].DeletionPolicy, "Delete")
	same(t, "architecture", at(x.of("AWS::Lambda::Function")["Scheduler"].Properties, "Architectures", 0),
		"x86_64")
	same(t, "sweep", at(variables(x, "Supervisor"), "STEPKEEPER_SWEEP_EVERY"), "5m0s")
	same(t, "finished", at(variables(x, "Scheduler"), "STEPKEEPER_FINISHED"), "true")
	same(t, "outcomes", at(variables(x, "Supervisor"), "STEPKEEPER_OUTCOMES"), "true")
	same(t, "mail", x.of("AWS::SNS::Subscription")["Alertsopsexamplecom"].Properties["Endpoint"],
		"ops@example.com")
	same(t, "dashboard", len(x.of("AWS::CloudWatch::Dashboard")), 1)
	same(t, "own status queue", len(x.of("AWS::SQS::Queue")), 16)
	for _, f := range findings(stack) {
		t.Error(f)
	}
	if w := warnings(stack); len(w) != 1 || !strings.Contains(w[0], "set StackProps.Env") {
		t.Errorf("it warns of %q, want only that the account is not checked", w)
	}
}

// Secrets by reference, external agents by their roles, a second Region by its tables.
func TestExampleSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agents.yaml")
	if err := os.WriteFile(file, []byte(`agents:
  inventory: {url: "https://i.example"}
  payment: {url: "${env:URL}", headers: {Authorization: "Bearer ${env:TOKEN}"}}
  shipping: {external: true}
  notification: {external: true}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret, role = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:pay-AbCdEf",
		"arn:aws:iam::123456789012:role/shipper"
	a, err := app(t, map[string]any{
		"agents": file, "secrets": "payment.TOKEN=" + secret + "#token,payment.URL=/pay/url",
		"senders":  "shipping=" + role + ",shipping=" + role + "2",
		"role-ids": "shipping=AROAEXAMPLEEXAMPLE12", "fair": "true", "pages": "70", "paused": "true",
		"email": "ops@example.com",
		"tables": "orders=" + tableOf + "O-1,definitions=" + tableOf + "D-1,ledger.shipping=" + tableOf +
			"L-1,ledger.notification=" + tableOf + "L-2",
	})
	if err != nil {
		t.Fatal(err)
	}
	stack := a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack)
	x := read(t, stack)
	same(t, "secrets", at(variables(x, "AgentPayment"), "STEPKEEPER_SECRETS"),
		`{"TOKEN":{"field":"token","secret":"`+secret+`"},"URL":{"parameter":"/pay/url"}}`)
	same(t, "fair", at(variables(x, "Scheduler"), "STEPKEEPER_FAIR_QUEUES"), "true")
	same(t, "pages", at(variables(x, "Supervisor"), "STEPKEEPER_SWEEP_PAGES"), "70")
	same(t, "paused", x.of("AWS::Scheduler::Schedule")["Schedule"].Properties["State"], "DISABLED")
	same(t, "orders", at(variables(x, "Scheduler"), "STEPKEEPER_ORDERS"), "O-1")
	same(t, "tables made", len(x.of("AWS::DynamoDB::GlobalTable")), 0)
	var replies string
	for _, p := range x.of("AWS::SQS::QueuePolicy") {
		if target(at(p.Properties, "Queues", 0)) == "Replies" {
			replies = fmt.Sprint(p.Properties)
		}
	}
	if !strings.Contains(replies, role+" "+role+"2") {
		t.Errorf("the external agent's roles are not in %s", replies)
	}
	if w := strings.Join(warnings(stack), " "); !strings.Contains(w,
		"external agent notification are refused") || strings.Contains(w, "agent shipping") ||
		strings.Contains(w, "have no subscriber") {
		t.Errorf("warned of %q", w)
	}
	for _, p := range loose(x) {
		t.Error(p)
	}

	t.Setenv("CDK_DEFAULT_ACCOUNT", account)
	t.Setenv("CDK_DEFAULT_REGION", region)
	a, err = app(t, map[string]any{"replicas": "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	x = read(t, a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack))
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
