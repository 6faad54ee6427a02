package explore

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// drawnWorkflow returns a small workflow that validation would accept, drawn by a seed: 1 to 4 steps of any
// grade in any order, with retries, conditions, deadlines and a point of no return.
func drawnWorkflow(seed uint64) *core.Definition {
	d := &drawing{rand.New(rand.NewPCG(seed, 0xd4a3))} //nolint:gosec // not for secrets
	return d.definition(seed)
}

type drawing struct{ *rand.Rand }

func (d *drawing) chance(n int) bool { return d.IntN(n) == 0 }

func (d *drawing) definition(seed uint64) *core.Definition {
	def := &core.Definition{
		Name: "drawn", Agents: map[string]core.AgentDefinition{}, Grace: 5 * core.Second,
		ResendAfter: 20 * core.Second, HopBudget: 4 + d.IntN(20),
		Notify: []core.StatusKind{
			core.StatusReceived, core.StatusCompleted, core.StatusFailed,
			core.StatusUndone, core.StatusCancelled,
		},
	}
	if d.chance(2) {
		def.Notify = append(def.Notify, core.StatusStarted, core.StatusStepFinished, core.StatusUndoing,
			core.StatusProgress)
	}
	n := 1 + d.IntN(4)
	for i := range n {
		def.Steps = append(def.Steps, d.step(i))
		agent := core.AgentDefinition{
			QueueAllowance: core.Duration(2+d.IntN(20)) * core.Second,
			ClockSkew:      core.Second,
		}
		if d.chance(4) {
			agent.KeyRetention = 10 * core.Minute
		}
		def.Agents[def.Steps[i].Agent] = agent
	}
	if n > 1 && d.chance(3) {
		d.noReturn(def)
	}
	putAgents(rand.New(rand.NewPCG(seed, 0x44a9)), def)    //nolint:gosec // not for secrets
	putWaits(rand.New(rand.NewPCG(seed, 0x3a17)), def)     //nolint:gosec // not for secrets
	putAnswers(rand.New(rand.NewPCG(seed, 0xa25e)), def)   //nolint:gosec // not for secrets
	putRule(rand.New(rand.NewPCG(seed, 0xfa11)), def)      //nolint:gosec // not for secrets
	putGoOn(rand.New(rand.NewPCG(seed, 0x900d)), def)      //nolint:gosec // not for secrets
	putAsks(rand.New(rand.NewPCG(seed, 0xa5c0)), def)      //nolint:gosec // not for secrets
	putPolls(rand.New(rand.NewPCG(seed, 0x9011)), def)     //nolint:gosec // not for secrets
	putLong(rand.New(rand.NewPCG(seed, 0x1046)), def)      //nolint:gosec // not for secrets
	putChildren(rand.New(rand.NewPCG(seed, 0xc41d)), def)  //nolint:gosec // not for secrets
	putBlock(rand.New(rand.NewPCG(seed, 0xb10c)), def)     //nolint:gosec // not for secrets
	putEnough(rand.New(rand.NewPCG(seed, 0xe209)), def)    //nolint:gosec // not for secrets
	putPassed(rand.New(rand.NewPCG(seed, 0x9a55)), def)    //nolint:gosec // not for secrets
	putAny(rand.New(rand.NewPCG(seed, 0xa117)), def)       //nolint:gosec // not for secrets
	putLate(rand.New(rand.NewPCG(seed, 0x1a7e)), def)      //nolint:gosec // not for secrets
	putReminders(rand.New(rand.NewPCG(seed, 0x4e31)), def) //nolint:gosec // not for secrets
	putAttempts(rand.New(rand.NewPCG(seed, 0xa77e)), def)  //nolint:gosec // not for secrets
	putOuter(rand.New(rand.NewPCG(seed, 0x2b10)), def)     //nolint:gosec // not for secrets
	def.AlertUndone = seed%3 == 0
	def.Events = seed%7 == 3
	if d.chance(4) {
		def.Deadline = core.Duration(20+d.IntN(60)) * core.Second
		def.OnDeadline = core.OnFailureUndo
		if d.chance(2) {
			def.OnDeadline = core.OnFailureStop
		}
	}
	return sealed(def)
}

