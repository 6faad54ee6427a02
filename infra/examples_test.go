package infra_test

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra"
)

// The main function of an app calls infra.Main, which synthesises the templates and prints what is wrong. It
// needs Node, so this example is compiled and not run.
func ExampleNewStepkeeper() {
	infra.Main(func(app awscdk.App) error {
		stack := awscdk.NewStack(app, jsii.String("Shop"), nil)
		infra.NewStepkeeper(stack, "Engine", &infra.Props{
			Workflows:  []string{"workflows"},
			Agents:     map[string]infra.Agent{"payment": {HTTP: "agents.yaml"}},
			AlarmEmail: "ops@example.com",
		})
		return nil
	})
}
