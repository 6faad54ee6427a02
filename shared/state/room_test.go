package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// full is a task under random events, its outputs near what a document holds.
type full struct {
	t        *rapid.T
	def      *core.Definition
	room     protocol.SizeLimit
	task     *protocol.Task
	now      core.Time
	n        int
	reported map[int]string // statuses by number

	closed     bool // a child that was to be undone
	unmeasured bool // what is decided now
}

type noInput struct{ output json.RawMessage }

func (noInput) Value(part core.Part, _ int, _ core.Environment) (json.RawMessage, error) {
	switch part {
	case core.PartInput:
		return json.Marshal(core.Question{
			Who: persons(), Need: new(core.Whole(len(persons()))),
			NotSelf: new(strings.Repeat("x", 128)),
		})
	case core.PartEnough:
		return json.Marshal(items / 2)
	case core.PartReminder:
		return nil, errors.New(worst)
	case core.PartChildOrder:
		return json.RawMessage(`{}`), nil
	}
	return nil, nil
}
func (noInput) InputReads(int) []string                     { return nil }
func (noInput) CheckOrder(json.RawMessage) error            { return nil }
func (noInput) CheckPassed(int, int, json.RawMessage) error { return nil }
func (noInput) CheckAnswer(int, json.RawMessage) error      { return nil }

func (noInput) Items(_ int, _ core.Environment, item func(int, json.RawMessage)) (int, error) {
	for i := range items {
		item(i, json.RawMessage(`{}`))
	}
	return items, nil
}

// Holds refuses the second value of an approval, and a third of all events.
func (noInput) Holds(part core.Part, _ int, env core.Environment) (bool, error) {
	return part != core.PartRefuse || bytes.HasPrefix(env.Value, []byte(`"w`)) || len(env.Value)%3 == 0, nil
}
func (e noInput) Output(core.Environment) (json.RawMessage, error) { return e.output, nil }

// persons are as many as may answer, with the longest names.
func persons() (all []string) {
	for i := range core.MaxVoters {
		all = append(all, fmt.Sprintf("%0128d", i))
	}
	return all
}

// items is how many children a step has: more than run at once, and their outputs can be collected.
const items = 110

func text(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }

var worst = strings.Repeat("\x01", 600) // each byte takes six

func newFull(t *rapid.T) *full {
	retry := core.Retry{
		MaxFailures: rapid.IntRange(1, 3).Draw(t, "failures"),
		Backoff:     core.Backoff{Initial: core.Second, Max: core.Minute, Multiplier: 2},
	}
	def := &core.Definition{
		Schema: 1, Name: "full",
		Agents: map[string]core.AgentDefinition{"a": {
			QueueAllowance: 20 * core.Second,
			ClockSkew:      core.Second,
		}},
		Grace: 5 * core.Second, ResendAfter: 30 * core.Second, HopBudget: 500, Output: json.RawMessage(`{}`),
		Expr: noInput{text(rapid.IntRange(0, 32_000).Draw(t, "output"))},
	}
	def.Notify = []core.StatusKind{
		core.StatusStarted, core.StatusStepFinished, core.StatusCompleted,
		core.StatusFailed, core.StatusUndone, core.StatusCancelled,
	}
	if rapid.Bool().Draw(t, "quiet") {
		def.Notify = nil
	}
	for i := range rapid.SampledFrom([]int{1, 2, 5, 20}).Draw(t, "steps") {
		s := core.StepDefinition{
			Name: fmt.Sprintf("step-%d-%s", i, strings.Repeat("n", 30)), Agent: "a",
			Others: []string{strings.Repeat("b", 40), "c"}[:i%3], Timeout: 10 * core.Second,
			MaxQueueTime: core.Day, Retry: retry,
			OnFailure: core.OnFailureUndo, Grade: core.Fenced,
			Undo: &core.Undo{Operation: "u", Timeout: 10 * core.Second, Retry: retry},
		}
		if rapid.IntRange(0, 9).Draw(t, "stops") == 0 {
			s.OnFailure = core.OnFailureStop
		}
		if i > 0 && rapid.Bool().Draw(t, "after") {
			s.After = []string{def.Steps[i-1].Name}
		}
		def.Steps = append(def.Steps, ofKind(t, i, s))
	}
	if rapid.IntRange(0, 2).Draw(t, "any") == 0 {
		def.Steps = append(anyOf(t, retry), def.Steps...)
	}
	if last := &def.Steps[len(def.Steps)-1]; rapid.Bool().Draw(t, "point of no return") {
		last.PointOfNoReturn = true
		last.Undo = nil
	}
	def.Link()
	f := &full{
		t: t, def: def, now: 1_800_000_000_000, reported: map[int]string{},
		room: state.New(state.Config{Store: memory.NewStore(1)}).Room(),
	}
	return f
}

