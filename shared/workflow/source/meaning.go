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
	b.scheduledOrder()
	b.room()
	if b.before != nil {
		b.times()
	}
	for _, s := range b.steps {
		if b.before != nil {
			s.stops()
			s.undoable()
			s.retries()
			s.passed()
		}
		s.knownAgents()
		s.queueTime()
		s.polling()
		s.long()
		s.routes()
		s.keeps()
		s.holds()
		s.goesOn()
		s.unread()
		s.late()
		s.reminds()
		s.member()
		s.lasts()
		s.endless()
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
func (s step) keeps() {
	if s.opts.CannotKeep == nil || s.Kind() != core.KindCall {
		return
	}
	where := s.place("grade")
	for _, agent := range s.AllAgents() {
		kept := s.def.Agents[agent].KeyRetention
		if problem, fix := s.opts.CannotKeep(agent, s.StepDefinition, kept); problem != "" {
			s.error(where, "step %s has the grade %s, but %s", s.Name, s.Grade, problem).fix("%s", fix)
		}
	}
}

// place returns the position of a field's value in the step, or that of the step.
func (s step) place(key string) position {
	if f := s.value.field(key); f != nil {
		return f.value.at
	}
	return s.at
}

func (s step) knownAgents() {
	for k, agent := range s.AllAgents() {
		if agent != "" {
			s.knownAgent(agent, agentAt(s.value, k))
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

// stops checks that the failure of a step that may run beside or after a point of no return does not undo the
// order (P22, a point of no return forbids undo; P22a, a proven refusal permits undo).
func (s step) stops() {
	late := s.Answer != nil && s.Answer.OnTimeout == core.OnFailureUndo && s.memberIn(s.Name) == nil
	overdue := s.OnDeadline == core.OnFailureUndo
	// a wait for a fixed time span cannot fail
	if s.OnFailure != core.OnFailureUndo && !late && !overdue || s.Wait != nil && s.Input == nil {
		return
	}
	where := s.place("onFailure")
	fix := "write onFailure: stop"
	if late {
		fix += " and onTimeout: stop"
	}
	if overdue {
		fix += " and onDeadline: stop"
	}
	for _, p := range s.steps {
		if p.i == s.i || !p.PointOfNoReturn || s.before[p.i][s.Name] {
			continue
		}
		what := "can run beside"
		if s.before[s.i][p.Name] {
			what = "runs after"
		}
		s.error(where, "step %s %s the point of no return %s, yet undoes the order when it fails", s.Name, what,
			p.Name).fix("%s, or put it before the point of no return", fix)
		return
	}
}

const fixUndo = "write undo: OPERATION, or undo: none if the step has no effect"

// undoable checks that a step declares an undo if it needs one. A step needs no undo after a point of no
// return without a condition. After a point of no return with a condition, a step needs an undo, because the
// condition may be false.
func (s step) undoable() {
	if s.Kind() != core.KindCall { // only a call can declare an undo
		return
	}
	field := s.value.field("undo")
	if s.PointOfNoReturn {
		if s.Undo != nil {
			s.error(field.at, "step %s is a point of no return, yet declares an undo", s.Name).
				fix("remove undo (onFailure: undo undoes the steps before it if it is refused), or pointOfNoReturn")
		}
		return
	}
	behind := ""
	skippable := ""
	for _, p := range s.steps {
		switch {
		case !p.PointOfNoReturn || !s.before[s.i][p.Name]:
		case p.When == "":
			behind = p.Name
		default:
			skippable = p.Name
		}
	}
	// A step that the order may go on without may be undone even after a point of no return (P42, P58).
	goesOn := s.OnFailure == core.OnFailureContinue || s.OnDeadline == core.OnFailureContinue
	switch alone := goesOn || s.memberIn(s.Name) != nil; {
	case alone && field != nil:
	case alone:
		s.error(s.at, "step %s declares no undo, and the order can only go on without it once it is "+
			"undone", s.Name).fix(fixUndo)
	case behind != "" && s.Undo != nil:
		s.warn(field.at, "the undo of step %s is never used: it runs after the point of no return %s", s.Name,
			behind).fix("remove undo")
	case behind != "" || field != nil:
	case skippable != "":
		s.error(s.at, "step %s declares no undo, and the point of no return %s before it may be skipped",
			s.Name, skippable).fix(fixUndo)
	default:
		s.error(s.at, "step %s declares no undo", s.Name).fix(fixUndo)
	}
}

// times checks that the deadline is long enough for the timeouts and waits of the steps.
func (b *builder) times() {
	longest, last := longestPath(b.def)
	if b.def.Deadline > 0 && longest > b.def.Deadline {
		b.error(b.root.get("deadline").at, "the deadline of %s is shorter than the timeouts and waits of the steps "+
			"up to %s, %s in all", b.def.Deadline, b.def.Steps[last].Name, longest).
			fix("make the deadline longer, or the timeouts shorter")
	}
}

// retries checks that deadline and keyRetention are long enough for the attempts of the step.
func (s step) retries() {
	where := s.at
	if retry := s.value.field("retry"); retry != nil {
		where = retry.at
	}
	most := s.def.Deadline
	longest := worst(span(s.StepDefinition), s.Retry)
	if most > 0 && longest > most && span(s.StepDefinition) <= most {
		s.error(where, "the attempts of step %s take up to %s, longer than the deadline of %s", s.Name, longest,
			most).fix("lower maxFailures, the waits or the rounds, or make the deadline longer")
	}
	if kept := s.def.Agents[s.Agent].KeyRetention; kept > 0 && longest > kept {
		s.warn(where, "the attempts of step %s take up to %s, but agent %s remembers keys for %s only: a "+
			"step in doubt stops for the operator then", s.Name, longest, s.Agent, kept).
			fix("lower the waits or the rounds")
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

func (s step) queueTime() {
	where := s.place("maxQueueTime")
	for _, name := range s.AllAgents() {
		if allowance := s.def.Agents[name].QueueAllowance; s.MaxQueueTime < allowance {
			s.error(where, "the maxQueueTime of step %s, %s, is shorter than the queueAllowance of agent %s, %s",
				s.Name, s.MaxQueueTime, name, allowance).fix("make it at least as long")
		}
	}
}

// minPoll is the shortest time between a reply "not yet" and the next call of the step (P45, "not now" is not
// a failure).
const minPoll = 2 * core.Second

func (s step) polling() {
	if s.PollFor == 0 {
		return
	}
	where := s.place("pollFor")
	if s.PollFor < minPoll {
		s.error(where, "the pollFor of step %s, %s, is shorter than %s, the time before it is asked again", s.Name,
			s.PollFor, minPoll).fix("write a longer time, as in pollFor: 30m")
	}
	if s.def.Deadline > 0 && s.PollFor > s.def.Deadline {
		s.warn(where, "the pollFor of step %s, %s, is longer than the deadline of %s, which ends the order first",
			s.Name, s.PollFor, s.def.Deadline).fix("shorten it, or make the deadline longer")
	}
	for _, name := range s.AllAgents() {
		if kept := s.def.Agents[name].KeyRetention; kept > 0 && s.PollFor > kept {
			s.warn(where, "the pollFor of step %s, %s, is longer than agent %s remembers keys, %s: the step "+
				"stops for the operator then", s.Name, s.PollFor, name, kept).
				fix("shorten it, or raise keyRetention if the service remembers keys for longer")
		}
	}
}

// long checks the field maxDuration of a step. A step that reports progress within its timeout may run for
// this duration (P43, long work reports progress).
func (s step) long() {
	if s.MaxDuration == 0 {
		return
	}
	where := s.place("maxDuration")
	long := workflow.Short(s.MaxDuration)
	switch {
	case s.MaxDuration < s.Timeout:
		s.error(where, "the maxDuration of step %s, %s, is shorter than its timeout, %s", s.Name, long, s.Timeout).
			fix("make it longer, or write the time between two reports of progress as the timeout")
	case s.Grade == core.Plain || s.PointOfNoReturn:
		s.error(where, "step %s has a maxDuration, and is of a plain service or a point of no return, which "+
			"cannot distinguish a second attempt from a long first one", s.Name).
			fix("remove maxDuration, and make the timeout as long as the work")
	case s.Grade != core.Fenced && s.Undo != nil:
		s.warn(where, "the undo of step %s waits for up to %s after its claim, because its service has no fence",
			s.Name, long).
			fix("shorten maxDuration, or use grade: fenced if the service refuses a do after its undo")
	}
}

// ledgerTime is the time that an agent needs to write the ledger (P31, a plain service needs a ledger). The
// timeout of a call must leave this time free.
const ledgerTime = 2 * core.Second

// holds reports a problem if a timeout is longer than the agent's environment allows. The environment would
// end the call before the timeout, and the step would be in doubt.
func (s step) holds() {
	if s.opts.MaxTimeout == nil || s.Agent == "" {
		return
	}
	agent := s.Agent
	most := s.opts.MaxTimeout(s.Agent)
	for _, name := range s.Others {
		if other := s.opts.MaxTimeout(name); other > 0 && (most <= 0 || other < most) {
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
		at := s.at
		if f := where.field("timeout"); f != nil {
			at = f.value.at
		}
		s.error(at, "the timeout of %s, %s, is longer than agent %s can work at a time, %s%s", what, timeout, agent,
			most, reserved).fix("shorten it, or deploy the agent with a longer timeout")
	}
	reported("step "+s.Name, s.value, s.Timeout)
	if s.MaxDuration > most {
		s.warn(s.place("maxDuration"), "agent %s can work for %s at a time, and the maxDuration of step %s is "+
			"%s", agent, most, s.Name, s.MaxDuration).
			fix("shorten it, run the agent as a process, whose time is not limited, or let the operation defer " +
				"its reply")
	}
	if s.Undo != nil && (s.Undo.Timeout != s.Timeout || s.Timeout <= most) {
		reported("the undo of step "+s.Name, s.value.get("undo"), s.Undo.Timeout)
	}
}