// sealed returns the definition with its expressions compiled, and its hash.
func sealed(d *core.Definition) *core.Definition {
	if err := workflow.Seal(d); err != nil {
		panic("simulate: " + err.Error()) // its expressions are constants
	}
	return d
}

func (d *drawing) step(i int) core.StepDefinition {
	name := string(rune('a' + i))
	retry := core.Retry{
		MaxFailures: 1 + d.IntN(3),
		Backoff:     core.Backoff{Initial: 2 * core.Second, Max: 10 * core.Second, Multiplier: 2, Jitter: 0.3},
	}
	s := core.StepDefinition{
		Name: name, Agent: name + "-agent", Operation: "do-" + name,
		Timeout: core.Duration(2+d.IntN(10)) * core.Second, MaxQueueTime: 5 * core.Minute,
		Retry: retry, OnFailure: core.OnFailureUndo,
		Grade: []core.Grade{core.Fenced, core.Idempotent, core.Plain}[d.IntN(3)],
	}
	if d.chance(4) {
		s.Retry.ExtendedRounds = 1
		s.Retry.ExtendedInterval = 20 * core.Second
	}
	if d.chance(4) {
		s.OnFailure = core.OnFailureStop
	}
	if !d.chance(6) {
		retry.MaxFailures = 1 + d.IntN(3)
		s.Undo = &core.Undo{Operation: "undo-" + name, Timeout: s.Timeout, Retry: retry}
	}
	if d.chance(5) {
		s.When = []string{"true", "false"}[d.IntN(2)]
	}
	if d.chance(3) { // then the order has to be read
		s.Input = json.RawMessage(`{"for":"${ orderId }"}`)
	}
	for j := range i {
		if d.chance(2) {
			s.After = append(s.After, string(rune('a'+j)))
		}
	}
	return s
}

// noReturn adds a point of no return if P22 (a point of no return forbids undo) permits it. The point, and
// every step that can run beside or after it, stops on failure. Steps after it have no undo.
func (d *drawing) noReturn(def *core.Definition) {
	at := d.IntN(len(def.Steps))
	before := map[string]bool{}
	for i := at; i >= 0; i-- {
		if i == at || before[def.Steps[i].Name] {
			for _, a := range def.Steps[i].After {
				before[a] = true
			}
		}
	}
	behind := map[string]bool{def.Steps[at].Name: true}
	for i := range def.Steps {
		s := &def.Steps[i]
		if !before[s.Name] {
			s.OnFailure = core.OnFailureStop
		}
		if i > at && slices.ContainsFunc(s.After, func(a string) bool { return behind[a] }) {
			behind[s.Name] = true
		}
		if behind[s.Name] {
			s.Undo = nil
		}
	}
	def.Steps[at].PointOfNoReturn = true
	def.Steps[at].When = ""
	if d.chance(2) { // a proven refusal permits undo (P22a)
		def.Steps[at].OnFailure = core.OnFailureUndo
	}
}

// putAgents adds a second agent for the same service to some calls, in every third workflow (P44, several
// agents can do one step).
func putAgents(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Grade == core.Plain || s.PointOfNoReturn || r.IntN(2) == 0 {
			continue
		}
		other := def.Agents[s.Agent]
		other.QueueAllowance = core.Duration(2+r.IntN(20)) * core.Second
		s.Others = []string{s.Agent + "-other", s.Agent + "-third"}[:1+r.IntN(2)]
		for _, name := range s.Others {
			def.Agents[name] = other
		}
	}
}

