package infra_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

func variables(x tmpl, function string) any {
	return at(x.of("AWS::Lambda::Function")[function].Properties, "Environment", "Variables")
}

// A function of an application that takes statuses and sends orders may go round; one from elsewhere cannot
// be set.
func TestAllowLoop(t *testing.T) {
	needNode(t)
	_, stack := newStack("Loop")
	engine := infra.NewStepkeeper(stack, "Engine", small(stack))
	newFunction(t, stack, "Stopped")
	engine.AllowLoop(newFunction(t, stack, "Allowed"))
	foreign := awslambda.Function_FromFunctionArn(stack, str("Foreign"),
		str("arn:aws:lambda:eu-central-1:123456789012:function:f"))
	require.Contains(t, refusal(func() { engine.AllowLoop(foreign) }),
		"the function was made elsewhere; set RecursiveLoop: Allow there")
	functions := read(t, stack).of("AWS::Lambda::Function")
	same(t, "allowed", functions["Allowed"].Properties["RecursiveLoop"], "Allow")
	same(t, "stopped", functions["Stopped"].Properties["RecursiveLoop"], nil)
}

// What the CDK itself refuses is reported without its stack trace; a mistake in the program is no message.
func TestExplain(t *testing.T) {
	needNode(t)
	_, stack := newStack("Twice")
	func() {
		defer func() {
			err := infra.Explain(recover(), nil)
			if err == nil || !strings.Contains(err.Error(), "already a Construct with name 'Same'") ||
				strings.Contains(err.Error(), "\n    at ") {
				t.Errorf("reported as %v", err)
			}
		}()
		awssqs.NewQueue(stack, str("Same"), nil)
		awssqs.NewQueue(stack, str("Same"), nil)
	}()
	require.ErrorIs(t, infra.Explain(nil, os.ErrClosed), os.ErrClosed)
	defer func() {
		if recover() == nil {
			t.Error("a mistake in the program was printed as a message")
		}
	}()
	func() {
		defer func() { _ = infra.Explain(recover(), nil) }()
		list(nil)[len(os.Args)] = "there is no such place"
	}()
}

// What `make deploy` deploys is the example's workflow with other times, and no other workflow.
func TestProductionOrderIsTheExample(t *testing.T) {
	times := regexp.MustCompile(
		`"(timeout|queueAllowance|clockSkew|grace|tellAfter|initial|max|extendedInterval|lifetime|deadline)":[0-9]+,?`,
	)
	load := func(file string) string {
		d, problems := source.LoadFile(file,
			source.Options{KnownAgents: []string{"inventory", "payment", "shipping", "notification"}})
		require.NoError(t, problems.Err())
		data, err := workflow.Encode(d)
		require.NoError(t, err)
		return times.ReplaceAllString(string(data), "")
	}
	same(t, "app/order.yaml without its times", load("app/order.yaml"), load("../examples/order/order.yaml"))
}
