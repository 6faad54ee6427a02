package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	smithytime "github.com/aws/smithy-go/time"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// unattendedAfter is the default of Parts.Unattended. An active consumer takes a request within seconds,
	// but the message counts of SQS are a few seconds late.
	unattendedAfter = 10 * time.Second
	// lookTimeout is the time limit of one check of all queues. It is short because other commands, such as a
	// read of a task, include the check.
	lookTimeout = 3 * time.Second
	// failureHolds is the factor by which the client caches failures longer than results. A caller may lack
	// the permission, or a route to Lambda's API. Without a long cache, each read of an order would wait for
	// the failing check.
	failureHolds = 6
	// looksAtOnce is the maximum number of queues that the client checks concurrently. It keeps a deployment
	// with many agents below the rate limit of Lambda's API.
	looksAtOnce = 8
)

type seen struct {
	at    time.Time
	found client.Unattended // zero value if the queue has a consumer
	err   error
}

// Unattended checks the Scheduler's queues, and the queues of the agents that the workflow needs.
func (t *transport) Unattended(ctx context.Context, workflow string) ([]client.Unattended, error) {
	queues := t.schedulerQueues()
	needed := t.agentsOf(ctx, workflow)
	for agent := range t.Outputs.Requests {
		if needed == nil || slices.Contains(needed, agent) {
			queues = append(queues, port.Requests(agent))
		}
	}
	return t.look(ctx, t.withHigh(queues...))
}

// withHigh returns the queues, each followed by its queue for high priority, if there is one.
func (t *transport) withHigh(queues ...string) (all []string) {
	for _, queue := range queues {
		all = append(all, queue)
		if t.Outputs.High[queue] != "" {
			all = append(all, port.High(queue))
		}
	}
	return all
}

// schedulerQueues returns the Scheduler's queues without those for high priority.
func (t *transport) schedulerQueues() []string {
	queues := []string{port.Intake, port.Control, port.Replies}
	if t.Outputs.Tasks != "" {
		queues = append(queues, port.Tasks)
	}
	return queues
}

// agentsOf returns the agents that a workflow needs. It returns nil if the agents are unknown, for example
// because the workflow has had no order yet.
func (t *transport) agentsOf(ctx context.Context, workflow string) []string {
	def, err := t.Stored(ctx, t.Outputs.Hash(workflow))
	if err != nil || def == nil || def.Name != workflow {
		return nil
	}
	return slices.AppendSeq(make([]string, 0, len(def.Agents)), maps.Keys(def.Agents))
}

// look returns the queues without a consumer. It caches recent results, so that a command that reads many
// orders checks each queue once. If the check of a queue fails, the error names the queue and the reason.
func (t *transport) look(ctx context.Context, queues []string) ([]client.Unattended, error) {
	within, cancel := context.WithTimeout(ctx, t.Parts.LookTimeout)
	defer cancel()
	looks := make([]seen, len(queues))
	var group errgroup.Group
	group.SetLimit(looksAtOnce)
	for i, queue := range queues {
		group.Go(func() error {
			looks[i] = t.lookAt(within, queue)
			return nil
		})
	}
	_ = group.Wait()      // the goroutines return no error
	if ctx.Err() != nil { // the errors come from the end of the caller's context
		return nil, ctx.Err()
	}
	var all []client.Unattended
	var unknown []string
	var why error
	for i, l := range looks {
		t.seen.Store(queues[i], l)
		if l.found.Queue != "" {
			all = append(all, l.found)
		}
		if l.err != nil {
			unknown = append(unknown, queues[i])
			why = errors.Join(why, l.err)
		}
	}
	slices.SortFunc(all, func(a, b client.Unattended) int { return strings.Compare(a.Queue, b.Queue) })
	return all, t.depthUnknown(unknown, why)
}

// depthUnknown returns the error of look. It states only the first reason, because usually all checks fail
// for the same reason. The error does not wrap the reason, so that the client does not repeat the call.
func (t *transport) depthUnknown(queues []string, why error) error {
	if len(queues) == 0 {
		return nil
	}
	reason, _, _ := strings.Cut(why.Error(), "\n")
	if errors.Is(why, context.DeadlineExceeded) {
		reason = "AWS did not answer within " + t.Parts.LookTimeout.String()
	}
	return fmt.Errorf("not known whether something takes from %s: %s", strings.Join(queues, ", "), reason)
}

func (t *transport) lookAt(ctx context.Context, queue string) seen {
	stored, known := t.seen.Load(queue)
	if known {
		last := stored.(seen)
		holds := t.Parts.Unattended
		if last.err != nil {
			holds *= failureHolds
		}
		if time.Since(last.at) < holds {
			return last
		}
	}
	now := seen{at: time.Now()}
	now.found, now.err = t.unattended(ctx, queue)
	return now
}