// putWaits turns some steps into waits, in every third workflow: short ones, ones that are longer than a
// message can be delayed, and until times that have passed, come soon, or are invalid. It changes nothing
// else.
func putWaits(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.PointOfNoReturn || r.IntN(2) == 0 {
			continue
		}
		for _, a := range s.AllAgents() {
			delete(def.Agents, a)
		}
		*s = core.StepDefinition{
			Name: s.Name, After: s.After, When: s.When, OnFailure: s.OnFailure,
			Wait: &core.Wait{},
		}
		if r.IntN(4) == 0 {
			times := []string{
				`"2026-01-01T11:00:00Z"`, `"2026-01-01T12:00:30Z"`,
				`"2026-01-01T12:20:00+00:00"`, `"2027-06-01T00:00:00Z"`, `"soon"`, `"${ order.at }"`,
			}
			s.Input = json.RawMessage(times[r.IntN(len(times))])
			continue
		}
		spans := []core.Duration{
			0, core.Duration(1+r.IntN(9)) * core.Second,
			core.Duration(20+r.IntN(70)) * core.Second, 14*core.Minute + 55*core.Second,
			core.Duration(16+r.IntN(10)) * core.Minute,
		}
		s.Wait.For = spans[r.IntN(len(spans))]
		if s.Wait.For > 0 && r.IntN(3) == 0 {
			s.Wait.Spread = core.Duration(1+r.IntN(30)) * core.Second
		}
	}
}

// putAnswers makes some steps ask for an answer, in every third workflow: approvals of one or more people,
// and events of one name. It changes nothing else.
func putAnswers(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.PointOfNoReturn || r.IntN(2) == 0 {
			continue
		}
		for _, a := range s.AllAgents() {
			delete(def.Agents, a)
		}
		*s = core.StepDefinition{
			Name: s.Name, After: s.After, When: s.When, OnFailure: s.OnFailure,
			Timeout: core.Duration(20+r.IntN(200)) * core.Second, Answer: &core.Answer{},
		}
		if r.IntN(3) == 0 {
			s.Answer.Event = simulate.Bought
		} else {
			s.Answer.Values = []string{"yes", "no"}
			questions := []string{
				"", `{"question":"may it?"}`, `{"need":2}`,
				`{"need":2,"who":["ann","bob","cleo"]}`, `{"notSelf":"ann"}`,
				`{"who":["bob"],"timeout":"45s"}`,
				`{"need":2,"who":["ann"]}`, `{"question":"${ order.by }"}`, `{"timeout":"16m"}`,
			}
			s.Input = json.RawMessage(questions[r.IntN(len(questions))])
		}
		if len(s.Input) == 0 {
			s.Input = nil
		}
		if r.IntN(2) == 0 {
			s.Answer.Refuse = `value == "no"`
		}
		switch r.IntN(3) {
		case 0:
			s.Answer.OnTimeout = core.OnFailureUndo
		case 1:
			s.Answer.OnTimeout = core.OnFailureStop
		default:
			s.Answer.TimeoutValue = json.RawMessage([]string{`"yes"`, `"no"`}[r.IntN(2)])
		}
	}
}

// putAsks adds calls that ask for some of the answers (P38, an ask sends the question). It changes nothing
// else.
func putAsks(r *rand.Rand, def *core.Definition) {
	for i := range len(def.Steps) {
		s := &def.Steps[i]
		if s.Answer == nil || r.IntN(2) == 0 {
			continue
		}
		ask := core.StepDefinition{
			Name: s.Name + "-ask", Agent: s.Name + "-agent", Operation: "ask-" + s.Name,
			After: slices.Clone(s.After), When: s.When,
			Timeout: core.Duration(2+r.IntN(10)) * core.Second, MaxQueueTime: 5 * core.Minute,
			OnFailure: s.OnFailure, Grade: []core.Grade{core.Fenced, core.Idempotent, core.Plain}[r.IntN(3)],
			Retry: core.Retry{MaxFailures: 1 + r.IntN(3), Backoff: core.Backoff{
				Initial: 2 * core.Second,
				Max:     10 * core.Second, Multiplier: 2, Jitter: 0.3,
			}},
			Input: json.RawMessage(`{"link":"${ token('` + s.Name + `', 'ann') }"}`),
		}
		def.Agents[ask.Agent] = core.AgentDefinition{QueueAllowance: core.Duration(2+
			r.IntN(20)) * core.Second, ClockSkew: core.Second}
		s.After = append(slices.Clone(s.After), ask.Name)
		s.Answer.Ask = ask.Name
		if r.IntN(2) == 0 {
			every := core.Duration(2+r.IntN(60)) * core.Second
			if ask.Grade != core.Plain {
				s.Remind = &core.Remind{After: every, Every: every}
			}
		}
		def.Steps = append(def.Steps, ask)
	}
}

