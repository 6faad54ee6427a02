package infra_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/build"
)

// All tests that need the CDK are in this package: it starts one Node process for all of them.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// needNode skips where there is no Node, as on a machine with nothing but Go; `make test-infra`
// fails there.
func needNode(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	if _, err := exec.LookPath("node"); err == nil {
		return
	}
	require.Empty(t, os.Getenv("STEPKEEPER_NEED_NODE"))
	t.Skip(
		"SKIPPED: the CDK needs Node, and there is none; NOTHING OF THE TEMPLATE WAS TESTED. Install Node " +
			"and run make test-infra")
}

// fake stands in for the Go toolchain: what is in a binary does not matter to a template.
func fake(b build.Binary) error {
	return os.WriteFile(b.Out, []byte(b.Package), 0o600)
}

const account, region = "123456789012", "eu-central-1"

// newApp is an app that writes nothing but templates, which takes less time.
func newApp(context map[string]any) awscdk.App {
	all := map[string]any{"aws:cdk:disable-creation-stack-traces": true, "aws:cdk:disable-stack-trace": true}
	maps.Copy(all, context)
	return awscdk.NewApp(&awscdk.AppProps{
		AnalyticsReporting: jsii.Bool(false), TreeMetadata: jsii.Bool(false), Context: &all,
	})
}

func newStack(id string) (awscdk.App, awscdk.Stack) {
	app := newApp(nil)
	return app, awscdk.NewStack(app, jsii.String(id), &awscdk.StackProps{
		Env: &awscdk.Environment{Account: jsii.String(account), Region: jsii.String(region)},
	})
}

// shop is the order example.
func shop(stack awscdk.Stack) *infra.Props {
	p := &infra.Props{
		Workflows: []string{"app/order.yaml"}, Agents: map[string]infra.Agent{}, Build: fake,
		AlarmEmail: "ops@example.com",
		ReplyTo: map[string]awssqs.IQueue{
			"shop": awssqs.Queue_FromQueueArn(stack, jsii.String("Shop"),
				jsii.String("arn:aws:sqs:"+region+":"+account+":shop-status")),
		},
	}
	for _, name := range []string{"inventory", "payment", "shipping", "notification"} {
		p.Agents[name] = infra.Agent{HTTP: "app/agents.yaml"}
	}
	return p
}

// small has the agent payment alone. It takes half of the time, for tests that look at something else than the example.
func small(stack awscdk.Stack) *infra.Props {
	p := shop(stack)
	p.Workflows = []string{"testdata/small.yaml"}
	p.Agents = map[string]infra.Agent{"payment": p.Agents["payment"]}
	return p
}

// template synthesises the example, changed by the test.
func template(t *testing.T, change func(stack awscdk.Stack, p *infra.Props)) tmpl {
	t.Helper()
	needNode(t)
	if change == nil {
		return parse(t, unchanged())
	}
	return read(t, synthesised(variant{change: change}).own)
}

// unchanged is the example as it is: a third of the tests look at it, and it takes seconds to make.
var unchanged = sync.OnceValue(func() any {
	nothing := func(awscdk.Stack, *infra.Props) {}
	return assertions.Template_FromStack(synthesised(variant{change: nothing}).own, nil).ToJSON()
})

// stacks are those of a variant; state is nil if it has no stack of its own.
type stacks struct{ own, state awscdk.Stack }

func synthesised(v variant) (s stacks) {
	_, s.own = newStack("Test")
	p := shop(s.own)
	v.change(s.own, p)
	engine := infra.NewStepkeeper(s.own, "Engine", p)
	if v.after != nil {
		v.after(s.own, engine)
	}
	if p.State != nil {
		s.state = awscdk.Stack_Of(p.State.Construct)
	}
	return s
}

// made are the variants that a test has asked for. Many tests look at a template that another one needs too.
var made = map[string]stacks{}

func ofVariant(t *testing.T, name string) stacks {
	t.Helper()
	needNode(t)
	if made[name].own == nil {
		v, there := variants(t)[name]
		require.True(t, there, name)
		made[name] = synthesised(v)
	}
	return made[name]
}

// templateOf is the template of a variant.
func templateOf(t *testing.T, name string) tmpl {
	t.Helper()
	return read(t, ofVariant(t, name).own)
}

func read(t *testing.T, stack awscdk.Stack) tmpl {
	t.Helper()
	return parse(t, assertions.Template_FromStack(stack, nil).ToJSON())
}

// parse gives each test a copy of its own.
func parse(t *testing.T, made any) (out tmpl) {
	t.Helper()
	data, err := json.Marshal(made)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

type tmpl struct {
	Resources map[string]resource
	Outputs   map[string]struct {
		Value       any
		Description string
		Export      any
	}
}

type resource struct {
	Type           string
	Properties     map[string]any
	Metadata       map[string]any
	DeletionPolicy string
	UpdatePolicy   map[string]any
	DependsOn      any
}

// of lists the resources of a type by the readable part of their IDs.
func (x tmpl) of(kind string) map[string]resource {
	found := map[string]resource{}
	for id, r := range x.Resources {
		if r.Type == kind {
			found[plainID(id)] = r
		}
	}
	return found
}

// id is the whole of an ID, by its readable part.
func (x tmpl) id(kind, plain string) string {
	for id, r := range x.Resources {
		if r.Type == kind && plainID(id) == plain {
			return id
		}
	}
	return ""
}

// attached are the managed policies that say of themselves that a role has them.
func (x tmpl) attached(role string) (policies []string) {
	for id, p := range x.of("AWS::IAM::ManagedPolicy") {
		if slices.ContainsFunc(list(p.Properties["Roles"]),
			func(r any) bool { return at(r, "Ref") == role }) {
			policies = append(policies, id)
		}
	}
	slices.Sort(policies)
	return policies
}

// plainID cuts the construct's own ID and CDK's hash off.
func plainID(id string) string {
	id = strings.TrimPrefix(id, "Engine")
	if len(id) > 8 && strings.Trim(id[len(id)-8:], "0123456789ABCDEF") == "" {
		id = id[:len(id)-8]
	}
	return id
}

// at walks into maps and lists.
func at(v any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[key]
		case int:
			l, _ := v.([]any)
			if key >= len(l) {
				return nil
			}
			v = l[key]
		}
	}
	return v
}

func list(v any) []any {
	switch x := v.(type) {
	case nil:
		return nil
	case []any:
		return x
	default:
		return []any{x}
	}
}

// target is the readable ID that a reference points to: a Ref, a GetAtt, or a Join of one with more.
func target(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case map[string]any:
		if ref, ok := x["Ref"].(string); ok {
			return plainID(ref)
		}
		if get, ok := x["Fn::GetAtt"].([]any); ok {
			return plainID(get[0].(string))
		}
		if join, ok := x["Fn::Join"].([]any); ok {
			var all []string
			for _, part := range list(join[1]) {
				all = append(all, target(part))
			}
			return strings.Join(all, "")
		}
	}
	return fmt.Sprint(v)
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := shown(got), shown(want); g != w {
		t.Errorf("%s is %s, want %s", what, g, w)
	}
}

// shown prints numbers of a template, which are all floats, as people write them.
func shown(v any) string {
	if f, is := v.(float64); is {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
