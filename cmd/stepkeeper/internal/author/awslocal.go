package author

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

var awsLocalDeployText = app.Text{
	Use:   "deploy [DIR]",
	Short: "Deploy the CDK app of a project to LocalStack",
	Examples: `  stepkeeper aws local deploy
  stepkeeper aws local deploy --context stage=dev`,
	Long: `It runs the CDK app in the folder DIR (default aws) with the setting stage=local, and deploys its stack. Functions
are built for this machine. Their agents may call services on this machine. It prints the outputs of the stack and
the variables that let an AWS SDK and this program use it. Deploy again after a change.`,
	Args:  app.Args{Most: 1, What: "one folder at most"},
	Offer: app.Folders,
	Environment: map[string]string{
		"LOCALSTACK_PORT": "port of LocalStack on 127.0.0.1 (default 4566)",
		"AWS_REGION":      "Region of the stack (default us-east-1)",
	},
}

var awsText = app.Text{
	Use:   "aws",
	Group: "author",
	Short: "Deploy a project to AWS or to an emulator on this machine, and pause a stack",
}

var awsLocalUpText = app.Text{
	Use:   "up",
	Short: "Start LocalStack, and install it if it is missing",
	Examples: `  stepkeeper aws local up
  LOCALSTACK_PORT=4571 stepkeeper aws local up`,
	Long: `LocalStack 4.14.0 runs in Docker if an engine answers, and as a process otherwise. The process needs Python 3.13,
Java 17 or later, npm and curl. It installs 700 MB into your cache folder once.`,
	Environment: map[string]string{
		"LOCALSTACK_PORT": "port of LocalStack on 127.0.0.1 (default 4566)",
		"LOCALSTACK_MODE": "docker or process (default docker if an engine answers)",
		"PYTHON":          "Python 3.13 to install LocalStack with",
		"STATE":           "folder of the process's data and log (default in your cache folder)",
	},
}

var awsLocalDownText = app.Text{
	Use:      "down",
	Short:    "Stop LocalStack and delete its contents",
	Examples: "  stepkeeper aws local down",
	Long:     "It ends the LocalStack that `stepkeeper aws local up` started. Its installation stays.",
	Environment: map[string]string{
		"LOCALSTACK_PORT": "port of LocalStack on 127.0.0.1 (default 4566)",
	},
}

var awsLocalText = app.Text{
	Use:   "local",
	Short: "Run AWS on this machine with LocalStack",
	Environment: map[string]string{
		"LOCALSTACK_PORT": "port of LocalStack on 127.0.0.1 (default 4566)",
		"LOCALSTACK_MODE": "docker or process (default docker if an engine answers)",
	},
}

// NewAWS returns the command `aws` with its subcommands.
func NewAWS(a *app.App) *cobra.Command {
	script := func(run func(context.Context, *app.App) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), a) }
	}
	o := &deployOptions{app: a, dir: "aws"}
	deploy := a.Command(awsLocalDeployText, []app.Flag{
		app.FileFlags.Flag("context", &o.context, "`KEY=VALUE` settings of the CDK app"),
	},
		func(cmd *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.dir = given[0]
			}
			return runDeploy(cmd.Context(), o)
		})
	return a.Group(awsText, newAWSTemplate(a), newSwitch(a, awsPauseText, operate.Pause),
		newSwitch(a, awsResumeText, operate.Resume), newTokenKey(a), a.Group(awsLocalText,
			a.Command(awsLocalUpText, nil, script(runUp)), deploy,
			a.Command(awsLocalDownText, nil, script(runDown))))
}

func runUp(ctx context.Context, a *app.App) error {
	progress := a.Streams.Meanwhile("installing and starting LocalStack, up to 15 minutes the first time", 0)
	err := localstack.Start(ctx, progress)
	progress.Done()
	if err != nil {
		return failure.Wrap(err, failure.General, "the lines above name the cause", "LocalStack does not run")
	}
	return nil
}

func runDown(ctx context.Context, a *app.App) error {
	if err := localstack.Stop(ctx, a.Streams.Err); err != nil {
		return failure.Wrap(err, failure.General, "the lines above name the cause",
			"LocalStack was not stopped")
	}
	return nil
}

type deployOptions struct {
	app     *app.App
	dir     string
	context map[string]string
}

// localStack is the JSON output of `aws local deploy`.
type localStack struct {
	Stack    string            `json:"stack"`
	Endpoint string            `json:"endpoint"`
	Region   string            `json:"region"`
	Outputs  map[string]string `json:"outputs"`

	template cdkapp.Template
}