// putPolls makes every third call poll for a longer or shorter time than its agent may be unable to call its
// service (P45, "not now" is not a failure).
func putPolls(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		if s := &def.Steps[i]; s.Agent != "" && r.IntN(3) == 0 {
			s.PollFor = core.Duration(10+r.IntN(1200)) * core.Second
		}
	}
}

// putLong lets every fourth call take longer than its timeout while it reports (P43, long work reports
// progress).
func putLong(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		if s := &def.Steps[i]; s.Agent != "" && s.Grade != core.Plain && !s.PointOfNoReturn &&
			r.IntN(4) == 0 {
			s.MaxDuration = s.Timeout * core.Duration(2+r.IntN(10))
		}
	}
}

// putChildren turns one call into a step of child orders, in every fifth workflow: of a list of up to four,
// or of one child (P40, a step can have child orders).
func putChildren(r *rand.Rand, def *core.Definition) {
	if r.IntN(5) > 0 {
		return
	}
	asked := func(s *core.StepDefinition) bool {
		return slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
			return o.Answer != nil && o.Answer.Ask == s.Name
		})
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Agent == "" || s.PointOfNoReturn || asked(s) {
			continue
		}
		for _, a := range s.AllAgents() {
			delete(def.Agents, a)
		}
		leaf := drawnLeaf(r)
		// one deployment's
		maps.Copy(def.Agents, leaf.Agents)
		e := &core.Each{Workflow: leaf.Name, Definition: leaf.Hash, Child: leaf, Concurrency: 1}
		*s = core.StepDefinition{Name: s.Name, After: s.After, When: s.When, OnFailure: s.OnFailure, Each: e}
		if lists := []string{
			`[]`, `[{"n":1}]`, `[{"n":1},{"n":2}]`, `[{"n":1},{"n":2},{"n":3},{"n":4}]`,
			`[{"n":1},{"n":2},"no object"]`,
		}; r.IntN(5) > 0 {
			s.Input = json.RawMessage(lists[r.IntN(len(lists))])
			e.Concurrency = 1 + r.IntN(3)
			e.Tolerate = r.IntN(2)
			e.Collect = r.IntN(2) == 0
		}
		return
	}
}

// putBlock makes a block of the workflow of children in every second workflow (P55, a block is a child order of the same
// file), and repeats a third of them.
func putBlock(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each == nil {
			continue
		}
		if r.IntN(2) == 0 {
			block := *s.Each.Child
			block.Name = core.BlockName(def.Name, s.Name)
			s.Each.Child = sealed(&block)
			s.Each.Workflow = block.Name
			s.Each.Definition = block.Hash
		}
		if r.IntN(3) == 0 {
			putRepeat(r, s)
		}
	}
}

// putEnough lets the first children of a list decide, in two of three workflows with one (P54, the first of several
// decides).
func putEnough(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each == nil || s.Input == nil || r.IntN(3) == 0 {
			continue
		}
		s.Each.Tolerate = 0
		s.Each.Enough = json.RawMessage([]string{"1", "1", "2", `"${ order.missing ?? 1 }"`, "3"}[r.IntN(5)])
	}
}

