package protocol_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// household is a parent and its children, with the messages between them. Each message can be lost, come
// twice, late and out of order, and a process can die between a commit and its messages (P40, P41).
type household struct {
	*rapid.T
	now    core.Time
	defs   map[string]*core.Definition
	tasks  map[string]*protocol.Task
	orders map[string]json.RawMessage
	bag    []letter
	losses int // losses that may still happen

	refused  map[string]bool // keys whose do the service refuses
	standing map[string]bool // keys whose do has an effect
	fenced   map[string]bool // keys that were undone
	commands int
}

// letter is a message to a task, or a request to the service.
type letter struct {
	task    string
	event   core.Event // event of a letter; nil for a request
	request core.SendRequest
	at      core.Time // not before
}

func newHousehold(rt *rapid.T) *household {
	h := &household{
		T: rt, now: noon, tasks: map[string]*protocol.Task{}, orders: map[string]json.RawMessage{},
		losses:  rapid.IntRange(0, 4).Draw(rt, "losses"),
		refused: map[string]bool{}, standing: map[string]bool{}, fenced: map[string]bool{},
		defs: map[string]*core.Definition{},
	}
	policies := []core.Policy{core.OnFailureUndo, core.OnFailureStop, core.OnFailureContinue}
	policy := rapid.SampledFrom(policies).Draw(rt, "policy")
	child := workflow(step("x", failures(2)), step("y", after("x"), failures(2)))
	if rapid.Bool().Draw(rt, "children stop") {
		child.Steps[1].OnFailure = core.OnFailureStop
	}
	items := rapid.IntRange(0, 4).Draw(rt, "items")
	beside := step("b", failures(2))
	if rapid.Bool().Draw(rt, "b stops") {
		beside.OnFailure = core.OnFailureStop
	}
	parent := workflow(core.StepDefinition{
		Name: "all", OnFailure: policy,
		Input: json.RawMessage(`"template"`), Each: &core.Each{
			Workflow: "child", Definition: "c", Order: json.RawMessage(`"template"`),
			Concurrency: rapid.IntRange(1, 3).Draw(rt, "concurrency"),
			Tolerate:    rapid.IntRange(0, 1).Draw(rt, "tolerate"), Collect: true,
		},
	}, beside)
	if rapid.Bool().Draw(rt, "b last") {
		parent.Steps[1].After = []string{"all"}
	}
	parent.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
		0: func(core.Environment) (json.RawMessage, error) {
			return json.RawMessage(repeated(`"i"`, max(items, 1))), nil
		},
	}}
	child.Expr = &expressions{}
	child.Hash = "c"
	parent.Hash = "p"
	// Definitions for moves of both: one with one more step for children, and one that no child may get.
	newer := *child
	final := *child
	newer.Hash = "c2"
	newer.Steps = append(slices.Clone(child.Steps), step("z", after("y"), failures(3)))
	final.Hash = "c3"
	final.Steps = append(slices.Clone(child.Steps), step("z", after("y"), failures(3)))
	final.Steps[2].PointOfNoReturn = true
	moved := *parent
	each := *parent.Steps[0].Each
	moved.Hash = "p2"
	moved.Steps = slices.Clone(parent.Steps)
	each.Definition, moved.Steps[0].Each = newer.Hash, &each
	for _, def := range []*core.Definition{parent, child, &newer, &final, &moved} {
		def.Link()
		h.defs[def.Hash] = def
	}
	for _, key := range []string{
		"p/0/b", "p~all~0/0/y", "p~all~1/0/x", "p~all~1/0/y", "p~all~3/0/y",
		"p~all~0.1/0/y",
	} {
		if rapid.IntRange(0, 3).Draw(rt, "refused "+key) == 0 {
			h.refused[key] = true
		}
	}
	return h
}

func (h *household) ids() []string { return slices.Sorted(maps.Keys(h.tasks)) }

// decide lets a task decide an event, and commits. If dies is set, the process ends before it has sent
// anything. It returns the verdict of a command.
func (h *household) decide(id string, ev core.Event, dies bool) *protocol.Verdict {
	task := h.tasks[id]
	var def *core.Definition
	switch e := ev.(type) {
	case core.Submitted:
		def = h.defs["p"]
		h.orders[id] = json.RawMessage(`{}`)
	case core.AskChild:
		def = h.defs[e.Definition]
		if task == nil {
			h.orders[id] = e.Order
		} else if task.Definition != e.Definition {
			e.To, ev = def, e
		}
	}
	if task != nil {
		def = h.defs[task.Definition]
	}
	dec, err := protocol.Decide(def, h.orders[id], task, ev, protocol.At{Now: h.now, By: "s"})
	require.NoError(h, err, id)
	if dec.Changed {
		next := *dec.Task
		next.Version++
		h.tasks[id] = &next
	}
	if dies {
		return dec.Verdict
	}
	for _, e := range dec.Effects {
		h.send(e)
	}
	if settles(def, dec) {
		h.tasks[id] = protocol.Settled(h.tasks[id])
	}
	return dec.Verdict
}

