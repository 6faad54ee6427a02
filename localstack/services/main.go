// Command services runs the four remote services of the order example on this machine, without injected
// faults. Use it to run orders on an emulator:
//
//	go run ./localstack/services               # the command of make local-services; Ctrl-C ends it
//	go run ./localstack/services -agents DIR   # writes DIR/agents.yaml, whose agents call the services
//
// The services listen on the address of the flag -listen, which agents.yaml needs too. The services lose their
// ledgers when the command ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	agents := flag.String("agents", "", "write agents.yaml into this folder instead of running the services")
	listen := flag.String("listen", "127.0.0.1:9180", "loopback address of the services")
	flag.Parse()
	if err := run(ctx, *agents, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "localstack/services:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, agents, listen string) (err error) {
	if err := cdkapp.Loopback("http://" + listen); err != nil {
		return err
	}
	if agents != "" {
		return os.WriteFile(filepath.Join(agents, "agents.yaml"), services.AgentsFile("http://"+listen), 0o600)
	}
	dir, err := os.MkdirTemp("", "stepkeeper-services-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fleet, err := services.Start(context.WithoutCancel(ctx), services.Options{Dir: dir, Listen: listen})
	if err != nil {
		return fmt.Errorf("%w; do they run already? If another program has the port: give another with -listen, here and "+
			"with -agents, and deploy again", err)
	}
	fmt.Printf("inventory, payment, shipping and notification answer at %s; Ctrl-C ends them\n", fleet.URL())
	<-ctx.Done()
	return fleet.Close()
}
