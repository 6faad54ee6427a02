package infra_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/app/example"
)

// app is the example's app, told by its context, with functions that were "built" before.
func app(t *testing.T, context map[string]any) (awscdk.App, error) {
	t.Helper()
	needNode(t)
	functions := t.TempDir()
	for _, name := range []string{"scheduler", "supervisor", "agent"} {
		if err := os.Mkdir(filepath.Join(functions, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(functions, name, "bootstrap"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]any{"prebuilt": functions}
	for name, value := range context {
		all[name] = value
	}
	a := awscdk.NewApp(&awscdk.AppProps{Context: &all, AnalyticsReporting: jsii.Bool(false)})
	return a, example.Add(a)
}

// The app that `make deploy` deploys, as it is and told otherwise.
func TestExample(t *testing.T) {
	a, err := app(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := read(t, a.Node().FindChild(str("Stepkeeper")).(awscdk.Stack))
	same(t, "functions", len(x.of("AWS::Lambda::Function")), 6)
	same(t, "tables stay", x.of("AWS::DynamoDB::GlobalTable")["Orders"].DeletionPolicy, "Retain")
	same(t, "reply-to", target(at(variables(x, "Scheduler"), "STEPKEEPER_REPLY_TO")), `{"shop":"ShopStatus"}`)
	for _, p := range loose(x) {
		t.Error(p)
	}

	a, err = app(t, map[string]any{
		"stack": "Shop", "email": "ops@example.com", "keep": "false", "x86": "true", "rule": "true", "sweep": "10s", "finished": "true",
		"reply-to": "web=arn:aws:sqs:eu-central-1:123456789012:web", "nag": "true",
		"operators": "arn:aws:iam::123456789012:role/a,arn:aws:iam::123456789012:role/b",
	})
	if err != nil {
		t.Fatal(err)
	}
	stack := a.Node().FindChild(str("Shop")).(awscdk.Stack)
	x = read(t, stack)
	same(t, "tables go", x.of("AWS::DynamoDB::GlobalTable")["Orders"].DeletionPolicy, "Delete")
	same(t, "architecture", at(x.of("AWS::Lambda::Function")["Scheduler"].Properties, "Architectures", 0), "x86_64")
	same(t, "sweep", at(variables(x, "Supervisor"), "STEPKEEPER_SWEEP_EVERY"), "10s")
	same(t, "finished", at(variables(x, "Scheduler"), "STEPKEEPER_FINISHED"), "true")
	same(t, "mail", x.of("AWS::SNS::Subscription")["Alertsopsexamplecom"].Properties["Endpoint"], "ops@example.com")
	same(t, "rule", len(x.of("AWS::Events::Rule")), 1)
	same(t, "own status queue", len(x.of("AWS::SQS::Queue")), 16)
	for _, f := range findings(stack) {
		t.Error(f)
	}
}

// A mistake in the context is an error of one line, not a stack trace.
func TestExampleRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		context map[string]any
		want    string
	}{
		"no truth":        {map[string]any{"rule": "perhaps"}, "context rule is"},
		"no interval":     {map[string]any{"sweep": "often"}, "context sweep"},
		"no file":         {map[string]any{"agents": "nowhere.yaml"}, "nowhere.yaml"},
		"no workflow":     {map[string]any{"workflows": "nowhere"}, "nowhere"},
		"nothing built":   {map[string]any{"prebuilt": t.TempDir()}, "prebuilt functions"},
		"strange sweep":   {map[string]any{"sweep": "45s"}, "SweepInterval is 45s"},
		"missing service": {map[string]any{"workflows": "../workflows"}, "there is no agent accounts"},
	} {
		_, err := app(t, c.context)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "goroutine") {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