// anyOf returns members of any kind, and the step that ends with the first of them (P54).
func anyOf(t *rapid.T, retry core.Retry) (steps []core.StepDefinition) {
	group := core.StepDefinition{
		Name: "group" + strings.Repeat("g", 20), Any: &core.Any{Enough: rapid.IntRange(1, 3).Draw(t, "enough")},
		OnFailure: rapid.SampledFrom([]core.Policy{
			core.OnFailureUndo, core.OnFailureStop, core.OnFailureContinue,
		}).Draw(t, "policy"),
	}
	for n := range 3 {
		group.Any.Members = append(group.Any.Members, fmt.Sprint("member-", n))
		m := ofKind(t, 1, core.StepDefinition{
			Name: core.MemberName(group.Name, group.Any.Members[n]), Agent: "a", Timeout: 10 * core.Second,
			MaxQueueTime: core.Day, Retry: retry, Grade: core.Idempotent,
			Undo: &core.Undo{Operation: "u", Timeout: 10 * core.Second, Retry: retry},
		})
		m.OnFailure = core.OnFailureContinue
		if group.OnFailure == core.OnFailureStop {
			m.OnFailure = core.OnFailureStop
		}
		if m.Fail != nil {
			m = core.StepDefinition{Name: m.Name, OnFailure: m.OnFailure, Wait: &core.Wait{For: core.Hour}}
		}
		steps = append(steps, m)
	}
	return append(steps, group)
}

// ofKind makes a step of any kind of a call.
func ofKind(t *rapid.T, i int, s core.StepDefinition) core.StepDefinition {
	switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); kind {
	case 0, 1:
		return answerStep(s, kind == 0)
	case 2, 3: // P40; one is enough, and slow
		if i > 0 || kind == 3 && rapid.Bool().Draw(t, "no children") {
			return s
		}
		each := &core.Each{
			Workflow: "leaf", Definition: strings.Repeat("d", 32),
			Order: json.RawMessage(`{}`), Concurrency: core.MaxConcurrency, Tolerate: 50, Collect: kind == 2,
		}
		if rapid.Bool().Draw(t, "passes") { // P56
			each.Events = []core.PassedEvent{{Name: "passed"}}
		}
		if rapid.Bool().Draw(t, "enough children") { // P54
			each.Tolerate = 0
			each.Enough = json.RawMessage(`1`)
		}
		return core.StepDefinition{
			Name: s.Name, After: s.After, OnFailure: s.OnFailure,
			Input: json.RawMessage(`[]`), Each: each,
		}
	case 4: // P34
		return core.StepDefinition{
			Name: s.Name, After: s.After, OnFailure: s.OnFailure,
			Wait: &core.Wait{For: core.Hour},
		}
	case 5: // P50
		return core.StepDefinition{
			Name: s.Name, After: s.After, OnFailure: s.OnFailure,
			Fail: &core.Fail{Code: strings.Repeat("f", 128), Message: worst},
		}
	case 6: // P43
		s.MaxDuration = 5 * core.Minute
	case 7: // P42
		s.OnFailure = core.OnFailureContinue
	case 8: // P45
		s.PollFor = core.Hour
	case 9, 10: // P58
		s.Deadline = core.Minute
		s.OnDeadline = []core.Policy{core.OnFailureContinue, s.OnFailure}[kind-9]
	case 11: // P59; its input fails
		s.Remind = &core.Remind{
			After: core.Second, Every: core.Minute, Agent: "a", Operation: "tell", Timeout: core.Second,
			Input: json.RawMessage(`{}`),
		}
	}
	return s
}

// answerStep waits for an answer: an approval with the longest values, or an event.
func answerStep(of core.StepDefinition, approval bool) core.StepDefinition {
	s := core.StepDefinition{
		Name: of.Name, After: of.After, OnFailure: of.OnFailure, Timeout: core.Hour,
		Input: json.RawMessage(`{}`), Answer: &core.Answer{
			Event: "bought", TimeoutValue: text(100), Refuse: "refused", Attempts: core.MaxAttempts,
		},
	}
	if approval {
		s.Answer = &core.Answer{
			Values:    []string{strings.Repeat("v", 64), strings.Repeat("w", 64)},
			OnTimeout: core.OnFailureStop, Refuse: "refused", Attempts: 2,
		}
	}
	return s
}

// decide takes an event, and sees that what it leads to can be stored, and was not reported otherwise before.
func (f *full) decide(ev core.Event) *protocol.Task {
	f.t.Helper()
	at := protocol.At{Now: f.now, By: strings.Repeat("i", 60), SizeLimit: f.room}
	if f.task != nil {
		at.Told = f.task.StatusSeq
	}
	d, err := protocol.Decide(f.def, []byte(`{}`), f.task, ev, at)
	var refusal *core.Refusal
	switch {
	case errors.As(err, &refusal), errors.Is(err, core.ErrStale):
		return f.task
	case err != nil:
		f.t.Fatalf("%T: %v", ev, err)
	}
	for _, e := range d.Effects {
		if s, ok := e.(core.SendStatus); ok && s.Status.Seq > 0 && s.Status.Kind != core.StatusSuperseded {
			b, _ := json.Marshal(s)
			if was, again := f.reported[s.Status.Seq]; again && was != string(b) {
				f.t.Fatalf("status %d was reported as\n%.500s and now as\n%.500s", s.Status.Seq, was, b)
			}
			f.reported[s.Status.Seq] = string(b)
		}
	}
	if !d.Changed {
		return f.task
	}
	next := *d.Task
	next.Version++
	if f.unmeasured {
		return &next
	}
	pushed, _ := protocol.Push(&next)
	for what, task := range map[string]*protocol.Task{
		"it": &next, "pushed": pushed,
		"settled": protocol.Settled(&next),
	} {
		n := sizeOf(task)
		require.LessOrEqual(f.t, n, port.MaxDocument, what)
		require.NotZero(f.t, n, what)
	}
	return &next
}

