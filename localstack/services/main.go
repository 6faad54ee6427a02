// Command services runs the four remote services of the order example on this machine, without injected
// faults. Use it to run orders on an emulator:
//
//	go run ./localstack/services               # the command of make local-services; Ctrl-C ends it
//	go run ./localstack/services -agents DIR   # writes DIR/agents.yaml, whose agents call the services
//
// Run the command at the root of the checkout. The services listen on a port that belongs to this checkout.
// `make local-deploy` configures the deployed agents with this port. The services lose their ledgers when the
// command ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	agents := flag.String("agents", "", "write agents.yaml into this folder instead of running the services")
	flag.Parse()
	if *agents != "" {
		if _, err := cdkapp.AgentsFile(".", *agents); err != nil {
			fmt.Fprintln(os.Stderr, "localstack/services:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "localstack/services:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	address, err := cdkapp.ServicesAddress(".")
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf(
			"%w; do they run already? If another program has the port: remove the file %s, and run make "+
				"local-deploy again", err, cdkapp.ServicesFile)
	}
	dir, err := os.MkdirTemp("", "stepkeeper-services-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fleet, err := services.Start(context.WithoutCancel(ctx), services.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	mux := http.NewServeMux()
	for _, name := range services.Names() {
		target, err := url.Parse(fleet.URL(name))
		if err != nil {
			return err
		}
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, httputil.NewSingleHostReverseProxy(target)))
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	fmt.Printf("inventory, payment, shipping and notification answer at http://%s; Ctrl-C ends them\n",
		address)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
