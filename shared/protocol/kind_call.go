package protocol

import (
	"cmp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// callKind is the kind of a step that calls an agent. Each claim, of a do or of an undo, sends one request.
// The files reply.go and overdue.go handle replies and timeouts.
type callKind struct{}

func (callKind) prepare(s step) (prepared, error) {
	input, err := s.input(core.Do)
	return prepared{input: input}, err
}

func (callKind) start(s step, p prepared) {
	s.takeCall(core.Do)
	s.emit(s.t.Request(s.def, s.i, p.input))
}

func (callKind) resend(s step) {
	op := core.Do
	if s.Claim.Undo {
		op = core.UndoOp
	}
	input, err := s.input(op)
	if s.err == nil && err == nil { // the claim has computed the same input, so an error is not expected
		s.emit(s.t.Request(s.def, s.i, input))
	}
}

func (callKind) goOn(step) {} // a call is never Waiting

// takeCall writes the claim of a call into the step, with stopBy and completeBy (P6, two times in each
// request).
func (s step) takeCall(op core.Operation) {
	c := Claim{By: s.at.By[:min(len(s.at.By), core.MaxName)], Agent: s.chooseAgent()}
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
	name := cmp.Or(c.Agent, s.d.Agent)
	agent := s.def.Agents[name]
	c.Allowance = min(max(s.Claim.Allowance, agent.QueueAllowance, 2*s.at.Waits[name]),
		max(s.d.MaxQueueTime, agent.QueueAllowance))
	until := s.t.KnownUntil(s.def, s.i, s.at.Now)
	s.leaveOutSilence()
	s.take(state, c)
	s.Claim.StopBy = s.at.Now.Add(s.Longest(s.d) + c.Allowance)
	if until != 0 && !s.Claim.Undo { // after until, the call could take effect twice (P18)
		s.Claim.StopBy = min(s.Claim.StopBy, max(until, s.at.Now.Add(s.TimeoutOf(s.d))))
	}
	s.CompleteBy = s.FirstCompleteBy(s.d)
}

// chooseAgent returns the agent of the next claim, or "" for the first agent (P44, several agents can do one
// step). It leaves out the agents whose recent attempts were unsuccessful. From the other agents it chooses
// by the expected wait. An agent that the step lists later is chosen only if its wait is more than 20 %
// shorter than the best wait before it.
func (s step) chooseAgent() string {
	not := s.t.NotDone(s.d, s.Step)
	best := ""
	for _, name := range s.d.AllAgents() {
		switch {
		case slices.Contains(not, name):
		case best == "", 5*s.at.expectedWait(name) < 4*s.at.expectedWait(best):
			best = name
		}
	}
	if best == s.d.Agent {
		return ""
	}
	return best
}

// leastWait replaces every shorter wait. Differences of a few milliseconds are chance.
const leastWait = 100 * core.Millisecond

// expectedWait returns how long a request is expected to wait in the queue of the agent. It adds the last
// measured wait and the time that the requests now in the queue will take.
func (at *At) expectedWait(agent string) core.Duration {
	return max(at.Waits[agent]+at.Queues[agent], leastWait)
}
