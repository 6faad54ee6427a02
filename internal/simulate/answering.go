package simulate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func answersTo(def *core.Definition) (all []*core.StepDefinition) {
	for i := range def.Steps {
		if def.Steps[i].Answer != nil {
			all = append(all, &def.Steps[i])
		}
	}
	return all
}

// answering schedules people's answers to an order. Some answers come early, late or twice. Some name another
// round or run, or have an invalid value.
func answering(w *Simulation, o *Order) {
	if len(answersTo(w.Def)) == 0 {
		return
	}
	for range w.Choose("answers", o.Id, 6, 0.8) {
		w.After(200+w.Spread("answer", o.Id, 200_000), func() { reply(w, o) })
	}
}

func reply(w *Simulation, o *Order) {
	c := answer(w, o, w.Store.Task(o.Id))
	switch w.Choose("answer-variation", o.Id, 8, 0.35) {
	case 1:
		c.Round++
	case 2:
		c.Round = max(1, c.Round-1)
	case 3: // an answer with the ID of an earlier answer
		c.ID = fmt.Sprintf("%s-c%d", o.Id, max(1, o.Commands-1))
	case 4:
		c.Run++
	case 5:
		c.Value = json.RawMessage(`"perhaps"`)
	case 6:
		c.Name = Bought
		c.Step = ""
		c.Round = 0
	case 7:
		c.Step = []string{"nowhere", w.Def.Steps[0].Name}[w.Choose("answer-variation", o.Id+"/step", 2, 0.5)]
	}
	byAnyWay(w, o, c)
}

// passing schedules events that the order passes on to its children (P56, answers pass through). Each has a value of
// its own, by which its taker is known. Some come twice.
func passing(w *Simulation, o *Order) {
	if !slices.ContainsFunc(w.Def.Steps, func(s core.StepDefinition) bool {
		return s.Each != nil && s.Each.Passes(Bought) >= 0
	}) {
		return
	}
	for range w.Choose("passes", o.Id, 5, 0.8) {
		w.After(200+w.Spread("passes", o.Id, 200_000), func() { pass(w, o) })
	}
}

func pass(w *Simulation, o *Order) {
	o.Commands++
	c := core.Answered{ID: fmt.Sprintf("%s-c%d", o.Id, o.Commands), Name: Bought, By: Passer}
	c.Value, _ = json.Marshal(c.ID)
	if t := w.Store.Task(o.Id); t != nil {
		c.Run = t.Run
	}
	direct := w.Embedded || w.Choose("by", o.Id, 2, 0.5) == 1
	instruct(w, o, c, direct)
	if w.Choose("passes", o.Id+"/again", 2, 0.3) == 1 {
		w.After(w.Spread("passes", o.Id+"/again", 60_000), func() { instruct(w, o, c, direct) })
	}
}

// scripted schedules the scenario's answers to the waiting steps of a task.
func scripted(w *Simulation, t *protocol.Task) {
	o := w.ByID[t.OrderID]
	if len(w.Sc.Answers) == 0 || o == nil || t.ProcessState != core.Processing {
		return
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		value, given := w.Sc.Answers[pathOf(w, t, s.Name)]
		if !given || s.State != core.Waiting || s.Answers == nil {
			continue
		}
		at := fmt.Sprintf("%s/%d/%s/%d/%d", o.Id, t.Run, s.Name, s.Round(), len(s.Answers.Votes))
		by := voter(s.Answers)
		if w.Answered[at] || by == "" {
			continue
		}
		w.Answered[at] = true
		o.Commands++
		c := core.Answered{ // no ID of a command has the ~ of a child order
			ID: fmt.Sprintf("%s-c%d", strings.ReplaceAll(o.Id, "~", "-"), o.Commands), Run: t.Run, Step: s.Name,
			Round: s.Round(), By: by, Value: value,
		}
		w.After(1000+w.Spread("scripted", at, 60_000), func() { instruct(w, o, c, w.Embedded) })
	}
}

// pathOf returns the path of a task's step, as in card/check: the steps of the orders above the task, and its own name.
func pathOf(w *Simulation, t *protocol.Task, step string) string {
	for ; t != nil && t.Parent != nil; t = w.Store.Task(t.Parent.OrderID) {
		step = t.Parent.Step + "/" + step
	}
	return step
}

// voter returns the name of a person who may answer and has not answered yet, or "".
func voter(a *protocol.Answers) string {
	for _, by := range slices.Concat(a.Who, Persons, []string{"dora", "eve", "finn"}) {
		if a.Excludes(by) == "" &&
			!slices.ContainsFunc(a.Votes, func(v protocol.Vote) bool { return v.By == by }) {
			return by
		}
	}
	return ""
}

// answer returns the answer of a person who sees the task t. It chooses the person and the value. With the
// choice 0, each answer of an order comes from the next person and has the next value.
func answer(w *Simulation, o *Order, t *protocol.Task) core.Answered {
	o.Commands++
	c := core.Answered{ID: fmt.Sprintf("%s-c%d", o.Id, o.Commands), Round: 1}
	def := w.Def
	if t != nil && !t.IsTombstone() {
		def = w.DefOf(t)
		c.Run = t.Run
	}
	steps := answersTo(def)
	if len(steps) == 0 { // the order was moved to a definition without answers
		steps = answersTo(w.Def)
	}
	d := steps[w.Choose("answer", o.Id+"/step", len(steps), 0.6)]
	if t != nil {
		if s := t.Step(d.Name); s != nil && s.Answers != nil {
			c.Round = s.Answers.Round
		}
	}
	c.Step = d.Name
	c.By = Persons[(o.Commands-1+w.Choose("answer", o.Id+"/by", len(Persons), 0.5))%len(Persons)]
	values := d.Answer.Values
	if d.Answer.Event != "" {
		values = []string{"one", "two"}
	}
	c.Value, _ = json.Marshal(
		values[(o.Commands-1+w.Choose("answer", o.Id+"/value", len(values), 0.5))%len(values)])
	if d.Answer.Schema != nil && d.Answer.TimeoutValue != nil &&
		w.Choose("answer", o.Id+"/shape", 2, 0.5) == 0 {
		c.Value = d.Answer.TimeoutValue // only this value certainly matches the event's schema
	}
	return c
}
