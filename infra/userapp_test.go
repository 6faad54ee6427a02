package infra_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const shippingAgent = `package main

import (
	"context"
	"os"

	"github.com/stepkeeper/stepkeeper/functions/agent"
)

func book(context.Context, map[string]any, agent.Call) (map[string]string, error) {
	return map[string]string{"tracking": "t-1"}, nil
}

func main() {
	if err := agent.Serve(context.Background(), os.Getenv("STEPKEEPER_AGENT"), agent.Operations{"book": agent.Typed(book)}); err != nil {
		os.Exit(1)
	}
}
`

var goBlock = regexp.MustCompile("(?s)```go\n(package main.*?)```")

// userModule is a folder as a user of the construct has it.
func userModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	text := func(file string) string {
		data, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		return string(data)
	}
	page := goBlock.FindStringSubmatch(text("docs/how-to/aws-app.md"))
	require.NotNil(t, page, "docs/how-to/aws-app.md shows no app")
	requires := strings.Replace(text("go.mod"), "module github.com/stepkeeper/stepkeeper\n",
		"module example.com/shop\n", 1)
	dir := t.TempDir()
	for file, content := range map[string]string{
		"go.mod": requires +
			"\nrequire github.com/stepkeeper/stepkeeper v0.0.0\n\nreplace " +
			"github.com/stepkeeper/stepkeeper => " + root + "\n",
		"go.sum": text("go.sum"), "main.go": page[1],
		"shipping/main.go":     shippingAgent,
		"workflows/order.yaml": text("examples/order/order.yaml"),
		"project/aws/main.go": strings.ReplaceAll(
			text("cmd/stepkeeper/internal/scaffold/template/aws/aws/main.go.tmpl"), "{{.Name}}", "shop"),
		"project/workflows/order.yaml": text("examples/order/order.yaml"),
		"project/agents.yaml":          text("infra/app/agents.yaml"),
		"agents.yaml": strings.Replace(text("infra/app/agents.yaml"), "    url: https://payment.example\n",
			"    url: https://payment.example\n    headers: {Authorization: \"Bearer "+
				"${env:PAYMENT_TOKEN}\"}\n", 1),
	} {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

// The app of docs/how-to/aws-app.md and that of stepkeeper init --aws, in another module, compile, build their
// functions and synthesise. A mistake is printed without a stack trace.
func TestUsersOwnApp(t *testing.T) {
	needNode(t)
	dir := userModule(t)
	run := func(pkg, out string, environment ...string) (string, error) {
		binary := filepath.Join(dir, "bin", pkg, "app") // linked once, also where it runs twice
		build := exec.Command("go", "build", "-mod=mod", "-ldflags=-s -w", "-o", binary, pkg)
		build.Dir = dir
		build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build %s: %v\n%s", pkg, err, text)
		}
		app := exec.Command(binary)
		app.Dir = dir
		if pkg == "./project/aws" { // the app of stepkeeper init --aws
			app.Dir = filepath.Join(dir, pkg)
		}
		app.Env = append(append(os.Environ(), "CDK_OUTDIR="+out, "GOFLAGS=", "GOWORK=off"),
			environment...)
		text, err := app.CombinedOutput()
		return string(text), err
	}
	synthesised := func(pkg, stack string, environment ...string) tmpl {
		out := t.TempDir()
		_, err := run(pkg, out, environment...)
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(out, stack+".template.json"))
		var x tmpl
		if err == nil {
			err = json.Unmarshal(data, &x)
		}
		require.NoError(t, err)
		return x
	}

	x := synthesised(".", "Shop")
	same(t, "functions", len(x.of("AWS::Lambda::Function")), 5) // the fourth agent is external
	same(t, "secret", at(variables(x, "AgentPayment"), "STEPKEEPER_SECRETS"), `{"PAYMENT_TOKEN":{"field":"token","secret":"arn:aws:secretsmanager:eu-central-1:111122223333:secret:payment-AbCdEf"}}`)

	same(t, "statuses stay", x.of("AWS::SQS::Queue")["Status"].DeletionPolicy, "RetainExceptOnCreate")

	x = synthesised("./project/aws", "shop-prod", `CDK_CONTEXT_JSON={"stage":"prod"}`)
	for _, queue := range []string{"Status", "Intake"} {
		same(t, queue+" stays", x.of("AWS::SQS::Queue")[queue].DeletionPolicy, "RetainExceptOnCreate")
	}

	require.NoError(t, os.Remove(filepath.Join(dir, "agents.yaml")))
	text, err := run(".", t.TempDir())
	require.Error(t, err)
	require.Contains(t, text, "stepkeeper Engine cannot be deployed:")
	require.Contains(t, text, "agents file agents.yaml: ")
	require.NotContains(t, text, "goroutine ")
	require.NotContains(t, text, "\n    at ")
	require.NotContains(t, text, "panic:")
}