// event is one of those that the table knows, mostly of an attempt that is under way.
func (f *full) event() core.Event {
	f.n++
	draw := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(f.t, what) }
	s := &f.task.Steps[draw("step", len(f.task.Steps))]
	for i := range f.task.Steps {
		if s.InFlight() || draw("any", 40) == 0 {
			break
		}
		s = &f.task.Steps[i]
	}
	id := fmt.Sprintf("%0128d", f.n)
	if a := f.def.Steps[f.def.Index(s.Name)].Answer; a != nil && draw("answered", 4) > 0 {
		return f.answer(s, a, id, draw)
	}
	if e := f.def.Steps[f.def.Index(s.Name)].Each; e != nil && e.Events != nil && draw("passed", 4) == 0 {
		return core.Answered{
			ID: id, Run: f.task.Run, Name: "passed", By: persons()[0], Value: text(draw("size", 9000)), Note: worst[:512],
		}
	}
	if c := s.Children; c != nil && len(c.Open) > 0 && draw("child", 5) > 0 {
		states := []core.ChildState{
			core.ChildProcessed, core.ChildProcessed, core.ChildProcessed,
			core.ChildCompensated, core.ChildError, core.ChildClosed, core.ChildExpired, core.ChildRefused,
		}
		return f.childEnded(s, c.Open[draw("open", len(c.Open))].Index, states[draw("state", len(states))],
			draw("output", 1200))
	}
	if s.InFlight() && f.def.Steps[f.def.Index(s.Name)].MaxDuration > 0 && draw("progress", 2) == 0 {
		return core.Progress{
			Step: s.Name, Run: f.task.Run, Attempt: s.Attempt, Operation: core.Do,
			Percent: 100, Note: worst, Until: f.now + core.Time(draw("until", 100_000)),
		}
	}
	switch kind := draw("event", 24); kind {
	case 0:
		return core.Command{Name: core.Cancel, OrderID: f.task.OrderID, ID: id, Run: f.task.Run}
	case 1:
		return core.Command{Name: core.UndoCommand, ID: id, Number: f.task.Commands.Number - draw("old", 2)}
	case 2, 3:
		return core.Command{
			Name: core.Resubmit,
			ID:   id, Number: f.task.Commands.Number - draw("old", 2),
			Deadline: core.Time(draw("deadline", 2)) * (f.now + 500_000),
		}
	case 4:
		return core.Command{
			Name: core.Resolve,
			ID:   id, Number: f.task.Commands.Number, Step: s.Name,
			Fact: []core.Fact{core.Happened, core.NotHappened, core.Undone}[draw("fact", 3)],
		}
	case 5:
		return core.Settle{}
	case 6:
		return core.ResendDue{}
	case 7:
		return core.DeadlinePassed{Run: f.task.Run}
	case 8:
		return core.Submitted{OrderID: f.task.OrderID, ContentHash: f.task.ContentHash}
	case 9, 10:
		f.now = max(f.now, s.CompleteBy)
		return core.Overdue{Step: s.Name, Attempt: s.Attempt, Queue: core.QueueState(draw("queue", 3))}
	case 13:
		f.now = max(f.now, s.LateAt())
		return core.StepLate{Step: s.Name, Run: f.task.Run, Seq: s.Late.Seq}
	case 11, 12:
		f.now = max(f.now, s.Wait.At, s.RemindAt())
		return core.Wake{Step: s.Name, Run: f.task.Run, Attempt: s.Attempt}
	default:
		return f.reply(s, draw)
	}
}

func (f *full) childEnded(s *protocol.Step, index int, state core.ChildState, output int) core.Event {
	e := core.ChildEnded{Parent: core.Parent{
		OrderID: f.task.OrderID, Run: f.task.Run, Step: s.Name,
		Index: index, Attempt: s.Attempt,
	}, State: state, Output: text(output)}
	if state != core.ChildProcessed {
		e.Output = nil
		e.Code = worst
		e.Message = worst
	}
	return e
}

// answer is right or wrong, by one of as many as may answer.
func (f *full) answer(s *protocol.Step, a *core.Answer, id string, draw func(string, int) int) core.Event {
	ev := core.Answered{
		ID: id, Run: f.task.Run, Step: s.Name, Round: 1,
		By: persons()[draw("by", core.MaxVoters)],
	}
	if s.Answers != nil {
		ev.Round = s.Answers.Round
	}
	switch {
	case a.Event == "":
		ev.Value, _ = json.Marshal(append(a.Values, "no")[draw("value", 3)])
	case draw("large", 2) == 0:
		ev.Value = text(8000)
	default:
		ev.Value = text(draw("size", 9000))
	}
	return ev
}