func needCDK() error {
	for _, tool := range []string{"go", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			return failure.Wrap(err, failure.Usage, "install Go, and Node 20 or later: https://nodejs.org",
				"the CDK app cannot run: %s is missing", tool)
		}
	}
	return nil
}

// synthesise runs the CDK app. The function end removes its output.
func (o *deployOptions) synthesise(ctx context.Context, settings map[string]string,
) (assembly *cdkapp.Assembly, end func(), err error) {
	dir, err := os.MkdirTemp("", "stepkeeper-cdk-")
	if err != nil {
		return nil, nil, failure.Wrap(err, failure.General, "", "no folder could be made for the template")
	}
	end = func() { _ = os.RemoveAll(dir) }
	o.app.Streams.Say("building the functions and the template …")
	progress := o.app.Streams.Meanwhile("building the functions and the template", 0)
	assembly, err = cdkapp.Synthesise(ctx, o.dir, dir, settings[emulate.Context], settings)
	progress.Done()
	if err == nil {
		return assembly, end, nil
	}
	end()
	if errors.Is(err, cdkapp.ErrNoApp) {
		return nil, nil, failure.Wrap(err, failure.NotFound,
			"write one with `stepkeeper init --aws`, or name its folder", "there is no template")
	}
	return nil, nil, failure.Wrap(err, failure.General, "", "there is no template")
}

func runDeploy(ctx context.Context, o *deployOptions) error {
	if err := needCDK(); err != nil {
		return err
	}
	endpoint := localstack.Endpoint(o.app.Getenv("LOCALSTACK_PORT"))
	if err := localstack.Answers(ctx, endpoint); err != nil {
		return failure.Wrap(err, failure.General,
			"start it with `stepkeeper aws local up`; if its port is not 4566, set LOCALSTACK_PORT",
			"LocalStack at %s does not respond", endpoint)
	}
	c, err := awsclient.Load(ctx, awsclient.Options{Endpoint: endpoint, CallTimeout: time.Minute})
	if err != nil {
		return failure.Wrap(err, failure.General, "", "LocalStack cannot be used")
	}
	// LocalStack derives the account from the access key. The user's own access key would select a different
	// account.
	c.Credentials = credentials.NewStaticCredentialsProvider("test", "test", "")
	settings := map[string]string{"stage": "local"}
	maps.Copy(settings, o.context)
	settings[emulate.Context] = emulate.NameLocalStack
	assembly, end, err := o.synthesise(ctx, settings)
	if err != nil {
		return err
	}
	defer end()
	if err := emulate.LocalStack(assembly.Template); err != nil {
		return failure.Wrap(err, failure.General, "", "nothing was deployed")
	}
	o.app.Streams.Say(fmt.Sprintf("deploying the stack %s to %s …", assembly.Stack, endpoint))
	progress := o.app.Streams.Meanwhile(fmt.Sprintf("deploying %d resources", assembly.Template.Resources()),
		7*time.Minute)
	outputs, err := cdkapp.Deploy(ctx, c, assembly)
	progress.Done()
	if err != nil {
		return failure.Wrap(err, failure.General, "", "the stack %s was not deployed", assembly.Stack)
	}
	o.print(localStack{assembly.Stack, endpoint, c.Region, outputs, assembly.Template})
	return nil
}

func (o *deployOptions) print(deployed localStack) {
	if o.app.JSON() {
		o.app.PrintJSON(deployed)
		return
	}
	out := o.app.Streams.Out
	described, _ := deployed.template["Outputs"].(map[string]any)
	fmt.Fprintf(out, "the stack %s is deployed. --output json prints all outputs; an application needs\n\n",
		deployed.Stack)
	for _, key := range slices.Sorted(maps.Keys(deployed.Outputs)) {
		// The names of the construct's outputs begin with Engine. An application needs only one of these
		// outputs: the URL of the intake queue.
		if strings.HasSuffix(key, "IntakeUrl") || !strings.HasPrefix(key, "Engine") {
			output, _ := described[key].(map[string]any)
			text, _ := output["Description"].(string)
			line := fmt.Sprintf("  %-20s %s  %s", key, deployed.Outputs[key], text)
			fmt.Fprintln(out, strings.TrimRight(line, " "))
		}
	}
	fmt.Fprintf(out, "\nUse it with any AWS SDK or the command line, after\n\n"+
		"  export AWS_ENDPOINT_URL=%[2]s AWS_REGION=%[3]s AWS_DEFAULT_REGION=%[3]s \\\n"+
		"    AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test\n  stepkeeper --stack %[1]s list\n",
		deployed.Stack, deployed.Endpoint, deployed.Region)
}
