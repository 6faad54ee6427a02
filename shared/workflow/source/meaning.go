package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// meaning checks the rules that the JSON Schema cannot express.
func (b *builder) meaning() {
	b.knownAgents()
	b.scheduledOrder()
	b.room()
	if b.order.before != nil {
		b.noReturn()
		b.times()
	}
	for i := range b.steps {
		b.queueTime(i)
		b.polling(i)
		b.long(i)
		b.routes(i)
		b.keeps(i)
		b.holds(i)
		b.goesOn(i)
		b.unread(i)
		b.late(i)
		b.reminds(i)
		b.member(i)
		b.passed(i)
		b.lasts(i)
		b.endless(i)
	}
	onDeadline := b.root.field("onDeadline")
	deadline := b.root.field("deadline")
	switch {
	case deadline != nil && onDeadline == nil:
		b.error(deadline.at, "there is a deadline but no onDeadline").
			fix("write onDeadline: undo or onDeadline: stop")
	case deadline == nil && onDeadline != nil:
		b.error(onDeadline.at, "there is onDeadline but no deadline").fix("write a deadline, as in deadline: 1h")
	}
}

// room checks that a task's document has room for the largest states of all steps. Without this room, an
// order could get stuck (P28, what is too large fails once).
func (b *builder) room() {
	needs := protocol.Reserve(b.def)
	if steps := b.root.field("steps"); steps != nil && needs > port.MaxDocument {
		b.error(steps.at, "the states of its %d steps may take %d bytes of a task's document without any output, "+
			"the limit is %d", len(b.def.Steps), needs, port.MaxDocument).
			fix("split the workflow, or give lists to single steps")
	}
}

// keeps reports a problem if an agent cannot provide what the grade of the step promises.
func (b *builder) keeps(i int) {
	s := &b.def.Steps[i]
	if b.opts.CannotKeep == nil || s.Kind() != core.KindCall {
		return
	}
	where := b.place(i, "grade")
	for _, agent := range s.AllAgents() {
		kept := b.def.Agents[agent].KeyRetention
		if problem, fix := b.opts.CannotKeep(agent, s, kept); problem != "" {
			b.error(where, "step %s has the grade %s, but %s", s.Name, s.Grade, problem).fix("%s", fix)
		}
	}
}

// place returns the position of a field's value in a step, or that of the step.
func (b *builder) place(i int, key string) position {
	if f := b.steps[i].value.field(key); f != nil {
		return f.value.at
	}
	return b.steps[i].at
}

func (b *builder) knownAgents() {
	for i, f := range b.steps {
		for k, agent := range b.def.Steps[i].AllAgents() {
			if agent != "" {
				b.knownAgent(agent, agentAt(f.value, k))
			}
		}
	}
}

func (b *builder) knownAgent(agent string, at position) {
	if known := b.opts.KnownAgents; known != nil && !slices.Contains(known, agent) {
		known = slices.Sorted(slices.Values(known))
		others := cmp.Or(strings.Join(known, ", "), "none; name it in an agents file, and start again")
		b.error(at, "there is no agent %s", agent).
			fix("%s", suggest.DidYouMean(agent, known, "known agents: "+others))
	}
}

// noReturn checks the two rules of points of no return (P22, a point of no return forbids undo; P22a, a
// proven refusal permits undo):
//   - If a step may run beside or after a point of no return, its failure must not undo the order.
//   - If a step may have to be undone, the step must declare its undo.
func (b *builder) noReturn() {
	for i := range b.def.Steps {
		b.stops(i)
		b.undoable(i)
	}
}

func (b *builder) stops(i int) {
	s := &b.def.Steps[i]
	late := s.Answer != nil && s.Answer.OnTimeout == core.OnFailureUndo && b.memberIn(s.Name) == nil
	overdue := s.OnDeadline == core.OnFailureUndo
	// a wait for a fixed time span cannot fail
	if s.OnFailure != core.OnFailureUndo && !late && !overdue || s.Wait != nil && s.Input == nil {
		return
	}
	where := b.place(i, "onFailure")
	fix := "write onFailure: stop"
	if late {
		fix += " and onTimeout: stop"
	}
	if overdue {
		fix += " and onDeadline: stop"
	}
	for p := range b.def.Steps {
		if p == i || !b.def.Steps[p].PointOfNoReturn || b.order.certain(i, p) {
			continue
		}
		what := "can run beside"
		if b.order.certain(p, i) {
			what = "runs after"
		}
		b.error(where, "step %s %s the point of no return %s, yet undoes the order when it fails", s.Name, what,
			b.def.Steps[p].Name).fix("%s, or put it before the point of no return", fix)
		return
	}
}