// reply of a failure says noEffect, which counts for a point of no return.
func (f *full) reply(s *protocol.Step, draw func(string, int) int) core.Event {
	r := core.Reply{
		Step: s.Name, Run: f.task.Run, Attempt: s.Attempt, Operation: core.Do,
		Outcome: core.OutcomeDone,
	}
	if s.Claim.Undo {
		r.Operation = core.UndoOp
	}
	switch draw("outcome", 8) {
	case 0:
		r.Outcome = core.OutcomeFailed
		r.Code = worst
		r.Message = worst
		r.NoEffect = true
	case 1:
		r.Outcome = core.OutcomeRetryLater
		r.Code = worst
		r.Message = worst
		r.NoEffect = true
	case 2:
		r.Outcome = core.OutcomeRetryLater
		r.Code = core.CodeUnauthorized
		r.Message = worst
		r.NoEffect = true
	default:
		left := max(0, port.MaxDocument-sizeOf(f.task))
		switch draw("size", 4) {
		case 0:
			r.Output = text(min(left, 260_000)) // all that is left, or more
		case 1:
			r.Output = text(left / (1 + draw("share", len(f.task.Steps))))
		case 2:
			r.Output = text(max(0, left-draw("less", 20_000)))
		default:
			r.Output = text(draw("some", 3000))
		}
	}
	return r
}

// fill lets some steps end, and gives the next one the largest output that is kept.
func (f *full) fill() {
	for left := rapid.IntRange(0, len(f.task.Steps)-1).Draw(f.t, "before"); ; left-- {
		i := slices.IndexFunc(f.task.Steps, func(s protocol.Step) bool { return s.State == core.Processing })
		if i < 0 {
			return
		}
		s := f.task.Steps[i]
		r := core.Reply{
			Step: s.Name, Attempt: s.Attempt, Operation: core.Do, Outcome: core.OutcomeDone,
			Output: text(10),
		}
		if left > 0 {
			f.task = f.decide(r)
			continue
		}
		n := sort.Search(port.MaxDocument, func(n int) bool {
			r.Output = text(n)
			d, err := protocol.Decide(f.def, []byte(`{}`), f.task, r,
				protocol.At{Now: f.now, SizeLimit: f.room})
			return err != nil || d.Task.Step(s.Name).State != core.Processed
		})
		if n == 0 { // nothing more fits: its failure is what is stored
			return
		}
		r.Output = text(n - 1)
		f.task = f.decide(r)
		return
	}
}

// drain fails every attempt once, with the longest texts, and refuses commands wherever it stops,
// until the order has ended.
func (f *full) drain() {
	f.voteAll()
	for _, receiver := range []string{"r", "s"} { // neither the reply-to nor the bus gets a status
		f.task = f.decide(core.Unsent{ReplyTo: strings.Repeat(receiver, 128), First: 1, Reason: worst})
	}
	failed := map[string]bool{}
	for n := 0; !f.task.Terminal(); n++ {
		require.LessOrEqual(f.t, n, 500, "it never ends")
		f.now += 200_000
		if f.task.ProcessState == core.Error && !f.task.InFlight() {
			f.n++
			for i := range 9 {
				f.task = f.decide(core.Command{
					Name:   core.Resubmit,
					ID:     fmt.Sprintf("%0126d-%d", f.n, i),
					Number: f.task.Commands.Number + 1, Sender: core.Sender{By: worst[:128], Reason: worst},
				})
			}
			f.task = f.decide(core.Command{
				Name:   core.UndoCommand,
				ID:     fmt.Sprintf("%0128d", f.n),
				Number: f.task.Commands.Number,
				Sender: core.Sender{By: worst[:128], Reason: worst},
			})
			if f.task.ProcessState == core.Error { // past its point of no return
				f.task = f.decide(core.Command{
					Name: core.Close,
					ID:   fmt.Sprintf("%0127d-", f.n), Number: f.task.Commands.Number,
					Sender: core.Sender{By: worst[:128], Reason: worst},
				})
			}
			if f.task.Terminal() { // it is closed; else its children have to end first
				break
			}
		}
		for _, s := range f.task.Steps {
			r := core.Reply{
				Step: s.Name, Run: f.task.Run, Attempt: s.Attempt, Operation: core.Do,
				Outcome: core.OutcomeRetryLater, Code: worst, Message: worst,
			}
			if s.Claim.Undo {
				r.Operation = core.UndoOp
			}
			if s.Children != nil {
				f.endChildren(s.Name)
				continue
			}
			switch {
			case !s.InFlight():
				if s.Attempt > 0 {
					f.task = f.decide(core.Wake{Step: s.Name, Run: f.task.Run, Attempt: s.Attempt})
				}
				continue
			case s.Claim.Undo && failed[s.Name]:
				r.Outcome = core.OutcomeDone
			case s.Claim.Undo:
				failed[s.Name] = true
			}
			f.task = f.decide(r)
		}
	}
}

