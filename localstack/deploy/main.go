// Command deploy puts the CDK app into the LocalStack of this machine, for trying it out:
//
//	go run ./localstack/deploy                        # what make local-deploy does
//	go run ./localstack/deploy -agents ../my.yaml     # your own HTTP agents; the path is from infra
//
// Run it at the root of the checkout, with Go and Node installed.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack/stack"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "localstack/deploy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("deploy", flag.ContinueOnError)
	endpoint := flags.String("endpoint", "http://127.0.0.1:4566", "where LocalStack answers")
	name := flags.String("stack", "Stepkeeper", "name of the stack")
	agents := flags.String("agents", "",
		"file of HTTP agents, from the folder infra; default: the example's, which call what make "+
			"local-services runs")
	workflows := flags.String("workflows", "../workflows/order.yaml",
		"workflow files, from the folder infra, with commas between them")
	replyTo := flags.String("reply-to", "",
		"status queues, name=ARN with commas between them; default: a queue shop of the stack's own")
	sweep := flags.String("sweep", "1m", "interval of the Supervisor, whole minutes")
	remove := flags.Bool("delete", false, "delete the stack in place of deploying it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := stack.Loopback(*endpoint); err != nil {
		return err
	}
	c, err := awsclient.Load(ctx, awsclient.Options{Endpoint: *endpoint, CallTimeout: time.Minute})
	if err != nil {
		return err
	}
	if *remove {
		return stack.Delete(ctx, c, *name)
	}
	dir, err := os.MkdirTemp("", "stepkeeper-cdk-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if *agents == "" {
		if *agents, err = stack.AgentsFile(".", dir); err != nil {
			return err
		}
	}
	// LocalStack never fires EventBridge Scheduler (rule 24), and there is nothing to keep.
	settings := map[string]string{"rule": "true", "keep": "false", "sweep": *sweep}
	for key, value := range map[string]string{"agents": *agents, "workflows": *workflows,
		"reply-to": *replyTo} {
		if value != "" {
			settings[key] = value
		}
	}
	began := time.Now()
	fmt.Println("building the functions and synthesising the app …")
	a, err := stack.Synthesise(ctx, ".", dir, *name, settings)
	if err != nil {
		return err
	}
	if err := emulate.LocalStack(a.Template); err != nil {
		return err
	}
	fmt.Printf("synthesised after %.1f s; deploying …\n", time.Since(began).Seconds())
	outputs, err := stack.Deploy(ctx, c, a)
	if err != nil {
		return err
	}
	fmt.Printf("stack %s stands after %.1f s:\n", *name, time.Since(began).Seconds())
	explain(outputs, *endpoint, c.Region, *name)
	return nil
}

// explain prints what stands and what to do next.
func explain(outputs map[string]string, endpoint, region, name string) {
	for _, key := range slices.Sorted(maps.Keys(outputs)) {
		fmt.Printf("  %-36s %s\n", key, outputs[key])
	}
	fmt.Printf(`
The services that the agents call:  make local-services   (in another terminal)
The command line, after
  export AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
  stepkeeper --stack %s list
`, endpoint, region, name)
}
