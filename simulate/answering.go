package simulate

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

// answersTo are the steps of a definition that are answered.
func answersTo(def *core.Definition) (all []*core.StepDefinition) {
	for i := range def.Steps {
		if def.Steps[i].Answer != nil {
			all = append(all, &def.Steps[i])
		}
	}
	return all
}

// answering lets people answer: some before the step is asked, some late, twice, for another round or run,
// and with a value that is none.
func (w *simulation) answering(o *order) {
	if len(answersTo(w.def)) == 0 {
		return
	}
	for range w.choose("answers", o.id, 6, 0.8) {
		w.after(200+w.spread("answer", o.id, 200_000), func() { w.reply(o) })
	}
}

func (w *simulation) reply(o *order) {
	c := w.answer(o, w.store.task(o.id))
	switch w.choose("answer-variation", o.id, 8, 0.35) {
	case 1:
		c.Round++
	case 2:
		c.Round = max(1, c.Round-1)
	case 3: // the same answer a second time, or another one with its ID
		c.ID = fmt.Sprintf("%s-c%d", o.id, max(1, o.commands-1))
	case 4:
		c.Run++
	case 5:
		c.Value = json.RawMessage(`"perhaps"`)
	case 6:
		c.Name, c.Step, c.Round = workflows.Bought, "", 0
	case 7:
		c.Step = []string{"nowhere", w.def.Steps[0].Name}[w.choose("answer-variation", o.id+"/step", 2, 0.5)]
	}
	w.instruct(o, *c, w.embedded || w.choose("by", o.id, 2, 0.5) == 1)
}

// answer is that of a person who looks at the order. The next one is of another person, and says something
// else.
func (w *simulation) answer(o *order, t *core.Task) *message.Control {
	o.commands++
	c := &message.Control{Schema: message.Schema, Kind: message.Answer, OrderID: o.id,
		ID: fmt.Sprintf("%s-c%d", o.id, o.commands), Round: 1}
	def := w.def
	if t != nil && !t.IsTombstone() {
		def, c.Run = w.defOf(t), t.Run
	}
	steps := answersTo(def)
	if len(steps) == 0 { // it was moved
		steps = answersTo(w.def)
	}
	d := steps[w.choose("answer", o.id+"/step", len(steps), 0.6)]
	if t != nil {
		if s := t.Step(d.Name); s != nil && s.Answers != nil {
			c.Round = s.Answers.Round
		}
	}
	c.Step = d.Name
	c.By = workflows.Persons[(o.commands-1+w.choose("answer", o.id+"/by", len(workflows.Persons),
		0.5))%len(workflows.Persons)]
	values := d.Answer.Values
	if d.Answer.Event != "" {
		values = []string{"one", "two"}
	}
	c.Value, _ = json.Marshal(
		values[(o.commands-1+w.choose("answer", o.id+"/value", len(values), 0.5))%len(values)])
	if d.Answer.Schema != nil && d.Answer.TimeoutValue != nil &&
		w.choose("answer", o.id+"/shape", 2, 0.5) == 0 {
		c.Value = d.Answer.TimeoutValue // the one value that is known to have the event's shape
	}
	return c
}
