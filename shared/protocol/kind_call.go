package protocol

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// callKind is the kind of a step that calls an agent. Each claim, of a do or of an undo, sends one request.
// The files reply.go and overdue.go handle replies and timeouts.
type callKind struct{}

func (callKind) prepare(r *deciding, i int) (prepared, error) {
	input, err := r.input(i, core.Do)
	return prepared{input: input}, err
}

func (callKind) start(r *deciding, i int, p prepared) {
	r.takeCall(i, core.Do)
	r.emit(r.t.Request(r.def, i, p.input))
}

func (callKind) resend(r *deciding, i int) {
	op := core.Do
	if r.t.Steps[i].Claim.Undo {
		op = core.UndoOp
	}
	input, err := r.input(i, op)
	if r.err == nil && err == nil { // the claim has computed the same input, so an error is not expected
		r.emit(r.t.Request(r.def, i, input))
	}
}

func (callKind) woken(*deciding, int) {} // advance claims it

func (callKind) resume(*deciding, int) {} // a call does not wait

func (callKind) validState(s *Step, d *core.StepDefinition) bool {
	claimed := s.Attempted() && s.Attempt > 0
	switch s.State {
	case core.Pending, core.Failed:
		return !s.Attempted() || s.Attempt > 0
	case core.Skipped:
		return !s.Attempted()
	case core.Compensated:
		return claimed || !s.Attempted() && s.FailureCode != "" && d.OnFailure == core.OnFailureContinue
	case core.Processed, core.UndoWait:
		return claimed
	case core.Processing:
		return claimed && !s.Claim.Undo
	case core.Compensating:
		return claimed && s.Claim.Undo && d.Undo != nil
	}
	return false
}

// takeCall writes the claim of a call into the step, with stopBy and completeBy (P6, two times in each
// request).
func (r *deciding) takeCall(i int, op core.Operation) {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	c := Claim{By: r.at.By[:min(len(r.at.By), core.MaxName)], Agent: r.chooseAgent(i)}
	state := core.Processing
	if op == core.UndoOp {
		c.Undo = true
		state = core.Compensating
	}
	// The allowance for queue time is the largest of these values (P32, queue time is not a failure):
	//   - the step's earlier allowance
	//   - the agent's allowance
	//   - twice the agent's last queue wait
	//
	// The allowance is at most the larger of MaxQueueTime and the agent's allowance.
	name := cmp.Or(c.Agent, d.Agent)
	agent := r.def.Agents[name]
	c.Allowance = min(max(s.Claim.Allowance, agent.QueueAllowance, 2*r.at.Waits[name]),
		max(d.MaxQueueTime, agent.QueueAllowance))
	until := r.t.KnownUntil(r.def, i, r.at.Now)
	r.take(i, state, c)
	s.Claim.StopBy = r.at.Now.Add(s.Longest(d) + c.Allowance)
	if until != 0 && !s.Claim.Undo { // after until, the call could take effect twice (P18)
		s.Claim.StopBy = min(s.Claim.StopBy, max(until, r.at.Now.Add(s.TimeoutOf(d))))
	}
	s.CompleteBy = s.FirstCompleteBy(d)
}

// chooseAgent returns the agent of the next claim, or "" for the first agent (P44, several agents can do one
// step). It leaves out the agents whose recent attempts were unsuccessful. From the other agents it chooses
// by the expected wait. An agent that the step lists later is chosen only if its wait is more than 20 %
// shorter than the best wait before it.
func (r *deciding) chooseAgent(i int) string {
	d := &r.def.Steps[i]
	not := r.t.NotDone(&r.def.Steps[i], &r.t.Steps[i])
	best := ""
	for _, name := range d.AllAgents() {
		switch {
		case slices.Contains(not, name):
		case best == "", 5*r.expectedWait(name) < 4*r.expectedWait(best):
			best = name
		}
	}
	if best == d.Agent {
		return ""
	}
	return best
}

// leastWait replaces every shorter wait. Differences of a few milliseconds are chance.
const leastWait = 100 * core.Millisecond

// expectedWait returns how long a request is expected to wait in the queue of the agent. It adds the last
// measured wait and the time that the requests now in the queue will take.
func (r *deciding) expectedWait(agent string) core.Duration {
	return max(r.at.Waits[agent]+r.at.Queues[agent], leastWait)
}