// putPassed has two of three blocks and repeated children wait for an event, which their parent passes on (P56, answers
// pass through).
func putPassed(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each == nil || s.Input != nil || !s.Each.Block() && s.Each.Repeat == nil || r.IntN(3) == 0 {
			continue
		}
		waits := core.StepDefinition{
			Name: "e", Timeout: core.Duration(20+r.IntN(100)) * core.Second, OnFailure: core.OnFailureUndo,
			Answer: &core.Answer{Event: simulate.Bought, OnTimeout: core.OnFailureUndo},
		}
		if r.IntN(2) == 0 {
			waits.After = []string{"x"}
		}
		if r.IntN(2) == 0 {
			waits.Answer.OnTimeout = ""
			waits.Answer.TimeoutValue = json.RawMessage(`"none"`)
		}
		leaf := *s.Each.Child
		leaf.Steps = append(slices.Clone(leaf.Steps), waits)
		s.Each.Child = sealed(&leaf)
		s.Each.Definition = leaf.Hash
		s.Each.Events = []core.PassedEvent{{Name: simulate.Bought}}
	}
}

// putAttempts lets half of the answers that can be refused decide again, and half of the events that a parent passes on
// (P35, an answer decides a round).
func putAttempts(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Answer != nil && s.Answer.Refuse != "" && r.IntN(2) == 0 {
			s.Answer.Attempts = 2 + r.IntN(3)
		}
		if s.Each == nil || s.Each.Events == nil || r.IntN(2) == 0 {
			continue
		}
		leaf := *s.Each.Child
		leaf.Steps = slices.Clone(leaf.Steps)
		e := leaf.Steps[leaf.Index("e")].Answer
		again := *e
		again.Refuse = `value endsWith "1" or value endsWith "2" or value == "none"`
		again.Attempts = 2 + r.IntN(3)
		leaf.Steps[leaf.Index("e")].Answer = &again
		s.Each.Child = sealed(&leaf)
		s.Each.Definition = leaf.Hash
	}
}

// putOuter puts a block around half of the children that wait for an event, so that their answers pass through two
// orders (P56, answers pass through). It may run one child, or repeat it.
func putOuter(r *rand.Rand, def *core.Definition) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each == nil || s.Each.Events == nil || r.IntN(2) == 0 {
			continue
		}
		inner := *s.Each
		outer := &core.Definition{
			Name: core.BlockName(def.Name, s.Name), Agents: inner.Child.Agents, Grace: inner.Child.Grace,
			ResendAfter: inner.Child.ResendAfter, HopBudget: inner.Child.HopBudget,
			Output: json.RawMessage(`{"n":"${ order.n ?? 1 }"}`),
			Steps:  []core.StepDefinition{{Name: "m", OnFailure: core.OnFailureUndo, Each: &inner}},
		}
		leaf := *inner.Child
		leaf.Name = core.BlockName(outer.Name, "m")
		inner.Child = sealed(&leaf)
		inner.Workflow = leaf.Name
		inner.Definition = leaf.Hash
		if r.IntN(2) == 0 { // the outer one is repeated, or both are
			outer.Steps[0].Each = &core.Each{
				Workflow: leaf.Name, Definition: leaf.Hash, Child: &leaf, Concurrency: 1, Events: inner.Events,
			}
		} else if inner.Repeat != nil {
			s.Each.Repeat = nil
			s.Each.Order = nil
			s.Each.Tolerate = 0
		}
		sealed(outer)
		s.Each.Child = outer
		s.Each.Workflow = outer.Name
		s.Each.Definition = outer.Hash
	}
}

