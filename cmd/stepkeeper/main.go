// Command stepkeeper runs Stepkeeper on one machine, submits orders to it, and is the operator's
// tool. `stepkeeper help` lists the commands.
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal ends the program in good order, and the second one ends it at once.
	context.AfterFunc(ctx, stop)
	a := app.New(streams.System(), os.Getenv)
	return int(a.Execute(ctx, cli.Root(a), os.Args[1:]))
}