// endChildren ends those that run, and undoes those that are to be undone, of which one was closed by hand.
func (f *full) endChildren(step string) {
	for n, o := range slices.Clone(f.task.Step(step).Children.Open) {
		s := f.task.Step(step)
		f.unmeasured = n > 0 && n%20 != 0 // it takes time
		if s.Claim.Undo && !f.closed {
			f.closed = true
			f.task = f.decide(f.childEnded(s, o.Index, core.ChildClosed, 0))
		}
		f.task = f.decide(f.childEnded(f.task.Step(step), o.Index, core.ChildCompensated, 0))
	}
	f.unmeasured = false
	if s := f.task.Step(step); s.State == core.Waiting {
		f.task = f.decide(core.Wake{Step: step, Run: f.task.Run, Attempt: s.Attempt})
	}
}

// voteAll lets all who may answer do so, one half of them otherwise than the other, so that nothing is
// decided.
func (f *full) voteAll() {
	for i := range f.def.Steps {
		d := &f.def.Steps[i]
		s := &f.task.Steps[i]
		if d.Answer == nil || s.State != core.Waiting || f.task.ProcessState != core.Processing {
			continue
		}
		for n, by := range persons() {
			f.n++
			ev := core.Answered{
				ID: fmt.Sprintf("%0128d", f.n), Run: f.task.Run, Step: s.Name,
				Round: s.Answers.Round, By: by, Value: text(8000),
			}
			if d.Answer.Event == "" {
				ev.Value, _ = json.Marshal(d.Answer.Values[n%2])
			}
			f.task = f.decide(ev)
		}
	}
}

// P28: what was stored once always accepts what comes next, however full its document is, whatever kinds its
// steps are of.
func TestAStoredTaskAcceptsEveryEvent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFull(rt)
		f.task = f.decide(core.Submitted{
			OrderID: strings.Repeat("o", 128), Workflow: "full",
			ContentHash: strings.Repeat("c0", 32), ReplyTo: "shop", Deadline: f.now + 1_000_000,
		})
		for range rapid.IntRange(0, 60).Draw(rt, "events") {
			f.now += core.Time(rapid.IntRange(0, 20_000).Draw(rt, "time"))
			f.task = f.decide(f.event())
		}
		if rapid.Bool().Draw(rt, "filled") {
			f.fill()
		}
		f.drain()
	})
}

// P28: the reserve of each kind of step has room for the longest document of that kind, but for the data of people
// and services. The texts have only control characters, which take six bytes.
func TestTheReserveHasRoomForTheLongestDocument(t *testing.T) {
	for name, change := range map[string]func(*core.StepDefinition, *protocol.Step){
		"a call": func(*core.StepDefinition, *protocol.Step) {},
		"a call that reports progress": func(d *core.StepDefinition, s *protocol.Step) {
			d.MaxDuration = core.Hour
			s.Claim.Progress = &protocol.StepProgress{Percent: 100, Note: worst[:core.MaxNote], At: born}
		},
		"a step without which the order goes on": func(d *core.StepDefinition, s *protocol.Step) {
			d.OnFailure = core.OnFailureContinue
			s.FailureCode = strings.Repeat("x", core.MaxCode)
		},
		"the first of several": func(d *core.StepDefinition, s *protocol.Step) {
			d.Any = &core.Any{}
			for range 10 {
				d.Any.Members = append(d.Any.Members, strings.Repeat("m", 36))
			}
			s.Won = d.Any.Members
			s.State = core.Compensated
		},
		"a step with a deadline": func(d *core.StepDefinition, s *protocol.Step) {
			d.Deadline = core.Day
			s.Late = protocol.Late{At: born, Seq: many}
			s.Withdrawn = born
			s.FailureCode = strings.Repeat("x", core.MaxCode)
		},
		"a step with reminders": func(d *core.StepDefinition, s *protocol.Step) {
			d.Remind = &core.Remind{}
			s.Reminded = protocol.Reminded{N: many, At: born, Next: born, Moved: true, Unsent: worst[:core.MaxNote]}
		},
		"an approval": func(d *core.StepDefinition, s *protocol.Step) {
			value := strings.Repeat("v", 64)
			d.Answer = &core.Answer{Values: []string{value}}
			s.Answers = longestAnswers(json.RawMessage(`"`+value+`"`), core.MaxVoters)
			s.Output, _ = json.Marshal(protocol.Decided{
				Value: json.RawMessage(`"` + value + `"`), By: strings.Join(persons(), ", "), At: born,
			})
		},
		"an event": func(d *core.StepDefinition, s *protocol.Step) {
			d.Answer = &core.Answer{Event: "paid", Attempts: core.MaxAttempts}
			s.Answers = longestAnswers(text(1000), core.MaxAttempts)
			s.Output, _ = json.Marshal(protocol.Decided{Value: text(8000), By: persons()[0], At: born})
		},
		"children": func(d *core.StepDefinition, s *protocol.Step) {
			d.Each = &core.Each{Collect: true, Repeat: &core.Repeat{}}
			s.Children = longestChildren(s.Claim.Cause)
			s.Children.Results = []protocol.Collected{{Index: core.MaxChildren, Output: text(core.MaxCollected - 40)}}
		},
		"a step whose reminders and deadline a Move has removed": func(_ *core.StepDefinition, s *protocol.Step) {
			s.Reminded = protocol.Reminded{N: many, At: born, Moved: true, Unsent: worst[:core.MaxNote]}
			s.Late.Seq = many
			s.Withdrawn = born
			s.FailureCode = core.CodeLate
		},
		"children whose events and repeat a Move has removed": func(d *core.StepDefinition, s *protocol.Step) {
			d.Each = &core.Each{}
			s.Passing = &protocol.Passing{Known: slices.Repeat([]string{protocol.ShortHash("")}, 64)}
			s.Children = longestChildren(s.Claim.Cause)
		},
		"an event whose attempts a Move has made fewer": func(d *core.StepDefinition, s *protocol.Step) {
			d.Answer = &core.Answer{Event: "paid"}
			s.Answers = longestAnswers(text(0), core.MaxAttempts)
			s.Output, _ = json.Marshal(protocol.Decided{Value: text(8000), By: persons()[0], At: born})
		},
	} {
		t.Run(name, func(t *testing.T) {
			def := &core.Definition{
				Schema: 1, Name: strings.Repeat("w", core.MaxID), Tokens: true,
				Notify: []core.StatusKind{core.StatusStepFinished},
			}
			task := longestTask()
			for range 9 {
				d := core.StepDefinition{Name: strings.Repeat("n", core.MaxID), Others: []string{"b"}}
				s := longestStep(d.Name)
				change(&d, &s)
				def.Steps = append(def.Steps, d)
				task.Steps = append(task.Steps, s)
			}
			reserve := protocol.SizeLimit(protocol.Reserve(def))
			data := 0 // of people and services
			for !(reserve + protocol.SizeLimit(data)).Fits(def, task) {
				data++
			}
			left := protocol.Reserve(def) + data - sizeOf(task)
			t.Logf("%d bytes of %d are left, %d are data", left, reserve, data)
			require.GreaterOrEqual(t, left, 0)
			require.Less(t, data, 9*16_200)
			require.Less(t, left, 9*2048+8<<10, "the reserve is too large")
		})
	}
}

