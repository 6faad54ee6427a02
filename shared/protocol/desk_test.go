package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// noon is the time at which the tests begin.
var noon = core.TimeOf(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

const orderID = "o1"

// expressions holds functions in place of a workflow's templates. A nil function returns what the step can
// read, so that a wrong environment shows in the request.
type expressions struct {
	when     map[int]func(core.Environment) (bool, error)
	input    map[int]func(core.Environment) (json.RawMessage, error)
	undo     map[int]func(core.Environment) (json.RawMessage, error)
	output   func(core.Environment) (json.RawMessage, error)
	reads    map[int][]string // steps that an input reads
	deadline map[int]func(core.Environment) (json.RawMessage, error)
	enough   int // number of children that must end well
	unsent   int // number of the reminder whose input fails; 0: none
	until    int // index of the iteration about which PartUntil holds; -1: it fails
}

// InputReads returns the list that the test has set.
func (x *expressions) InputReads(i int) []string { return x.reads[i] }

// CheckOrder accepts every order.
func (x *expressions) CheckOrder(json.RawMessage) error { return nil }

// CheckAnswer accepts everything except objects.
func (x *expressions) CheckAnswer(_ int, value json.RawMessage) error {
	if value[0] == '{' {
		return errors.New("it is an object")
	}
	return nil
}

// Items is the list that the input is.
func (x *expressions) Items(i int, env core.Environment, each func(int, json.RawMessage)) (int, error) {
	input, err := x.Value(core.PartInput, i, env)
	if err != nil {
		return 0, err
	}
	var list []json.RawMessage
	if json.Unmarshal(input, &list) != nil {
		return 0, errors.New("each is not a list")
	}
	for n := range list {
		each(n, list[n])
	}
	return len(list), nil
}

// CheckPassed accepts what CheckAnswer does.
func (x *expressions) CheckPassed(i, _ int, value json.RawMessage) error {
	return x.CheckAnswer(i, value)
}

// Holds refuses the answer "no", and ends a repeat at the iteration that the test has set.
func (x *expressions) Holds(part core.Part, i int, env core.Environment) (bool, error) {
	switch f := x.when[i]; {
	case part == core.PartRefuse:
		return string(env.Value) == `"no"`, nil
	case part == core.PartUntil && x.until < 0:
		return false, errors.New("no such field")
	case part == core.PartUntil:
		return env.Index >= x.until, nil
	case f != nil:
		return f(env)
	}
	return true, nil
}

// Value returns what the test has set for a template.
func (x *expressions) Value(part core.Part, i int, env core.Environment) (json.RawMessage, error) {
	of := x.input
	switch part {
	case core.PartChildOrder:
		return childOrder(env)
	case core.PartEnough:
		if x.enough < 0 {
			return nil, errors.New("no such field")
		}
		return json.Marshal(x.enough)
	case core.PartReminder:
		if env.Index == x.unsent {
			return nil, errors.New("no such field")
		}
		return json.RawMessage(fmt.Sprintf(`{"reminder":%d}`, env.Index)), nil
	case core.PartDeadline:
		of = x.deadline
	case core.PartUndo:
		of = x.undo
	}
	if f := of[i]; f != nil {
		return f(env)
	}
	return seen(env)
}

// childOrder fails for the item "bad", and returns no object for the item "text".
func childOrder(env core.Environment) (json.RawMessage, error) {
	switch {
	case string(env.Item) == `"bad"`:
		return nil, errors.New("no such field")
	case string(env.Item) == `"text"`:
		return env.Item, nil
	case env.Item == nil:
		return json.RawMessage(fmt.Sprintf(`{"previous":null,"index":%d}`, env.Index)), nil
	}
	return json.RawMessage(fmt.Sprintf(`{"item":%s,"index":%d}`, env.Item, env.Index)), nil
}

func (x *expressions) Output(env core.Environment) (json.RawMessage, error) {
	if x.output != nil {
		return x.output(env)
	}
	return seen(env)
}

func seen(env core.Environment) (json.RawMessage, error) {
	return json.Marshal(struct {
		Order json.RawMessage            `json:"order"`
		Seen  map[string]json.RawMessage `json:"seen,omitempty"`
	}{env.Order, env.Outputs})
}

// step returns a usual step: fenced, with an undo, three failures, and an agent of its own.
func step(name string, changes ...func(*core.StepDefinition)) core.StepDefinition {
	s := core.StepDefinition{
		Name: name, Agent: name + "-agent", Operation: "do-" + name, Input: json.RawMessage(`"template"`),
		Timeout: 10 * core.Second, MaxQueueTime: 2 * core.Minute, OnFailure: core.OnFailureUndo,
		Grade: core.Fenced,
		Retry: core.Retry{MaxFailures: 3, Backoff: core.Backoff{
			Initial: core.Second, Max: 8 * core.Second,
			Multiplier: 2,
		}},
		Undo: &core.Undo{
			Operation: "undo-" + name, Input: json.RawMessage(`"template"`),
			Timeout: 10 * core.Second,
			Retry: core.Retry{
				MaxFailures: 2,
				Backoff:     core.Backoff{Initial: 2 * core.Second, Max: 8 * core.Second, Multiplier: 2},
			},
		},
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// waitStep waits for a time after its claim.
func waitStep(name string, d core.Duration) core.StepDefinition {
	return core.StepDefinition{Name: name, Wait: &core.Wait{For: d}, OnFailure: core.OnFailureUndo}
}

func after(names ...string) func(*core.StepDefinition) {
	return func(s *core.StepDefinition) { s.After = names }
}

func grade(g core.Grade) func(*core.StepDefinition) {
	return func(s *core.StepDefinition) { s.Grade = g }
}

func failures(n int) func(*core.StepDefinition) {
	return func(s *core.StepDefinition) { s.Retry.MaxFailures = n }
}

func stopping(s *core.StepDefinition) { s.OnFailure = core.OnFailureStop }

func noReturn(s *core.StepDefinition) {
	s.PointOfNoReturn = true
	s.OnFailure = core.OnFailureStop
	s.Undo = nil
}

// workflow has an allowance of 20 s for each agent, so that a usual claim lasts 30 s.
func workflow(steps ...core.StepDefinition) *core.Definition {
	d := &core.Definition{
		Schema: 1, Name: "test", Hash: "0123456789abcdef", Steps: steps,
		Agents: map[string]core.AgentDefinition{},
		Grace:  5 * core.Second, ResendAfter: core.Minute, HopBudget: 50, Expr: &expressions{},
		Notify: []core.StatusKind{
			core.StatusCompleted, core.StatusFailed, core.StatusUndone,
			core.StatusCancelled,
		},
	}
	for i := range steps {
		if steps[i].Wait != nil {
			continue
		}
		for _, agent := range steps[i].AllAgents() {
			d.Agents[agent] = core.AgentDefinition{QueueAllowance: 20 * core.Second, ClockSkew: core.Second}
		}
	}
	d.Link()
	return d
}

// desk is a small actor around the core. It loads, decides, commits through the codec, and keeps the messages
// that it would send. It checks every decision for what holds for all decisions.
type desk struct {
	testing.TB
	def    *core.Definition
	order  []byte
	submit core.Submitted
	task   *protocol.Task // task as stored
	now    core.Time
	by     string
	waits  map[string]core.Duration
	since  core.Time // time at which the process made its queues
}

func newDesk(t testing.TB, def *core.Definition) *desk {
	return &desk{
		TB: t, def: def, order: []byte(`{"n":1}`), now: noon, by: "scheduler-1",
		submit: core.Submitted{
			OrderID: orderID, Workflow: def.Name, ContentHash: "c0ffee",
			KnownHash: "c0ffee", ReplyTo: "shop",
		},
	}
}

// begun returns a desk with a submitted order.
func begun(t testing.TB, steps ...core.StepDefinition) *desk {
	t.Helper()
	d := newDesk(t, workflow(steps...))
	d.decide(d.submit)
	return d
}

func (d *desk) at() protocol.At {
	at := protocol.At{Now: d.now, By: d.by, Waits: d.waits, QueuesSince: d.since}
	if d.task != nil { // the test sends the effects of each decision at once
		at.Told = d.task.StatusSeq
	}
	return at
}

func (d *desk) wait(by core.Duration) { d.now = d.now.Add(by) }

// try decides without a commit.
func (d *desk) try(ev core.Event) (protocol.Decision, error) {
	d.Helper()
	def := d.def
	if d.task != nil && d.task.IsTombstone() {
		def = nil
	}
	eachSlice(reflect.ValueOf(d.task), func(s reflect.Value) reflect.Value { // a copy with room for more
		return reflect.Append(s.Slice3(0, s.Len(), s.Len()), reflect.Zero(s.Type().Elem())).Slice(0, s.Len())
	})
	before := snapshot(d.task)
	dec, err := protocol.Decide(def, d.order, d.task, ev, d.at())
	require.Equal(d, before, snapshot(d.task))
	// Another decision on the same document would write to the same place.
	eachSlice(reflect.ValueOf(d.task), func(s reflect.Value) reflect.Value {
		require.True(d, s.Slice(0, s.Cap()).Index(s.Len()).IsZero(), "%s appends to a slice of the document", name(ev))
		return s
	})
	if err == nil {
		require.NoError(d, faultOf(d.def, d.task, dec, ev))
		without, err := protocol.Decide(def, nil, d.task, ev, d.at())
		if without.Task != nil && d.task == nil {
			without.Task.Order = dec.Task.Order
		}
		if !errors.Is(err, core.ErrOrderNeeded) && (err != nil || snapshot(without) != snapshot(dec)) {
			d.Fatalf("%s decides otherwise without the order: %v", name(ev), err)
		}
	}
	return dec, err
}

// eachSlice replaces each slice of a document that is not empty by the result of f.
func eachSlice(v reflect.Value, f func(s reflect.Value) reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachSlice(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			eachSlice(v.Field(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			eachSlice(value, f)
			v.SetMapIndex(key, value)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachSlice(v.Index(i), f)
		}
		if v.Len() > 0 {
			v.Set(f(v))
		}
	}
}

// decide decides and commits. It neither sends nor settles.
func (d *desk) decide(ev core.Event) protocol.Decision {
	d.Helper()
	dec, err := d.try(ev)
	require.NoError(d, err)
	if dec.Changed {
		d.commit(dec.Task)
	}
	return dec
}

// decideAll decides several events in turn and returns the last decision.
func (d *desk) decideAll(events ...core.Event) (last protocol.Decision) {
	d.Helper()
	for _, ev := range events {
		last = d.decide(ev)
	}
	return last
}

func (d *desk) commit(t *protocol.Task) {
	d.Helper()
	next := *t
	next.Version = 1
	if d.task != nil {
		next.Version = d.task.Version + 1
	}
	d.task = stored(d, &next)
}

// settle commits a Settle after a decision whose end was reported completely (P11).
func (d *desk) settle(dec protocol.Decision) {
	d.Helper()
	require.True(d, settles(d.def, dec), "it has not reported all of the end: %s", brief(dec.Effects))
	d.commit(protocol.Settled(d.task))
}

// sweep acts as the Supervisor: it decides every overdue event, each on the task that the one before left.
func (d *desk) sweep(backlog ...string) (all []core.Effect) {
	d.Helper()
	events := protocol.SweepEvents(d.def, d.task, d.now)
	if len(events) == 0 {
		if pushed, moved := protocol.Push(d.task); moved {
			d.commit(pushed)
		}
		return nil
	}
	for _, ev := range events {
		if o, ok := ev.(core.Overdue); ok {
			if slices.Contains(backlog, o.Step) {
				o.Queue = core.QueueHeld
			}
			ev = o
		}
		all = append(all, d.decide(ev).Effects...)
	}
	return all
}

// stored returns the task as the state store would return it.
func stored(t testing.TB, task *protocol.Task) *protocol.Task {
	t.Helper()
	b, err := state.EncodeTask(task)
	require.NoError(t, err)
	got, err := state.DecodeTask(b)
	require.NoError(t, err)
	if len(got.Steps) == 0 {
		got.Steps = nil
	}
	require.Equal(t, task, got)
	return got
}

func snapshot(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// faultOf checks a decision for what holds for every decision.
func faultOf(def *core.Definition, before *protocol.Task, dec protocol.Decision, ev core.Event) error {
	switch {
	case dec.Changed == (dec.Ignored != ""):
		return fmt.Errorf("changed is %v and the reason for ignoring it %q: exactly one is meant",
			dec.Changed, dec.Ignored)
	case !dec.Changed && dec.Task != before:
		return errors.New("nothing changed, and yet it answers another task")
	case supervises(ev) && slices.ContainsFunc(dec.Effects, isRequest):
		return fmt.Errorf("P16: the Supervisor asks an agent: %s", brief(dec.Effects))
	case supervises(ev) && slices.ContainsFunc(dec.Effects, isStatus):
		return fmt.Errorf("P11: the Supervisor reports a status: %s", brief(dec.Effects))
	case !dec.Changed:
		return nil
	}
	if cause := unknownCause(before, dec.Task); cause != "" {
		return fmt.Errorf("P4: the document does not list the cause %q", cause)
	}
	return faultOfTask(def, dec.Task)
}

// settles reports whether a decision reports all of the present end (P11).
func settles(def *core.Definition, dec protocol.Decision) bool {
	return protocol.Settles(def, orEmpty(dec.Task), dec.Effects)
}

func orEmpty(t *protocol.Task) *protocol.Task {
	if t == nil {
		return &protocol.Task{}
	}
	return t
}

// faultOfTask checks a document, before it is stored, for what holds for every document.
func faultOfTask(def *core.Definition, t *protocol.Task) error {
	live := liveTime(t)
	bucket, at := protocol.Index(t)
	switch {
	case protocol.Live(t) != live:
		return fmt.Errorf("P9: the earliest live time is %s, the core says %s", live, protocol.Live(t))
	case t.AtRest() != (live == 0):
		return fmt.Errorf("P9: at rest is %v and the earliest live time %q (%s)", t.AtRest(), live,
			t.ProcessState)
	case live != 0 && (bucket != "due" || at > live):
		return fmt.Errorf("invariant 21: indexed in %q at %s, the earliest live time is %s", bucket, at, live)
	case live == 0 && t.ProcessState == core.Error && (bucket != "attention" || at != t.End.At):
		return fmt.Errorf("P9: a reported Error belongs into attention, not into %q at %s", bucket, at)
	case live == 0 && t.ProcessState != core.Error && bucket != "":
		return fmt.Errorf("P9: an end that was reported stands in %q", bucket)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if (s.Claim.By != "") != s.InFlight() {
			return fmt.Errorf("invariant 16: step %s is %s and locked by %q", s.Name, s.State, s.Claim.By)
		}
		if s.InFlight() && (s.CompleteBy == 0 || s.Claim.StopBy < s.CompleteBy || s.Claim.Cause == "") {
			return fmt.Errorf("P6: step %s is in flight until %q, hard %q, because of %q", s.Name,
				s.CompleteBy, s.Claim.StopBy, s.Claim.Cause)
		}
		if t.ProcessState == core.Error && !s.InFlight() && (s.Wait.At != 0 && s.State != core.Waiting ||
			s.CompleteBy != 0) {
			return fmt.Errorf("P9: step %s, which is %s, has times in Error", s.Name, s.State)
		}
		if (t.ProcessState == core.Processing || t.ProcessState == core.Compensating) &&
			s.Failures.Queued > 0 &&
			s.Failures.Queued >= def.Steps[i].MaxQueueTime {
			return fmt.Errorf("P32: requests of step %s have waited for %s, and it goes on", s.Name,
				s.Failures.Queued)
		}
		if s.Attempted() && s.State != core.Compensated &&
			(t.ProcessState == core.Compensated || t.ProcessState == core.Cancelled) {
			return fmt.Errorf("invariant 10: %s with step %s %s", t.ProcessState, s.Name, s.State)
		}
		// P42, P38
		alone := s.State == core.Compensated && s.FailureCode != "" &&
			(def.Steps[i].OnFailure == core.OnFailureContinue || s.Withdrawn != 0)
		if err := faultOfAny(def, t, i); err != nil {
			return err
		}
		if t.ProcessState == core.Processed && s.State != core.Processed && s.State != core.Skipped &&
			!alone {
			return fmt.Errorf("invariant 7: Processed with step %s %s", s.Name, s.State)
		}
	}
	return nil
}

// faultOfAny checks that no more members end well than decide (P54).
func faultOfAny(def *core.Definition, t *protocol.Task, i int) error {
	if i >= len(def.Steps) || def.Steps[i].Any == nil || t.ProcessState != core.Processing {
		return nil
	}
	wins := 0
	for _, m := range def.Members(i) {
		if t.Steps[m].State == core.Processed && t.Steps[m].Withdrawn == 0 {
			wins++
		}
	}
	if enough := def.Steps[i].Any.Enough; wins > enough {
		return fmt.Errorf("P54: %d members of step %s have ended well, and %d decide", wins, t.Steps[i].Name, enough)
	}
	return nil
}

// liveTime returns the earliest of the live times that P9 lists, or zero if there is none.
func liveTime(t *protocol.Task) core.Time {
	times := []core.Time{t.ResendTime()}
	if t.ProcessState == core.Processing {
		times = append(times, t.Deadline.At)
	}
	for _, s := range t.Steps {
		if t.ProcessState == core.Processing {
			times = append(times, s.LateAt(), s.RemindAt())
		}
		moving := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
		switch s.State {
		case core.Processing, core.Compensating:
			times = append(times, s.CompleteBy)
		case core.Pending, core.Waiting, core.Settling, core.Failed, core.UndoWait:
			if moving {
				times = append(times, s.CompleteBy)
			}
		}
	}
	times = slices.DeleteFunc(times, func(t core.Time) bool { return t == 0 })
	if len(times) == 0 {
		return 0
	}
	return slices.Min(times)
}

func supervises(ev core.Event) bool {
	switch ev.(type) {
	case core.Overdue, core.DeadlinePassed, core.StepLate, core.ResendDue:
		return true
	}
	return false
}

func isRequest(e core.Effect) bool {
	_, ok := e.(core.SendRequest)
	return ok
}

func isStatus(e core.Effect) bool {
	_, ok := e.(core.SendStatus)
	return ok
}

func requests(effects []core.Effect) (all []core.SendRequest) {
	for _, e := range effects {
		if r, ok := e.(core.SendRequest); ok {
			all = append(all, r)
		}
	}
	return all
}

// brief returns the short forms of effects: "do a/1", "undo a/2", "wake a/1", "wake", "settle",
// "completed#3", "alert forward".
func brief(effects []core.Effect) string {
	words := make([]string, len(effects))
	for i, e := range effects {
		switch e := e.(type) {
		case core.SendRequest:
			words[i] = fmt.Sprintf("%s %s/%d", e.Operation, e.Step, e.Attempt)
		case core.SendWake:
			words[i] = fmt.Sprintf("wake %s/%d", e.Step, e.Attempt)
			if e.Step == "" {
				words[i] = "wake"
			}
		case core.SendSettle:
			words[i] = "settle"
		case core.SendStatus:
			words[i] = fmt.Sprintf("%s#%d", e.Status.Kind, e.Status.Seq)
		case core.RaiseAlert:
			words[i] = "alert " + string(e.Phase)
		}
	}
	return strings.Join(words, ", ")
}

// states returns the states of the task and of its steps: "Processing: a Processing/1, b Pending/0".
func states(t *protocol.Task) string {
	words := make([]string, len(t.Steps))
	for i := range t.Steps {
		words[i] = fmt.Sprintf("%s %s/%d", t.Steps[i].Name, t.Steps[i].State, t.Steps[i].Attempt)
	}
	state := string(t.ProcessState)
	if t.ProcessState == core.Error {
		state += " " + string(t.Phase)
	}
	return state + ": " + strings.Join(words, ", ")
}

// expect compares the effects of a decision, and the task after it, with their short forms.
func (d *desk) expect(effects []core.Effect, wantStates, wantEffects string) {
	d.Helper()
	require.Equal(d, wantStates, states(d.task))
	require.Equal(d, wantEffects, brief(effects))
}

// refused decides a command that must be refused.
func (d *desk) refused(ev core.Event) {
	d.Helper()
	before := states(d.task)
	dec := d.decide(ev)
	require.NotNil(d, dec.Verdict)
	require.False(d, dec.Verdict.Accepted)
	require.NotEmpty(d, dec.Verdict.Reason)
	require.Empty(d, dec.Effects)
	require.Equal(d, before, states(d.task))
}

// ignored decides an event that must change nothing, and returns the effects that it emits again.
func (d *desk) ignored(ev core.Event) []core.Effect {
	d.Helper()
	dec := d.decide(ev)
	require.False(d, dec.Changed, "%s must change nothing, and led to %s", name(ev), states(d.task))
	return dec.Effects
}

func name(ev core.Event) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", ev), "core.") + snapshot(ev)
}

func reply(step string, run, attempt int, op core.Operation, outcome core.Outcome) core.Reply {
	r := core.Reply{Step: step, Run: run, Attempt: attempt, Operation: op, Outcome: outcome}
	switch outcome {
	case core.OutcomeDone:
		if op == core.Do {
			r.Output = json.RawMessage(fmt.Sprintf(`{"of":%q}`, step))
		}
	case core.OutcomeFailed:
		r.Code = "refused"
		r.Message = "the service refused"
	default:
		r.Code = "http-503"
		r.Message = "the service is not well"
	}
	return r
}

func done(step string, attempt int) core.Reply {
	return reply(step, 0, attempt, core.Do, core.OutcomeDone)
}

func failed(step string, attempt int) core.Reply {
	return reply(step, 0, attempt, core.Do, core.OutcomeFailed)
}

func later(step string, attempt int) core.Reply {
	return reply(step, 0, attempt, core.Do, core.OutcomeRetryLater)
}

// coded returns a reply with another code.
func coded(r core.Reply, code string) core.Reply {
	r.Code = code
	r.Message = "no call was made"
	return r
}

func undone(step string, attempt int) core.Reply {
	return reply(step, 0, attempt, core.UndoOp, core.OutcomeDone)
}

func undoFailed(step string, attempt int) core.Reply {
	return reply(step, 0, attempt, core.UndoOp, core.OutcomeFailed)
}
func wake(step string, attempt int) core.Wake { return core.Wake{Step: step, Attempt: attempt} }
func overdue(step string, attempt int) core.Overdue {
	return core.Overdue{Step: step, Attempt: attempt}
}

func cancel(id string) core.Command { return core.Command{Name: core.Cancel, OrderID: orderID, ID: id} }