// putRepeat repeats the children of a step, each from the output of the one before (P57, a block can be repeated).
func putRepeat(r *rand.Rand, s *core.StepDefinition) {
	leaf := *s.Each.Child
	leaf.Output = json.RawMessage(`{"n":"${ order.n }"}`)
	sealed(&leaf)
	s.Input = nil
	s.Each = &core.Each{
		Workflow: leaf.Name, Definition: leaf.Hash, Child: &leaf, Concurrency: 1, Tolerate: r.IntN(2),
		Order: json.RawMessage(`{"n":"${ (previous?.n ?? 0) + 1 }","index":"${ index }"}`),
		Repeat: &core.Repeat{
			Until:  []string{"result.n == 1", "result.n >= 2", "index == 3", "result.n > 9"}[r.IntN(4)],
			AtMost: 1 + r.IntN(4), Every: core.Duration(r.IntN(2)) * core.Minute,
			OnExhausted: []core.Policy{
				"", core.OnExhaustedKeep, core.OnFailureStop, core.OnFailureUndo,
			}[r.IntN(4)],
		},
	}
	if r.IntN(3) == 0 { // later iterations are refused
		leaf.Order = json.RawMessage(`{"properties":{"n":{"maximum":1}}}`)
		sealed(&leaf)
		s.Each.Definition = leaf.Hash
	}
}

// drawnLeaf returns the workflow of children: one or two calls.
func drawnLeaf(r *rand.Rand) *core.Definition {
	leaf := &core.Definition{
		Name: "leaf", Agents: map[string]core.AgentDefinition{}, Grace: 5 * core.Second,
		ResendAfter: 20 * core.Second, HopBudget: 4 + r.IntN(20),
	}
	for i, name := range []string{"x", "y"}[:1+r.IntN(2)] {
		retry := core.Retry{MaxFailures: 1 + r.IntN(3), Backoff: core.Backoff{
			Initial: 2 * core.Second,
			Max:     10 * core.Second, Multiplier: 2, Jitter: 0.3,
		}}
		timeout := core.Duration(2+r.IntN(10)) * core.Second
		s := core.StepDefinition{
			Name: name, Agent: name + "-agent", Operation: "do-" + name,
			Timeout: timeout, MaxQueueTime: 5 * core.Minute, Retry: retry, OnFailure: core.OnFailureUndo,
			Undo:  &core.Undo{Operation: "undo-" + name, Timeout: timeout, Retry: retry},
			Grade: []core.Grade{core.Fenced, core.Idempotent, core.Plain}[r.IntN(3)],
		}
		if r.IntN(3) == 0 {
			s.OnFailure = core.OnFailureStop
		}
		if i > 0 && r.IntN(2) == 0 {
			s.After = []string{"x"}
		}
		leaf.Agents[s.Agent] = core.AgentDefinition{
			QueueAllowance: core.Duration(2+r.IntN(20)) * core.Second,
			ClockSkew:      core.Second,
		}
		leaf.Steps = append(leaf.Steps, s)
	}
	return sealed(leaf)
}

// putRule adds a failure by rule (P50, a rule can fail the order) before a step, in every fifth workflow.
// Mostly its condition is false. It stops on failure if that step does, as P22 demands.
func putRule(r *rand.Rand, def *core.Definition) {
	if r.IntN(5) > 0 {
		return
	}
	s := &def.Steps[r.IntN(len(def.Steps))]
	rule := core.StepDefinition{
		Name: "rule", After: slices.Clone(s.After), When: "false",
		OnFailure: s.OnFailure, Fail: &core.Fail{Code: "by-rule", Message: "the rule holds"},
	}
	switch r.IntN(6) {
	case 0, 1:
		rule.When = "true"
	case 2:
		rule.When = "order.missing.field > 1"
	}
	s.After = append(s.After, rule.Name)
	def.Steps = append(def.Steps, rule)
}

