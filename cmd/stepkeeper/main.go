// Command stepkeeper runs Stepkeeper on one machine. It also submits, shows and repairs orders on a server or
// a stack. `stepkeeper help` lists the commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/cli"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

func main() { os.Exit(run()) }

func run() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it, and the program then outlives its terminal
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	// After the first signal, stop restores the default handling, so that a second signal ends the program at
	// once.
	context.AfterFunc(ctx, stop)
	a := app.New(streams.System(), os.Getenv)
	return int(a.Execute(ctx, cli.Root(a), os.Args[1:]))
}