const many = 10_000_000

func longestTask() *protocol.Task {
	id := strings.Repeat("x", core.MaxID)
	far := born
	reason := protocol.Reason{Step: id, Code: worst[:core.MaxCode], Text: worst[:core.MaxMessage]}
	refused := map[string][]string{}
	for _, command := range []string{"cancel", "answer"} {
		refused[command] = slices.Repeat([]string{protocol.ShortHash(command)}, protocol.MaxRefused)
	}
	const most = 1<<63 - 1
	return &protocol.Task{
		OrderID: id, Version: most, Workflow: id, Definition: core.DefinitionHash(nil), TokenKey: "12345678",
		Order: text(protocol.InlineOrder - 2), Priority: "normal", ReplyTo: id,
		Parent:       &core.Parent{OrderID: id, Run: many, Step: id, Index: core.MaxChildren, Attempt: many},
		ProcessState: core.Compensating, Phase: core.Forward, Run: most,
		Commands: protocol.Commands{Number: most, Refused: refused, Verdicts: slices.Repeat([]protocol.Verdict{{
			ID: id, Command: "resubmit", Accepted: false, At: far, Reason: strings.Repeat("r", 36),
		}}, protocol.MaxVerdicts)},
		Attempts: protocol.Attempts{
			Last: slices.Repeat([]protocol.Attempt{{
				Step: id, Number: many, Undo: true, Agent: strings.Repeat("a", 64), Began: far, Ended: far,
				Outcome: core.OutcomeRetryLater, Code: strings.Repeat("c", core.MaxShortCode),
			}}, protocol.MaxAttempts),
			Earlier: protocol.Earlier{Failed: many, Later: many, Overdue: many, Superseded: many},
		},
		Hops: most, StatusSeq: most, Told: most,
		Undelivered: slices.Repeat([]core.Undelivered{{
			ReplyTo: id, First: most, Reason: worst[:core.MaxNote], Since: far, ResendAt: far,
		}}, 2),
		Start:  protocol.Start{Seq: most, At: far},
		Undo:   protocol.Reversal{Why: protocol.WhyOperator, CancelAsked: true, Reason: reason},
		Reason: reason, End: protocol.End{At: far, Seq: most, Command: most, ResendAt: far},
		Closing: &protocol.Closing{By: worst[:core.MaxID], Reason: worst[:core.MaxMessage]},
		Created: far, Deadline: protocol.Deadline{At: far, Seq: most}, Due: far, Attention: true,
	}
}

