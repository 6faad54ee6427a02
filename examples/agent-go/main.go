// Command agent-go is a small agent: a cloakroom that issues one ticket for each idempotency key.
//
//	stepkeeper dev --workflows ../agent-python/workflows --agents ../agent-python/agents.yaml
//	AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377 go run .
//	echo '{"coat":"red"}' | stepkeeper submit --wait --workflow cloakroom -
//
// infra.Agent{Folder: …} deploys the same folder to Lambda; docs/how-to/add-an-agent.md explains how
// to add an agent. This agent keeps its tickets in memory and loses them when its process ends. A real
// service must store them.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/stepkeeper/stepkeeper/functions/agent"
)

// cloakroom stands in for the remote service. Like a real service, it remembers the idempotency keys.
type cloakroom struct {
	mu      sync.Mutex
	tickets map[string]int
	last    int
}

type coat struct {
	Coat string `json:"coat"`
}

type ticket struct {
	Ticket int `json:"ticket"`
}

// hang returns the ticket for a key. Repeated calls with the same key return the same ticket.
func (c *cloakroom) hang(_ context.Context, in coat, call agent.Call) (ticket, error) {
	if in.Coat == "" {
		return ticket{}, agent.WithCode(agent.Permanent(agent.NoEffect(errors.New("there is no coat"))),
			"no-coat")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tickets[call.Key] == 0 {
		c.last++
		c.tickets[call.Key] = c.last
	}
	return ticket{c.tickets[call.Key]}, nil
}

// giveBack undoes hang. It succeeds even if the key has no ticket.
func (c *cloakroom) giveBack(_ context.Context, _ coat, call agent.Call) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tickets, call.Key)
	return nil, nil
}

func (c *cloakroom) operations() agent.Operations {
	return agent.Operations{"hang": agent.Typed(c.hang), "give-back": agent.Typed(c.giveBack)}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &cloakroom{tickets: map[string]int{}}
	if err := agent.Serve(ctx, "coats", c.operations()); err != nil {
		slog.Error("the agent has ended", "error", err)
		os.Exit(1)
	}
}