// putGoOn lets orders continue without some calls (P42, orders can go on after failures), in every third
// workflow. These include calls after a point of no return, if they have an undo, and calls whose inputs and
// conditions fail. Later steps ask whether they failed. It changes nothing else.
func putGoOn(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Agent == "" || s.PointOfNoReturn || r.IntN(3) == 0 {
			continue
		}
		s.OnFailure = core.OnFailureContinue
		if s.Undo == nil && behindNoReturn(def, s) {
			s.Undo = &core.Undo{
				Operation: "undo-" + s.Name, Timeout: s.Timeout,
				Retry: core.Retry{MaxFailures: s.Retry.MaxFailures, Backoff: s.Retry.Backoff},
			}
		}
		switch r.IntN(12) {
		case 0:
			s.When = "order.missing.field > 1"
		case 1:
			s.Input = json.RawMessage(`{"for":"${ order.missing.field }"}`)
		case 2:
			if s.Undo != nil {
				undo := *s.Undo
				undo.Input = json.RawMessage(`{"because":"${ steps.` + s.Name +
					`.error }","for":"${ order.missing.field }"}`)
				s.Undo = &undo
			}
		}
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.PointOfNoReturn || s.When != "" || len(s.After) == 0 || r.IntN(2) == 0 {
			continue
		}
		before := def.Steps[slices.IndexFunc(def.Steps,
			func(o core.StepDefinition) bool { return o.Name == s.After[0] })]
		if before.OnFailure != core.OnFailureContinue {
			continue
		}
		s.When = "steps." + before.Name + ".failed"
		if r.IntN(3) == 0 {
			s.When = "not " + s.When
		}
		if s.Agent != "" && s.OnFailure == core.OnFailureContinue {
			s.Input = json.RawMessage(`{"because":"${ steps.` + before.Name + `.error }"}`)
		}
	}
}

// putAny turns a step into one that ends with the first of 2 to 4 members, in every fourth workflow (P54, the first of
// several decides). The first member is the step itself. The others are calls of every grade, waits and events.
func putAny(r *rand.Rand, def *core.Definition) {
	if r.IntN(4) > 0 {
		return
	}
	i := slices.IndexFunc(def.Steps, func(s core.StepDefinition) bool {
		kind := s.Kind()
		return !s.PointOfNoReturn && len(s.Others) == 0 && (kind == core.KindCall && (s.Undo == nil || s.Undo.Input == nil) ||
			kind == core.KindWait || kind == core.KindEach || kind == core.KindAnswer && s.Answer.Ask == "")
	})
	if i < 0 || slices.ContainsFunc(def.Steps, func(s core.StepDefinition) bool {
		return s.Answer != nil && s.Answer.Ask == def.Steps[i].Name
	}) {
		return
	}
	was := def.Steps[i]
	group := core.StepDefinition{Name: was.Name, After: was.After, When: was.When, OnFailure: was.OnFailure}
	group.Any = &core.Any{Enough: 1}
	members := 2 + r.IntN(3)
	if r.IntN(4) == 0 {
		group.Any.Enough = 1 + r.IntN(members)
	}
	for n := range members {
		m := drawnMember(r, def, was, n, group.OnFailure != core.OnFailureUndo && behindNoReturn(def, &was))
		group.Any.Members = append(group.Any.Members, string(rune('p'+n)))
		m.Name = core.MemberName(was.Name, group.Any.Members[n])
		m.OnFailure = core.OnFailureContinue
		if group.OnFailure == core.OnFailureStop {
			m.OnFailure = core.OnFailureStop
		}
		def.Steps = append(def.Steps, m)
	}
	def.Steps[i] = group
	def.Steps = append(slices.Delete(def.Steps, i, i+1), group)
}

func drawnMember(r *rand.Rand, def *core.Definition, was core.StepDefinition, n int, undo bool) core.StepDefinition {
	m := core.StepDefinition{After: was.After}
	kind := r.IntN(6)
	switch {
	case n == 0:
		m = was
		m.When = ""
	case kind == 0:
		m.Wait = &core.Wait{For: core.Duration(r.IntN(60)) * core.Second}
	case kind == 1:
		m.Answer = &core.Answer{Event: simulate.Bought, OnTimeout: core.OnFailureStop, Refuse: `value == "no"`}
		m.Timeout = core.Duration(20+r.IntN(200)) * core.Second
	default:
		d := drawing{r}
		m = d.step(n)
		m.Name = ""
		m.Agent = was.Name + "-" + m.Agent
		m.After = was.After
		m.When = ""
		m.PointOfNoReturn = false
		def.Agents[m.Agent] = core.AgentDefinition{
			QueueAllowance: core.Duration(2+r.IntN(20)) * core.Second, ClockSkew: core.Second,
		}
	}
	if m.Agent != "" && m.Undo == nil && undo {
		m.Undo = &core.Undo{
			Operation: "undo-" + m.Operation, Timeout: m.Timeout,
			Retry: core.Retry{MaxFailures: m.Retry.MaxFailures, Backoff: m.Retry.Backoff},
		}
	}
	return m
}

