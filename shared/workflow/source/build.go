package source

import (
	"math"
	"slices"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// builder makes the definition from the tree, and checks its meaning. It treats a malformed value as absent,
// because the schema check has already reported the value.
type builder struct {
	*report
	opts   Options
	root   *value
	def    *core.Definition
	steps  []step            // steps of the file and calls that send questions, with the indexes of def.Steps
	before []map[string]bool // names of all direct and indirect predecessors; nil if a dependency is invalid
	schema *schema.Schema    // schema of the orders; nil means that any order is valid
	outer  *builder          // builder of the steps around a block; nil for a file
}

// step is a step with its definition.
type step struct {
	*builder
	*core.StepDefinition
	field
	i int // index in the definition
}

func (b *builder) definition() *core.Definition {
	b.def = &core.Definition{
		Name:        b.text(b.root, "workflow"),
		Agents:      map[string]core.AgentDefinition{},
		Deadline:    b.duration(b.root, "deadline", limitDeadline, 0),
		OnDeadline:  core.Policy(b.text(b.root, "onDeadline")),
		Grace:       b.duration(b.root, "grace", limitGrace, 30*core.Second),
		ResendAfter: b.duration(b.root, "tellAfter", limitGrace, 30*core.Second),
		Notify:      b.notify(),
		Events:      b.truth(b.root, "events"),
		AlertUndone: b.notifies(core.StatusUndone),
		HopBudget:   10,
		Schedule:    b.schedule(),
	}
	if steps := b.root.get("steps"); steps != nil {
		fields := b.withAsks(steps)
		b.def.Steps = make([]core.StepDefinition, len(fields))
		for i, f := range fields {
			b.steps = append(b.steps, step{b, &b.def.Steps[i], f, i})
			b.steps[i].read()
		}
	}
	b.memberPolicies()
	for i := range b.def.Steps {
		b.def.HopBudget += b.def.Steps[i].Retry.Budget() + 1
	}
	b.agents()
	b.orders()
	b.dependencies()
	b.templates()
	b.meaning()
	return b.def
}

// notify returns the kinds of status messages for an order's reply-to. The kinds in the loop are optional,
// and the other kinds are always included.
func (b *builder) notify() []core.StatusKind {
	kinds := []core.StatusKind{core.StatusReceived, core.StatusRefused}
	for _, k := range []core.StatusKind{
		core.StatusStarted, core.StatusStepFinished, core.StatusUndoing,
		core.StatusProgress,
	} {
		if b.notifies(k) {
			kinds = append(kinds, k)
		}
	}
	return append(kinds, core.StatusCompleted, core.StatusFailed, core.StatusUndone, core.StatusCancelled)
}

func (b *builder) notifies(kind core.StatusKind) bool {
	v := b.root.get("notify")
	return v != nil && slices.ContainsFunc(v.list, func(e *value) bool { return e.text == string(kind) })
}

// form describes a kind of step that calls no agent.
type form struct {
	key         string // field that identifies this kind of step
	read        func(s step)
	expressions func(s step, scope expression.Scope)
}

// forms is a function, because a block contains steps of all forms.
func forms() []form {
	return []form{
		{"wait", step.wait, step.waitEnd},
		{"approval", step.answer, step.question},
		{"event", step.answer, step.question},
		{"fail", step.fail, noExpressions},
		{"steps", step.each, step.items},
		{"each", step.each, step.items},
		{"workflow", step.each, step.items},
		{"any", step.any, noExpressions},
	}
}

// formOf returns the form of a step, or nil if the step calls an agent.
func formOf(step *value) *form {
	for _, form := range forms() {
		if step.field(form.key) != nil {
			return &form
		}
	}
	return nil
}

// step reads a step without its expressions. The method templates reads the expressions when all steps are
// known.
func (s step) read() {
	v := s.value
	if form := formOf(v); form != nil {
		form.read(s)
		return
	}
	*s.StepDefinition = core.StepDefinition{
		Name:         s.key,
		Agent:        s.text(v, "agent"),
		Operation:    s.text(v, "operation"),
		Timeout:      s.duration(v, "timeout", limitTimeout, 0),
		MaxQueueTime: s.duration(v, "maxQueueTime", limitQueue, core.Day),
		MaxDuration:  s.duration(v, "maxDuration", limitTimeout, 0),
		PollFor:      s.duration(v, "pollFor", limitPoll, 0),
		Retry:        s.retry(v.get("retry"), defaultRetry),
		OnFailure:    core.Policy(s.text(v, "onFailure")),
		Grade:        core.Grade(s.text(v, "grade")),
		After:        after(v),

		PointOfNoReturn: s.truth(v, "pointOfNoReturn"),
	}
	s.deadline()
	s.remind()
	s.agentsOf()
	s.Undo = s.undo()
}

// uncalled reads the fields that all steps without an agent have in common.
func (s step) uncalled() {
	*s.StepDefinition = core.StepDefinition{Name: s.key, After: after(s.value), OnFailure: core.OnFailureUndo}
	if policy := s.text(s.value, "onFailure"); policy != "" {
		s.OnFailure = core.Policy(policy)
	}
}

func after(step *value) (names []string) {
	if v := step.get("after"); v != nil {
		names = texts(v)
	}
	return names
}

func texts(v *value) (all []string) {
	for _, e := range v.list {
		all = append(all, e.text)
	}
	return all
}

// undo reads the field undo, which contains the name of an operation or a mapping.
func (s step) undo() *core.Undo {
	v := s.value.get("undo")
	if v == nil {
		return nil
	}
	u := &core.Undo{Timeout: s.Timeout, Retry: s.Retry}
	u.Retry.ExtendedInterval = 0
	u.Retry.ExtendedRounds = 0
	switch v.shape {
	case isText:
		if v.text == "none" {
			return nil
		}
		u.Operation = v.text
	case isMap:
		u.Operation = s.text(v, "operation")
		u.Timeout = s.duration(v, "timeout", limitTimeout, s.Timeout)
		u.Retry = s.retry(v.get("retry"), u.Retry)
	}
	return u
}

var defaultRetry = core.Retry{
	MaxFailures: 3,
	Backoff:     core.Backoff{Initial: core.Second, Max: core.Minute, Multiplier: 2, Jitter: 0.3},
}

func (b *builder) retry(v *value, defaults core.Retry) core.Retry {
	r := defaults
	if v == nil {
		return r
	}
	r.MaxFailures = b.whole(v, "maxFailures", r.MaxFailures)
	if w := v.get("extendedWait"); w != nil {
		r.ExtendedInterval = b.duration(w, "interval", limitExtended, 0)
		r.ExtendedRounds = b.whole(w, "rounds", 0)
	}
	backoff := v.get("backoff")
	if backoff == nil {
		return r
	}
	r.Backoff.Multiplier = b.float(backoff, "multiplier", r.Backoff.Multiplier)
	r.Backoff.Jitter = b.float(backoff, "jitter", r.Backoff.Jitter)
	r.Backoff.Initial = b.duration(backoff, "initial", limitBackoff, r.Backoff.Initial)
	r.Backoff.Max = b.duration(backoff, "max", limitBackoff, r.Backoff.Max)
	// A default for initial or max must not contradict the field that the file sets.
	initial := backoff.field("initial")
	longest := backoff.field("max")
	switch {
	case r.Backoff.Initial <= r.Backoff.Max:
	case initial == nil:
		r.Backoff.Initial = r.Backoff.Max
	case longest == nil:
		r.Backoff.Max = r.Backoff.Initial
	default:
		b.error(longest.value.at, "the longest wait is shorter than the first").fix("make max at least initial")
	}
	return r
}

// agents collects the agents of all steps, with their settings. It warns about settings of other agents.
func (b *builder) agents() {
	settings := b.root.get("agents")
	for i := range b.def.Steps {
		s := &b.def.Steps[i]
		for _, name := range append(s.AllAgents(), b.def.Reminders(s)...) {
			if _, done := b.def.Agents[name]; done || name == "" {
				continue
			}
			v := settings.get(name)
			b.def.Agents[name] = core.AgentDefinition{
				QueueAllowance: b.duration(v, "queueAllowance", limitAllowance, 15*core.Second),
				ClockSkew:      b.duration(v, "clockSkew", limitSkew, core.Second),
				KeyRetention:   b.duration(v, "keyRetention", limitRetention, 0),
			}
		}
	}
	if settings == nil || b.outer != nil {
		return
	}
	for _, f := range settings.fields {
		used := slices.ContainsFunc(b.def.WithBlocks(), func(d *core.Definition) bool {
			_, used := d.Agents[f.key]
			return used
		})
		if !used {
			b.warn(f.at, "no step uses the agent %s", f.key).fix("remove its settings, or correct the name")
		}
	}
}

// text returns the text in a field. It returns "" if the field is absent or has another type.
func (b *builder) text(v *value, key string) string {
	if f := v.get(key); f != nil && f.shape == isText {
		return f.text
	}
	return ""
}

func (b *builder) truth(v *value, key string) bool {
	f := v.get(key)
	return f != nil && f.truth
}

// whole returns the whole number in a field, also one written as 5.0 or 1e3, as in JSON Schema.
func (b *builder) whole(v *value, key string, absent int) int {
	n := b.float(v, key, -1)
	if n != math.Trunc(n) || n < 0 || n > core.MaxChildren {
		return absent
	}
	return int(n)
}

func (b *builder) float(v *value, key string, absent float64) float64 {
	if f := v.get(key); f != nil && f.shape == isNumber {
		if n, err := strconv.ParseFloat(f.text, 64); err == nil {
			return n
		}
	}
	return absent
}

type limit struct {
	longest core.Duration
	text    string
}

var (
	limitTimeout   = limit{12 * core.Hour, "12h, the longest that a queue hides a message"}
	limitQueue     = limit{14 * core.Day, "14d, the longest that a queue keeps a message"}
	limitPoll      = limit{31 * core.Day, "31d; an event step can wait for longer"}
	limitDeadline  = limit{365 * core.Day, "365d"}
	limitGrace     = limit{core.Day, "24h"}
	limitBackoff   = limit{core.Day, "24h"}
	limitWait      = limit{core.MaxWait, "366d"}
	limitCatchUp   = limit{schedule.MaxCatchUp, "31d"}
	limitExtended  = limit{7 * core.Day, "7d"}
	limitAllowance = limit{core.Day, "24h"}
	limitSkew      = limit{core.Hour, "1h"}
	limitRetention = limit{3650 * core.Day, "3650d"}
)

// duration returns the duration in a field of v. It returns the parameter absent if the field is absent or
// invalid.
func (b *builder) duration(v *value, key string, most limit, absent core.Duration) core.Duration {
	f := v.get(key)
	if f == nil || f.shape != isText {
		return absent
	}
	d, ok := core.ParseDuration(f.text)
	switch {
	case !ok:
		return absent
	case d <= 0:
		b.error(f.at, "%s is zero, or shorter than 1ms", key).fix(fixDuration)
		return absent
	case d > most.longest:
		b.error(f.at, "%s is longer than %s", key, most.text).fix("write a shorter time")
		return absent
	}
	return d
}