func longestStep(name string) protocol.Step {
	far := born
	cause := "reply/" + name + "/10000000/retry-later"
	return protocol.Step{
		Name: name, State: core.Compensating, Attempt: many, CompleteBy: far, EndState: core.Compensating,
		Claim: protocol.Claim{
			By: strings.Repeat("i", core.MaxName), Agent: "b", Undo: true, Cause: cause, At: far, StopBy: far,
			Allowance: 30 * 365 * core.Day,
		},
		First: protocol.First{Nth: many, At: far}, Wait: protocol.StepWait{At: far, Until: far},
		Stops:    protocol.Stops{Do: far, Undo: far},
		Failures: protocol.Failures{Do: many, Undo: many, Queued: 30 * 365 * core.Day},
		Finish:   protocol.Finish{At: far, Seq: many, Cause: cause}, NoEffect: far,
		Error: &protocol.StepError{
			Code: strings.Repeat("c", core.MaxShortCode), At: far, Attempt: many, Since: far, Polling: far,
		},
		Resolved: &core.Resolved{Fact: core.NotHappened, Command: many, At: far},
	}
}

func longestChildren(cause string) *protocol.Children {
	return &protocol.Children{
		Ends: slices.Repeat([]protocol.IterationEnd{{
			Index: core.MaxChildren, State: core.ChildCompensated, At: born,
		}}, protocol.MaxEnds),
		Count: many, Next: many, Started: many, Cursor: many, Failed: many, Stopped: true, Rounds: many,
		FailedAt: slices.Repeat([]int{core.MaxChildren}, 20), Reason: worst[:core.MaxMessage],
		Open: slices.Repeat([]protocol.OpenChild{{
			Index: core.MaxChildren, Cause: cause, State: string(core.ChildProcessed),
		}}, core.MaxConcurrency),
	}
}

func longestAnswers(value json.RawMessage, votes int) *protocol.Answers {
	name := strings.Repeat("x", core.MaxAnswerBy)
	return &protocol.Answers{
		Round: many, Need: core.MaxVoters, Who: persons(), NotSelf: name, Refused: core.MaxAttempts,
		Votes: slices.Repeat([]protocol.Vote{{
			By: name, Value: value, At: born, Passed: protocol.ShortHash(""), ID: protocol.ShortHash(""),
		}}, votes),
		Verdicts: slices.Repeat([]protocol.Verdict{{
			ID: strings.Repeat("x", core.MaxID), Command: "answer", Reason: strings.Repeat("r", 36), At: born,
		}}, protocol.MaxVerdicts),
	}
}

// P28: a workflow of 300 steps fits.
func TestThreeHundredStepsFit(t *testing.T) {
	def := &core.Definition{Notify: []core.StatusKind{core.StatusStepFinished}}
	for i := range 300 {
		def.Steps = append(def.Steps, core.StepDefinition{Name: fmt.Sprintf("%032d", i)})
	}
	require.LessOrEqual(t, protocol.Reserve(def), port.MaxDocument)
}

// A document with no room to spare: the workflow's output is dropped, a verdict says no reason, and
// says the same when it is asked for again.
func TestNoRoomToSpare(t *testing.T) {
	def := &core.Definition{
		Schema: 1, Name: "full", Agents: map[string]core.AgentDefinition{"a": {}},
		Output: json.RawMessage(`{}`), Expr: noInput{text(2000)}, HopBudget: 10,
		Steps: []core.StepDefinition{{
			Name: "one", Agent: "a", Timeout: core.Second,
			Retry: core.Retry{MaxFailures: 1}, OnFailure: core.OnFailureStop,
		}},
	}
	def.Link()
	at := protocol.At{Now: 1_800_000_000_000, SizeLimit: 0}
	def.Hash = core.DefinitionHash(nil)
	at.SizeLimit = protocol.SizeLimit(protocol.Reserve(def) + 50)
	decide := func(task *protocol.Task, ev core.Event) protocol.Decision {
		t.Helper()
		d, err := protocol.Decide(def, []byte(`{}`), task, ev, at)
		require.NoError(t, err)
		require.LessOrEqual(t, sizeOf(d.Task), int(at.SizeLimit))
		return d
	}
	id := strings.Repeat("o", 128)
	begun := decide(nil, core.Submitted{
		OrderID: id, Workflow: "full", ContentHash: strings.Repeat("c0", 32),
		ReplyTo: id, Priority: "normal",
	}).Task
	reply := core.Reply{Step: "one", Attempt: 1, Operation: core.Do, Outcome: core.OutcomeDone}
	d := decide(begun, reply)
	require.Equal(t, core.Processed, d.Task.ProcessState)
	require.Nil(t, d.Task.Output)
	require.Equal(t, "output-too-large", d.Task.Reason.Code)
	at.SizeLimit = protocol.SizeLimit(protocol.Reserve(def)) // a verdict fits, and a short text
	for range 2 {
		refused := decide(begun, core.Command{Name: core.UndoCommand, ID: "c-1", Number: 5})
		again := decide(refused.Task, core.Command{Name: core.UndoCommand, ID: "c-1", Number: 5})
		if v := refused.Verdict; v.Accepted || v.Reason == "" || len(v.Reason) > 40 || *again.Verdict != *v ||
			again.Changed {
			t.Errorf("verdict %+v, then %+v", v, again.Verdict)
		}
	}
}