const fixUndo = "write undo: OPERATION, or undo: none if the step has no effect"

// undoable checks that a step declares an undo if it needs one. A step needs no undo after a point of no
// return without a condition. After a point of no return with a condition, a step needs an undo, because the
// condition may be false.
func (b *builder) undoable(i int) {
	s := &b.def.Steps[i]
	if s.Kind() != core.KindCall { // only a call can declare an undo
		return
	}
	field := b.steps[i].value.field("undo")
	if s.PointOfNoReturn {
		if s.Undo != nil {
			b.error(field.at, "step %s is a point of no return, yet declares an undo", s.Name).
				fix("remove undo (onFailure: undo undoes the steps before it if it is refused), or pointOfNoReturn")
		}
		return
	}
	behind := -1
	skippable := -1
	for p := range b.def.Steps {
		if b.def.Steps[p].PointOfNoReturn && b.order.certain(p, i) {
			if b.def.Steps[p].When == "" {
				behind = p
			} else {
				skippable = p
			}
		}
	}
	// A step that the order may go on without may be undone even after a point of no return (P42, P58).
	goesOn := s.OnFailure == core.OnFailureContinue || s.OnDeadline == core.OnFailureContinue
	switch alone := goesOn || b.memberIn(s.Name) != nil; {
	case alone && field != nil:
	case alone:
		b.error(b.steps[i].at, "step %s declares no undo, and the order can only go on without it once it is "+
			"undone", s.Name).fix(fixUndo)
	case behind >= 0 && s.Undo != nil:
		b.warn(field.at, "the undo of step %s is never used: it runs after the point of no return %s", s.Name,
			b.def.Steps[behind].Name).fix("remove undo")
	case behind >= 0 || field != nil:
	case skippable >= 0:
		b.error(b.steps[i].at, "step %s declares no undo, and the point of no return %s before it may be skipped",
			s.Name, b.def.Steps[skippable].Name).fix(fixUndo)
	default:
		b.error(b.steps[i].at, "step %s declares no undo", s.Name).fix(fixUndo)
	}
}

// times checks that deadline and keyRetention are long enough for the timeouts and waits of the steps.
func (b *builder) times() {
	deadline := b.root.field("deadline")
	longest, last := longestPath(b.def)
	if b.def.Deadline > 0 && longest > b.def.Deadline {
		b.error(deadline.value.at, "the deadline of %s is shorter than the timeouts and waits of the steps up to "+
			"%s, %s in all", b.def.Deadline, b.def.Steps[last].Name, longest).
			fix("make the deadline longer, or the timeouts shorter")
	}
	for i := range b.def.Steps {
		s := &b.def.Steps[i]
		where := b.steps[i].at
		if retry := b.steps[i].value.field("retry"); retry != nil {
			where = retry.at
		}
		longest := worst(span(s), s.Retry)
		if b.def.Deadline > 0 && longest > b.def.Deadline && span(s) <= b.def.Deadline {
			b.error(where, "the attempts of step %s take up to %s, longer than the deadline of %s", s.Name, longest,
				b.def.Deadline).fix("lower maxFailures, the waits or the rounds, or make the deadline longer")
		}
		if kept := b.def.Agents[s.Agent].KeyRetention; kept > 0 && longest > kept {
			b.warn(where, "the attempts of step %s take up to %s, but agent %s remembers keys for %s only: a "+
				"step in doubt stops for the operator then", s.Name, longest, s.Agent, kept).
				fix("lower the waits or the rounds")
		}
	}
}

// worst returns the longest total time of a step's attempts and of the waits between them. It excludes the
// time in queues.
func worst(timeout core.Duration, r core.Retry) core.Duration {
	total := float64(timeout) * float64(r.Budget())
	wait := float64(r.Backoff.Initial)
	for n := 1; n < r.MaxFailures; n++ {
		total += min(wait, float64(r.Backoff.Max))
		wait = min(wait*r.Backoff.Multiplier, float64(r.Backoff.Max))
	}
	total += float64(r.ExtendedInterval) * float64(r.ExtendedRounds)
	return core.Duration(total)
}

func (b *builder) queueTime(i int) {
	s := &b.def.Steps[i]
	where := b.place(i, "maxQueueTime")
	for _, name := range s.AllAgents() {
		if allowance := b.def.Agents[name].QueueAllowance; s.MaxQueueTime < allowance {
			b.error(where, "the maxQueueTime of step %s, %s, is shorter than the queueAllowance of agent %s, %s",
				s.Name, s.MaxQueueTime, name, allowance).fix("make it at least as long")
		}
	}
}

// minPoll is the shortest time between a reply "not yet" and the next call of the step (P45, "not now" is not
// a failure).
const minPoll = 2 * core.Second