// putLate gives some steps a deadline, in every third workflow, with every policy that is permitted (P58, a step has a
// deadline).
func putLate(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Wait != nil || s.Answer != nil || s.Fail != nil || r.IntN(2) == 0 {
			continue
		}
		member := slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
			return slices.Contains(o.Servants(), s.Name)
		})
		s.Deadline = core.Duration(2+r.IntN(90)) * core.Second
		if r.IntN(4) == 0 { // an absolute one, which an expression gives
			s.DeadlineAt = json.RawMessage(`"${ '` + s.Deadline.String() + `' }"`)
			s.Deadline = 0
		}
		s.OnDeadline = s.OnFailure
		undoable := s.Agent == "" || s.Undo != nil || !behindNoReturn(def, s)
		if member || !s.PointOfNoReturn && undoable && r.IntN(2) == 0 {
			s.OnDeadline = core.OnFailureContinue
		}
		if s.PointOfNoReturn || r.IntN(4) == 0 && !member {
			s.OnDeadline = core.OnFailureStop
		}
	}
}

// putReminders gives some steps reminders, in every third workflow: of an agent of their own, or of one that does a step
// too, once or again and again (P59, a step can have reminders).
func putReminders(r *rand.Rand, def *core.Definition) {
	if r.IntN(3) > 0 {
		return
	}
	agent := "mail-agent"
	def.Agents[agent] = core.AgentDefinition{
		QueueAllowance: core.Duration(2+r.IntN(20)) * core.Second, ClockSkew: core.Second,
		KeyRetention: core.Duration(r.IntN(2)) * 10 * core.Minute,
	}
	for i := range def.Steps {
		s := &def.Steps[i]
		m := &core.Remind{
			After: core.Duration(1+r.IntN(20)) * core.Second, Every: core.Duration(r.IntN(3)*(2+r.IntN(60))) * core.Second,
			AtMost: 1 + r.IntN(20), Agent: agent, Operation: "tell", Timeout: core.Duration(2+r.IntN(10)) * core.Second,
			Input: json.RawMessage(`{"n":"${ reminder }"}`),
		}
		if s.Wait == nil && s.Fail == nil && s.Remind == nil && r.IntN(2) == 0 {
			s.Remind = m
		}
	}
}

// behindNoReturn reports whether a step comes after a point of no return, directly or not.
func behindNoReturn(def *core.Definition, s *core.StepDefinition) bool {
	return slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
		return slices.Contains(s.After, o.Name) && (o.PointOfNoReturn || behindNoReturn(def, &o))
	})
}

// An order whose question is open for up to 16 minutes sends hundreds of reminders (P59), which is no work without an
// end.
func TestManyReminders(t *testing.T) {
	def := drawnWorkflow(8339)
	def.Steps[def.Index("a-ask")].Grade = core.Idempotent
	def.Steps[def.Index("a")].Remind = &core.Remind{After: 3 * core.Second, Every: 3 * core.Second}
	sc := simulate.Scenario{Definition: sealed(def)}
	sc.Prepare()
	for _, seed := range []uint64{8339<<8 | 11, 8339<<8 | 192} {
		require.Nil(t, simulate.Run(sc, simulate.NewSeeded(seed)).Violation, "%+v", seed)
	}
}