func (h *household) send(e core.Effect) {
	switch e := e.(type) {
	case core.SendRequest:
		h.bag = append(h.bag, letter{task: e.OrderID, request: e})
	case core.SendWake:
		if e.WakeAt.Sub(h.now) <= 15*core.Minute {
			h.bag = append(h.bag, letter{
				task:  e.OrderID,
				event: core.Wake{Step: e.Step, Run: e.Run, Attempt: e.Attempt}, at: e.WakeAt,
			})
		}
	case core.SendSettle:
		h.bag = append(h.bag, letter{task: e.OrderID, event: core.Settle{}})
	case core.AskChild:
		h.bag = append(h.bag, letter{task: e.OrderID, event: e})
	case core.ChildEnded:
		h.bag = append(h.bag, letter{task: e.Parent.OrderID, event: e})
	}
}

// serve executes a request, as a fenced service does, and replies.
func (h *household) serve(q core.SendRequest) {
	r := core.Reply{
		Step: q.Step, Run: q.Run, Attempt: q.Attempt, Operation: q.Operation,
		Outcome: core.OutcomeDone,
	}
	switch {
	case h.now > q.StopBy:
		return
	case q.Operation == core.UndoOp:
		delete(h.standing, q.Key)
		h.fenced[q.Key] = true
	case h.fenced[q.Key] || h.refused[q.Key]:
		r.Outcome = core.OutcomeFailed
		r.Code = "refused"
		r.Message = "no"
	default:
		h.standing[q.Key] = true
	}
	h.bag = append(h.bag, letter{task: q.OrderID, event: r})
}

// deliver delivers a message, which may stay in the queue, as after a lost deletion.
func (h *household) deliver(i int, stays, dies bool) {
	l := h.bag[i]
	if !stays && !dies {
		h.bag = slices.Delete(h.bag, i, i+1)
	}
	if l.event == nil {
		h.serve(l.request)
		return
	}
	if h.tasks[l.task] == nil {
		if _, asked := l.event.(core.AskChild); !asked {
			return
		}
	}
	h.decide(l.task, l.event, dies)
}

func (h *household) sweep() {
	h.now = h.now.Add(rapid.SampledFrom([]core.Duration{
		core.Second, 20 * core.Second,
		11 * core.Minute,
	}).Draw(h.T, "time"))
	h.sweepAll()
}

func (h *household) sweepAll() {
	for _, id := range h.ids() {
		task := h.tasks[id]
		for _, ev := range protocol.SweepEvents(h.defs[task.Definition], task, h.now) {
			h.decide(id, ev, false)
		}
	}
}

// operate lets stopped tasks continue, and sometimes cancels the order.
func (h *household) operate(cancels bool) {
	if cancels && rapid.IntRange(0, 9).Draw(h.T, "cancel") == 0 {
		h.decide("p", core.Command{Name: core.Cancel, OrderID: "p", ID: h.command(), Run: h.tasks["p"].Run}, false)
	}
	if p := h.tasks["p"]; cancels && p.ProcessState == core.Compensated && p.Run < 2 {
		h.decide("p", core.Command{Name: core.Resubmit, ID: h.command(), Number: p.Commands.Number}, false) // the next run
	}
	for _, id := range h.ids() {
		task := h.tasks[id]
		if task.ProcessState != core.Error || task.InFlight() {
			continue
		}
		if h.commands > 40 || rapid.Bool().Draw(h.T, "healed") { // or the service refuses the same for ever
			clear(h.refused)
		}
		if rapid.IntRange(0, 2).Draw(h.T, "moved") == 0 {
			h.move(id, task)
			continue
		}
		if id == "p" && rapid.IntRange(0, 2).Draw(h.T, "undone") == 0 {
			h.decide(id, core.Command{Name: core.UndoCommand, ID: h.command(), Number: task.Commands.Number}, false)
			continue
		}
		h.decide(id, core.Command{Name: core.Resubmit, ID: h.command(), Number: task.Commands.Number}, false)
	}
}

// move pins a stopped task to another definition, and lets it continue, or leaves that to a later command.
func (h *household) move(id string, task *protocol.Task) {
	to := h.defs["p2"]
	number := task.Commands.Number
	if id != "p" {
		to = h.defs[rapid.SampledFrom([]string{"c2", "c3"}).Draw(h.T, "to")]
	}
	var v *protocol.Verdict
	if rapid.Bool().Draw(h.T, "goes on") {
		v = h.decide(id, core.Command{Name: core.Resubmit, ID: h.command(), Number: number, To: &core.Target{Definition: to}},
			false)
	} else {
		v = h.decide(id, core.Command{Name: core.Move, ID: h.command(), Number: number, To: &core.Target{Definition: to}}, false)
	}
	if refused := task.End.ResendAt != 0 || to.Hash == "c3"; v.Accepted == refused &&
		to.Hash != task.Definition {
		h.Fatalf("%s to %s: %+v%s", id, to.Hash, v, h.shown())
	}
}

