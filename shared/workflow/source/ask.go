package source

import (
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

const (
	askSuffix = "-ask"
	askMade   = " ask" // field that marks the step and its generated call; not valid in a file
	maxName   = 40     // longest name of a step; schema.json has the same limit
)

// withAsks returns the steps of the file. A step with the field ask becomes two steps: a call that sends the
// question, and the step itself (P38, an ask sends the question).
func (b *builder) withAsks(steps *value) (all []field) {
	for _, f := range steps.fields {
		if f.value.shape != isMap {
			continue
		}
		if ask := f.value.field("ask"); ask != nil && ask.value.shape == isMap && answerForm(f.value) != "" &&
			b.askName(f.key, ask.at, steps) {
			call, asked := withAsk(f, ask)
			all = append(all, call, asked)
			continue
		}
		all = append(all, f)
	}
	if len(all) > MaxSteps {
		b.error(steps.at, "the workflow has %d steps with members and those that ask, the limit is %d", len(all),
			MaxSteps).fix("split it")
	}
	return all
}

// askName reports whether the generated call can have its name. If not, askName reports a problem.
func (b *builder) askName(step string, at position, steps *value) bool {
	return b.report.madeStep(at, "the ask of step "+step, step+askSuffix, steps, "give that step another name",
		fmt.Sprintf("give step %s a name of at most %d characters", step, maxName-len(askSuffix)))
}

// withAsk divides a step into the call that sends the question, and the step itself. The call gets the step's
// predecessors, and the step depends on the call.
func withAsk(f field, ask *field) (call, asked field) {
	text := func(key, text string) field {
		return field{ask.at, key, &value{at: ask.at, shape: isText, text: text}}
	}
	fields := append(slices.Clone(ask.value.fields), text("undo", "none"), field{ask.at, askMade, ask.value})
	for key, absent := range map[string]string{"timeout": "10s", "grade": string(core.Idempotent)} {
		if ask.value.field(key) == nil {
			fields = append(fields, text(key, absent))
		}
	}
	after := value{at: ask.at, shape: isList}
	var rest []field
	for _, own := range f.value.fields {
		switch own.key {
		case "after":
			fields = append(fields, own)
			after = *own.value
			continue
		case "when", "onFailure":
			fields = append(fields, own)
		}
		rest = append(rest, own)
	}
	if f.value.field("onFailure") == nil {
		fields = append(fields, text("onFailure", string(core.OnFailureUndo)))
	}
	name := f.key + askSuffix
	after.list = append(slices.Clone(after.list), &value{at: ask.at, shape: isText, text: name})
	rest = append(rest, field{ask.at, "after", &after}, field{ask.at, askMade, ask.value})
	return field{ask.at, name, &value{at: ask.at, shape: isMap, fields: fields}},
		field{f.at, f.key, &value{at: f.value.at, shape: isMap, fields: rest}}
}
