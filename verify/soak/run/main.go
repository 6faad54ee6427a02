// Command run runs a soak; see package soak. `make soak` calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if soak.IsAgent() {
		return soak.ServeAgent(ctx, os.Stdout)
	}
	o := soak.Options{Out: os.Stdout}
	minutes := flag.Float64("minutes", 5, "how long things go wrong, at least 1")
	flag.Uint64Var(&o.Seed, "seed", 1, "what the faults are drawn from")
	flag.IntVar(&o.Rate, "rate", 10, "orders a second")
	flag.StringVar(&o.Binary, "binary", "bin/stepkeeper", "the program under test")
	flag.StringVar(&o.Report, "report", "soak.json", "where the report is written")
	flag.StringVar(&o.Dir, "keep", "", "folder to work in and keep")
	flag.Parse()
	const week = 7 * 24 * 60
	if !(*minutes >= 1 && *minutes <= week) { // not a number is neither
		return fmt.Errorf("-minutes is %v: each fault needs time to happen; give 1 to %d", *minutes, week)
	}
	o.Length = time.Duration(*minutes * float64(time.Minute))
	var err error
	if o.Self, err = os.Executable(); err != nil {
		return err
	}
	_, err = soak.Run(ctx, o)
	return err
}
