package stack

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// unattendedAfter: a poller takes a request within seconds, and SQS counts with some delay.
const unattendedAfter = 10 * time.Second

// agentsOf reads the names of the agents from the outputs with the addresses of their queues, with these
// addresses. The outputs spell card-payment CardPayment.
func agentsOf(values map[string]string, prefix string) map[string]string {
	agents := map[string]string{}
	for key, url := range values {
		name, ok := strings.CutPrefix(key, prefix+"Requests")
		if name, ok2 := strings.CutSuffix(name, "Url"); ok && ok2 && name != "" && !strings.HasSuffix(name, "Dead") {
			agents[dashed(name)] = url
		}
	}
	return agents
}

func dashed(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Unattended looks at the queues of all agents: requests wait there, and none is being handled. A queue
// that the caller may not look at is left out.
func (t *transport) Unattended(ctx context.Context) ([]client.Unattended, error) {
	var all []client.Unattended
	for agent := range t.Outputs.Requests {
		if u, ok := t.unattended(ctx, agent); ok {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b client.Unattended) int { return strings.Compare(a.Queue, b.Queue) })
	return all, ctx.Err()
}

func (t *transport) unattended(ctx context.Context, agent string) (client.Unattended, bool) {
	if _, known := t.Outputs.Requests[agent]; !known {
		return client.Unattended{}, false
	}
	q, err := t.Queues.Queue(port.Requests(agent))
	if err != nil {
		return client.Unattended{}, false
	}
	depth, err := q.Depth(ctx)
	if err != nil || depth.Visible == 0 || depth.InFlight > 0 {
		return client.Unattended{}, false
	}
	return client.Unattended{Queue: port.Requests(agent), Agent: agent, Waiting: depth.Visible}, true
}

// await tells which agents the steps in flight wait for in vain, since the earliest of their claims.
func (t *transport) await(ctx context.Context, shown *client.Task, now time.Time) {
	since := map[string]core.Time{}
	for i := range shown.Steps {
		s := &shown.Steps[i]
		if !s.InFlight() || now.Sub(s.ClaimedAt.Std()) < t.Parts.Unattended {
			continue
		}
		if was, seen := since[s.Agent]; !seen || s.ClaimedAt < was {
			since[s.Agent] = s.ClaimedAt
		}
	}
	var all []view.Unattended
	for agent, at := range since {
		if u, ok := t.unattended(ctx, agent); ok {
			u.Since = at
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b client.Unattended) int { return strings.Compare(a.Queue, b.Queue) })
	shown.Await(all)
}