func (h *household) command() string {
	h.commands++
	return fmt.Sprintf("c%d", h.commands)
}

// chaos executes one random action while there are faults.
func (h *household) chaos() {
	what := rapid.IntRange(0, 19).Draw(h.T, "what")
	ready := h.ready()
	switch {
	case what == 0:
		h.sweep()
	case what == 1:
		h.operate(true)
	case len(ready) == 0:
		h.sweep()
	case what == 2 && h.losses > 0:
		h.losses--
		i := rapid.SampledFrom(ready).Draw(h.T, "lost")
		h.bag = slices.Delete(h.bag, i, i+1)
	default:
		h.deliver(rapid.SampledFrom(ready).Draw(h.T, "message"), what == 3, what == 4)
	}
	h.bounded()
}

func (h *household) ready() (places []int) {
	for i := range h.bag {
		if h.bag[i].at <= h.now {
			places = append(places, i)
		}
	}
	return places
}

// bounded checks what holds at every moment: no more open children than allowed, and a due time unless the
// task is at rest.
func (h *household) bounded() {
	p := h.tasks["p"]
	s := &p.Steps[0]
	e := h.defs["p"].Steps[0].Each
	if s.Children == nil {
		return
	}
	require.LessOrEqual(h, len(s.Children.Open), e.Concurrency)
	if !p.Terminal() && p.ProcessState != core.Error && protocol.Live(p) == 0 {
		h.Fatalf("no time leads on%s", h.shown())
	}
}

// calm lets everything under way end, without further faults.
func (h *household) calm() {
	for range 2000 {
		if ready := h.ready(); len(ready) > 0 {
			h.deliver(ready[0], false, false)
			continue
		}
		rest := true
		for _, id := range h.ids() {
			rest = rest && h.tasks[id].Terminal() && h.tasks[id].End.ResendAt == 0
		}
		if rest {
			return
		}
		h.operate(false)
		if len(h.ready()) == 0 {
			h.now = h.now.Add(core.Minute)
			h.sweepAll()
		}
	}
	h.Fatalf("it does not end: %s", h.shown())
}

func (h *household) shown() string {
	var b strings.Builder
	for _, id := range h.ids() {
		t := h.tasks[id]
		fmt.Fprintf(&b, "\n%s %s %s %s", id, t.ProcessState, t.Phase, t.Reason.Text)
		for i := range t.Steps {
			fmt.Fprintf(&b, "\n  %s", describeStep(&t.Steps[i]))
		}
	}
	return b.String()
}

// whole checks what holds when everything is at rest. A Processed parent has no more failed children than
// allowed. If its children count as undone, no effect of them remains. Of each child, all effects remain or
// none.
func (h *household) whole() {
	p := h.tasks["p"]
	s := &p.Steps[0]
	done := 0
	for id, t := range h.tasks {
		if id == "p" {
			continue
		}
		stands := 0
		for key := range h.standing {
			if strings.HasPrefix(key, id+"/") {
				stands++
			}
		}
		steps := len(h.defs[t.Definition].Steps)
		require.Equal(h, map[core.State]int{core.Processed: steps}[t.ProcessState], stands, id)
		if t.Parent.Run == p.Run {
			done += stands / steps
		} else if stands > 0 {
			h.Fatalf("child %s of an earlier run still stands%s", id, h.shown())
		}
	}
	switch {
	case s.State == core.Processed && (done < s.Children.Count-h.defs["p"].Steps[0].Each.Tolerate ||
		done != s.Children.Count-s.Children.Failed):
		h.Fatalf("%d of %d children are done, %d failed%s", done, s.Children.Count, s.Children.Failed,
			h.shown())
	case s.State != core.Processed && done > 0:
		h.Fatalf("the step is %s, and %d children are done%s", s.State, done, h.shown())
	case p.ProcessState == core.Processed && s.State != core.Processed && s.State != core.Compensated:
		h.Fatalf("the parent is Processed, the step %s%s", s.State, h.shown())
	}
}

// P40, P41: whatever is lost, doubled, late, or interrupted, a parent and its children reach one of two ends
// together.
func TestHouseholdsEndWhole(t *testing.T) {
	for range 10 { // ten times as many as usual: a case takes half a millisecond
		rapid.Check(t, endsWhole)
	}
}

func endsWhole(rt *rapid.T) {
	h := newHousehold(rt)
	h.decide("p", core.Submitted{OrderID: "p", Workflow: "test", ContentHash: "c", KnownHash: "c"},
		rapid.Bool().Draw(rt, "dies at once"))
	for range rapid.IntRange(0, 150).Draw(rt, "moments") {
		h.chaos()
	}
	h.calm()
	h.whole()
}