// unattended checks one queue. If the queue has no consumer, the result describes the queue. Otherwise the
// result is the zero value. A queue has no consumer in two cases:
//
//   - The queue's event source mapping is off or missing.
//   - The queue is a request queue, requests wait in it, and none is in flight. This case also covers an
//     external agent, which has no event source mapping.
func (t *transport) unattended(ctx context.Context, queue string) (client.Unattended, error) {
	agent, requests := strings.CutPrefix(queue, port.Requests(""))
	u := client.Unattended{Queue: queue}
	if requests {
		u.Agent = t.withoutHigh(agent)
	}
	off, failure := t.mapping(ctx, &u)
	if !off && !requests {
		return client.Unattended{}, failure
	}
	depth, err := t.depth(ctx, queue)
	u.Waiting = depth.Visible + depth.Delayed
	if !off && (err != nil || depth.Visible == 0 || depth.InFlight > 0) {
		u = client.Unattended{}
	}
	return u, errors.Join(failure, err)
}

// withoutHigh returns the agent that reads the queue requests-NAME. The queue may be the agent's queue for
// high priority.
func (t *transport) withoutHigh(name string) string {
	for queue := range t.Outputs.High {
		if port.High(queue) == port.Requests(name) {
			agent, _ := strings.CutPrefix(queue, port.Requests(""))
			return agent
		}
	}
	return name
}

func (t *transport) depth(ctx context.Context, queue string) (port.Depth, error) {
	q, err := t.Queues.Queue(queue)
	if err != nil {
		return port.Depth{}, err
	}
	depth, err := q.Depth(ctx)
	return depth, t.failed(ctx, "sqs:GetQueueAttributes", "queue "+queue, err)
}

// mapping reports whether the event source mapping of the queue u.Queue is off or missing. It then sets
// Reason and Fix of u, and Since if AWS reports the time. If the mapping is on and its last invocation
// failed, the function sets Reason and Fix, because the failure explains waiting requests.
func (t *transport) mapping(ctx context.Context, u *client.Unattended) (off bool, err error) {
	uuid := t.Outputs.Mappings[u.Queue]
	if uuid == "" || t.aws == nil {
		return false, nil
	}
	m, _, err := readMapping(ctx, t.aws.functions, uuid)
	switch {
	case direct.Code(err) == "ResourceNotFoundException":
		u.Reason = "its event source mapping " + uuid + " is not there any more"
		u.Fix = "a deployment without changes does not make it again: deploy once with the agent as " +
			"External, and once as before (docs/how-to/check-health.md)"
		if u.Agent == "" {
			u.Fix = "a deployment without changes does not make it again: make one by hand, with " +
				"ReportBatchItemFailures (docs/how-to/check-health.md)"
		}
		return true, nil
	case err != nil:
		return false, t.failed(ctx, "lambda:GetEventSourceMapping", "the event source mapping of "+u.Queue, err)
	}
	switch m.State {
	case "Disabled", "Disabling", "Deleting":
		u.Reason = "its event source mapping is " + strings.ToLower(m.State)
		u.Fix = "enable it with " + t.resume() + ", which starts the whole stack"
		if t.Outputs.Paused {
			u.Fix = deployedPaused
		}
		if m.LastModified != 0 {
			u.Since = core.TimeOf(smithytime.ParseEpochSeconds(m.LastModified))
		}
		return true, nil
	}
	if strings.HasPrefix(m.LastProcessingResult, "PROBLEM") {
		u.Reason = "the last result of its event source mapping is " + m.LastProcessingResult
		u.Fix = "look at the log of the function " + m.FunctionArn[strings.LastIndex(m.FunctionArn, ":")+1:]
	}
	return false, nil
}

const deployedPaused = "the stack was deployed with Paused: deploy it without"

// resume returns the command that starts the whole stack.
func (t *transport) resume() string {
	return "`stepkeeper --stack " + t.Outputs.Stack + " --region " + t.Outputs.Region + " aws resume`"
}

// await adds the queues without a consumer to shown.Unattended. It checks the request queues of the steps
// that have waited for their agent for at least Parts.Unattended. If there are such steps, await also checks the
// queue for replies. If Since of a request queue is unknown, await sets it to the earliest claim of the
// queue's steps.
func (t *transport) await(ctx context.Context, shown *client.Task, now time.Time) {
	since := map[string]core.Time{}
	queues := []string{port.Replies}
	for i := range shown.Steps {
		s := &shown.Steps[i]
		if _, known := t.Outputs.Requests[s.Agent]; !known || !s.Awaits() ||
			now.Sub(s.ClaimedAt.Std()) < t.Parts.Unattended {
			continue
		}
		queue := port.Requests(s.Agent)
		if t.Outputs.High[queue] != "" && shown.Priority == message.PriorityHigh {
			queue = port.High(queue)
		}
		was, seen := since[queue]
		if !seen {
			queues = append(queues, queue)
		}
		if !seen || s.ClaimedAt < was {
			since[queue] = s.ClaimedAt
		}
	}
	if len(since) == 0 {
		return
	}
	all, err := t.look(ctx, queues)
	if err != nil {
		shown.Unchecked = err.Error()
	}
	for _, u := range all {
		u.Since = cmp.Or(u.Since, since[u.Queue])
		shown.Unattended = append(shown.Unattended, u)
	}
}
