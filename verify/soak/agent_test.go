package soak_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/shifted"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Environment variables that make a process an agent of the soak.
const (
	agentVariable = "STEPKEEPER_SOAK_AGENT" // name of the agent
	fileVariable  = "STEPKEEPER_SOAK_AGENTS"
	clockVariable = "STEPKEEPER_CLOCK_OFFSET"
)

// isAgent reports whether this process was started as an agent.
func isAgent() bool { return os.Getenv(agentVariable) != "" }

// serveAgent runs an agent as a user would write it: it calls agent.Serve with the URL of the engine and with
// a ledger in a folder. It runs until ctx ends, even while the engine is unreachable.
func serveAgent(ctx context.Context, out io.Writer) error {
	name := os.Getenv(agentVariable)
	clock, err := shifted.Open(os.Getenv(clockVariable))
	if err != nil {
		return err
	}
	cfg, err := agentsfile.Load(os.Getenv(fileVariable))
	if err != nil {
		return err
	}
	settings := cfg.Agents[name]
	service, err := httpagent.New(name, settings.Agent, settings.HTTP(), httpagent.Options{Clock: clock})
	if err != nil {
		return err
	}
	defer service.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	fmt.Fprintln(out, "the agent", name, "attaches to", os.Getenv("STEPKEEPER_ENDPOINT"))
	for ctx.Err() == nil {
		err := agent.Serve(ctx, name, service.Operations(), agent.WithConcurrency(settings.Concurrency),
			agent.WithClock(clock), ledger.InFolder(""),
			agent.WithRetry(settings.Retry), agent.WithBreaker(settings.Breaker), agent.WithLog(log))
		if err != nil && ctx.Err() == nil {
			log.Error("the agent ended; it begins again", "agent", name, "error", err)
			_ = port.Sleep(ctx, 200*time.Millisecond)
		}
	}
	return nil
}
