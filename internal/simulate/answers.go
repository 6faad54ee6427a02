package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// ParseAnswers parses the answers to steps of a workflow, each in the form STEP=VALUE. STEP is the path of a step in a
// block or in a child order, as in card/check. For an approval, VALUE is text. For an event, VALUE is JSON; any other
// text becomes a JSON string.
func ParseAnswers(given []string, def *core.Definition) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	steps := answered(def)
	for _, text := range given {
		step, value, found := strings.Cut(text, "=")
		if !found || len(value) > core.MaxAnswerValue {
			return nil, fmt.Errorf("%.60q is no answer; write STEP=VALUE, as in approve=yes", text)
		}
		at := slices.IndexFunc(steps, func(s placedStep) bool { return s.path == step })
		if at < 0 {
			var names []string
			for _, s := range steps {
				names = append(names, s.path)
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("the workflow %s has no approval and no event; leave the answers out",
					def.Name)
			}
			return nil, fmt.Errorf("the workflow %s has no approval or event %.60q; %s", def.Name, step,
				suggest.DidYouMean(step, names, "it has: "+strings.Join(names, ", ")))
		}
		raw := json.RawMessage(value)
		of := steps[at]
		if of.step().Answer.Event == "" || !json.Valid(raw) {
			raw, _ = json.Marshal(value) // Marshal cannot fail for a string
		}
		compact, fault := of.def.AnswerValue(of.i, raw)
		if fault != "" {
			return nil, fmt.Errorf("step %s does not take the answer %.60q: %s", step, value, fault)
		}
		answers[step] = compact
	}
	return answers, nil
}

// placedStep is a step of a workflow, its blocks or its child orders: step i of a definition.
type placedStep struct {
	path  string // names of the steps that lead to it, and its own, as in card/check
	order string // ID of the first order with the step in a run
	def   *core.Definition
	i     int
}

func (p placedStep) step() *core.StepDefinition { return &p.def.Steps[p.i] }

// stepsOf returns the steps of a workflow, its blocks and its child orders.
func stepsOf(def *core.Definition, above, order string) (all []placedStep) {
	for i := range def.Steps {
		s := &def.Steps[i]
		all = append(all, placedStep{above + s.Name, order, def, i})
		if s.Each != nil && s.Each.Child != nil {
			child := core.Parent{OrderID: order, Step: s.Name}.ChildID()
			all = append(all, stepsOf(s.Each.Child, above+s.Name+"/", child)...)
		}
	}
	return all
}

// answered returns the steps that wait for an answer.
func answered(def *core.Definition) []placedStep {
	return slices.DeleteFunc(stepsOf(def, "", FirstID),
		func(s placedStep) bool { return s.step().Answer == nil })
}

// Fitted returns the scenario with an order that matches the workflow's order schema. If the scenario has no
// order, Fitted draws one. It returns an error if the order does not match the schema. It changes nothing if
// the workflow has no order schema, or if the scenario starts with a stored order.
func Fitted(sc Scenario) (Scenario, error) {
	def := sc.Definition
	if len(def.Order) == 0 || sc.Begun != nil {
		return sc, nil
	}
	if sc.Order == nil {
		s, err := schema.Compile(def.Order)
		if err != nil {
			return sc, err
		}
		drawn := s.Samples(samples)
		if len(drawn) == 0 {
			return sc, errors.New("no order can be drawn from the schema of the workflow")
		}
		sc.Order = drawn[0]
	}
	if err := def.Expr.CheckOrder(sc.Order); err != nil {
		return sc, message.Mismatch(def.Name, err)
	}
	return sc, nil
}
