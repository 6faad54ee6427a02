package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// ParseAnswers parses the answers to steps of a workflow, each in the form STEP=VALUE. For an approval, VALUE
// is text. For an event, VALUE is JSON; any other text becomes a JSON string.
func ParseAnswers(given []string, def *core.Definition) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	for _, text := range given {
		step, value, found := strings.Cut(text, "=")
		if !found || len(value) > core.MaxAnswerValue {
			return nil, fmt.Errorf("%.60q is no answer; write STEP=VALUE, as in approve=yes", text)
		}
		i := def.Index(step)
		if i < 0 || def.Steps[i].Answer == nil {
			var names []string
			for k := range def.Steps {
				if def.Steps[k].Answer != nil {
					names = append(names, def.Steps[k].Name)
				}
			}
			if len(names) == 0 {
				return nil, fmt.Errorf("the workflow %s has no approval and no event; leave the answers out",
					def.Name)
			}
			return nil, fmt.Errorf("the workflow %s has no approval or event %.60q; %s", def.Name, step,
				suggest.DidYouMean(step, names, "it has: "+strings.Join(names, ", ")))
		}
		raw := json.RawMessage(value)
		if def.Steps[i].Answer.Event == "" || !json.Valid(raw) {
			raw, _ = json.Marshal(value) // Marshal cannot fail for a string
		}
		compact, fault := def.AnswerValue(i, raw)
		if fault != "" {
			return nil, fmt.Errorf("step %s does not take the answer %.60q: %s", step, value, fault)
		}
		answers[step] = compact
	}
	return answers, nil
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