func (b *builder) polling(i int) {
	s := &b.def.Steps[i]
	if s.PollFor == 0 {
		return
	}
	where := b.place(i, "pollFor")
	if s.PollFor < minPoll {
		b.error(where, "the pollFor of step %s, %s, is shorter than %s, the time before it is asked again", s.Name,
			s.PollFor, minPoll).fix("write a longer time, as in pollFor: 30m")
	}
	if b.def.Deadline > 0 && s.PollFor > b.def.Deadline {
		b.warn(where, "the pollFor of step %s, %s, is longer than the deadline of %s, which ends the order first",
			s.Name, s.PollFor, b.def.Deadline).fix("shorten it, or make the deadline longer")
	}
	for _, name := range s.AllAgents() {
		if kept := b.def.Agents[name].KeyRetention; kept > 0 && s.PollFor > kept {
			b.warn(where, "the pollFor of step %s, %s, is longer than agent %s remembers keys, %s: the step "+
				"stops for the operator then", s.Name, s.PollFor, name, kept).
				fix("shorten it, or raise keyRetention if the service remembers keys for longer")
		}
	}
}

// long checks the field maxDuration of a step. A step that reports progress within its timeout may run for
// this duration (P43, long work reports progress).
func (b *builder) long(i int) {
	s := &b.def.Steps[i]
	if s.MaxDuration == 0 {
		return
	}
	where := b.place(i, "maxDuration")
	long := workflow.Short(s.MaxDuration)
	switch {
	case s.MaxDuration < s.Timeout:
		b.error(where, "the maxDuration of step %s, %s, is shorter than its timeout, %s", s.Name, long, s.Timeout).
			fix("make it longer, or write the time between two reports of progress as the timeout")
	case s.Grade == core.Plain || s.PointOfNoReturn:
		b.error(where, "step %s has a maxDuration, and is of a plain service or a point of no return, which "+
			"cannot distinguish a second attempt from a long first one", s.Name).
			fix("remove maxDuration, and make the timeout as long as the work")
	case s.Grade != core.Fenced && s.Undo != nil:
		b.warn(where, "the undo of step %s waits for up to %s after its claim, because its service has no fence",
			s.Name, long).
			fix("shorten maxDuration, or use grade: fenced if the service refuses a do after its undo")
	}
}

// ledgerTime is the time that an agent needs to write the ledger (P31, a plain service needs a ledger). The
// timeout of a call must leave this time free.
const ledgerTime = 2 * core.Second

// holds reports a problem if a timeout is longer than the agent's environment allows. The environment would
// end the call before the timeout, and the step would be in doubt.
func (b *builder) holds(i int) {
	s := &b.def.Steps[i]
	if b.opts.MaxTimeout == nil || s.Agent == "" {
		return
	}
	agent := s.Agent
	most := b.opts.MaxTimeout(s.Agent)
	for _, name := range s.Others {
		if other := b.opts.MaxTimeout(name); other > 0 && (most <= 0 || other < most) {
			agent = name
			most = other
		}
	}
	if most <= 0 {
		return
	}
	reserved := ""
	// The agent writes the ledger before and after the call (P31, P22a). If the call takes the whole time,
	// the agent cannot write the result, and the step is in doubt.
	if s.Grade == core.Plain || s.PointOfNoReturn {
		kind := "point of no return"
		if s.Grade == core.Plain {
			kind = "plain service"
		}
		most -= ledgerTime
		reserved = fmt.Sprintf(" (%s of its time are kept for the ledger of a %s)",
			workflow.Short(ledgerTime), kind)
	}
	reported := func(what string, where *value, timeout core.Duration) {
		if timeout <= most {
			return
		}
		at := b.steps[i].at
		if f := where.field("timeout"); f != nil {
			at = f.value.at
		}
		b.error(at, "the timeout of %s, %s, is longer than agent %s can work at a time, %s%s", what, timeout, agent,
			most, reserved).fix("shorten it, or deploy the agent with a longer timeout")
	}
	reported("step "+s.Name, b.steps[i].value, s.Timeout)
	if s.MaxDuration > most {
		b.warn(b.place(i, "maxDuration"), "agent %s can work for %s at a time, and the maxDuration of step %s is "+
			"%s", agent, most, s.Name, s.MaxDuration).
			fix("shorten it, run the agent as a process, whose time is not limited, or let the operation defer " +
				"its reply")
	}
	if s.Undo != nil && (s.Undo.Timeout != s.Timeout || s.Timeout <= most) {
		reported("the undo of step "+s.Name, b.steps[i].value.get("undo"), s.Undo.Timeout)
	}
}