// tooLarge decides a done, whose output does not fit, of the last step of task.
func tooLarge(
	t *testing.T, task *protocol.Task, attempt int, steps ...core.StepDefinition,
) (protocol.Decision, *protocol.Step) {
	t.Helper()
	def := &core.Definition{
		Schema: 1, Name: "full", Agents: map[string]core.AgentDefinition{"a": {}}, HopBudget: 10, Steps: steps,
	}
	def.Link()
	task.OrderID = "o-1"
	task.Version = 4
	task.Workflow = "full"
	task.Created = now - 100_000
	last := task.Steps[len(task.Steps)-1].Name
	d, err := protocol.Decide(def, []byte(`{}`), task, core.Reply{
		Step: last, Attempt: attempt, Operation: core.Do, Outcome: core.OutcomeDone, Output: text(port.MaxDocument),
	}, protocol.At{Now: now, SizeLimit: port.MaxDocument})
	require.NoError(t, err)
	return d, d.Task.Step(last)
}

const now = 1_800_000_000_000

// P24, P28: a done whose output does not fit fails its step while the order goes forward, and is a
// fact without its output in any other. That of an earlier attempt changes nothing.
func TestDoneThatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		name      string
		task      core.State
		phase     core.Phase
		attempt   int
		step, end core.State
	}{
		{"going", core.Processing, "", 2, core.Failed, core.Compensating},
		{"going, handed back", core.Processing, "", 2, core.Failed, core.Compensating},
		{"going, an earlier attempt", core.Processing, "", 1, core.Processing, core.Processing},
		{"undoing", core.Compensating, "", 2, core.Compensating, core.Compensating},
		{"stopped", core.Error, core.Forward, 2, core.Processed, core.Error},
		{"stopped in its undo", core.Error, core.Undoing, 1, core.Processed, core.Error},
	} {
		t.Run(c.name, func(t *testing.T) {
			one := core.StepDefinition{
				Name: "one", Agent: "a", Timeout: core.Second, Grade: core.Idempotent,
				Retry: core.Retry{MaxFailures: 1}, OnFailure: core.OnFailureUndo,
				Undo: &core.Undo{Operation: "u", Retry: core.Retry{MaxFailures: 1}},
			}
			second := one
			second.Name = "two"
			task := &protocol.Task{ProcessState: c.task, Phase: c.phase, Steps: []protocol.Step{
				{
					Name: "one", State: core.Processed, Attempt: 1, First: protocol.First{Nth: 1},
					Output: text(100), Finish: protocol.Finish{At: now - 1000},
				},
				{
					Name: "two", State: core.Processing, Attempt: 2, First: protocol.First{Nth: 2, At: now - 9000},
					Claim: protocol.Claim{At: now - 9000, StopBy: now - 500}, CompleteBy: now + 9000,
					Stops: protocol.Stops{Do: now - 500},
				},
			}}
			failures := 1
			if s := &task.Steps[1]; c.name == "going, handed back" { // its attempt was counted then
				s.State = core.Pending
				s.Failures.Do = 1
				s.Wait.At = now + 1000
			} else if c.name != "going" {
				failures = 0
			}
			d, two := tooLarge(t, task, c.attempt, one, second)
			if failures == 1 && two.State == core.Compensating {
				two.State = core.Failed // its undo was claimed at once
			}
			require.Equal(t, failures, two.Failures.Do)
			require.Equal(t, c.step, two.State)
			require.Equal(t, c.end, d.Task.ProcessState)
			require.Nil(t, two.Output)
			if changed := c.attempt == 2 || c.task != core.Processing; d.Changed != changed {
				t.Errorf("changed %t: %s", d.Changed, d.Ignored)
			} else if changed && (two.Error == nil || two.Error.Code != "output-too-large" ||
				!strings.Contains(two.Error.Message, "reference")) {
				t.Errorf("error %+v", two.Error)
			}
		})
	}
}

// P22a, P28: an effect whose output does not fit takes back the proof that there was none, whichever
// attempt it is of.
func TestEffectThatDoesNotFitTakesTheProof(t *testing.T) {
	for attempt, want := range map[int]core.State{
		1: core.Processing, // the later attempt, which was refused, waits to be asked for again
		2: core.Error,      // past its point of no return
	} {
		d, pay := tooLarge(t, &protocol.Task{ProcessState: core.Processing, Steps: []protocol.Step{{
			Name: "pay", State: core.Pending, Attempt: 2, First: protocol.First{Nth: 1, At: now - 9000},
			Failures: protocol.Failures{Do: 2}, Claim: protocol.Claim{At: now - 9000},
			Wait: protocol.StepWait{At: now + 1000}, CompleteBy: now + 9000, Stops: protocol.Stops{Do: now - 500},
			NoEffect: now - 700,
		}}}, attempt, core.StepDefinition{
			Name: "pay", Agent: "a", Timeout: core.Second, Grade: core.Idempotent,
			Retry: core.Retry{MaxFailures: 3}, OnFailure: core.OnFailureUndo, PointOfNoReturn: true,
		})
		require.True(t, d.Changed, attempt)
		require.Zero(t, pay.NoEffect, attempt)
		require.Equal(t, want, d.Task.ProcessState, attempt)
	}
}

func sizeOf(t *protocol.Task) int {
	doc, _ := state.EncodeTask(t) // nil for a document that Commit refuses
	return len(doc)
}
