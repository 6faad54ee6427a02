package expression_test

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P35: an expression decides which value of an answer is a refusal. It reads the value, and everything that
// an input may read.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		source, value string
		want          bool
		err           string
	}{
		{`value == "no"`, `"no"`, true, ""},
		{`value == "no"`, `"yes"`, false, ""},
		{`value.amount > order.limit`, `{"amount":7}`, true, ""},
		{`value.amount > order.limit`, `{"amount":3}`, false, ""},
		{`value`, `"no"`, false, "refuse needs true or false"},
	} {
		def := &core.Definition{
			Name:  "w",
			Steps: []core.StepDefinition{{Name: "a", Answer: &core.Answer{Refuse: c.source}}, {Name: "b"}},
		}
		x, err := expression.Compile(def)
		if err != nil {
			t.Fatal(err)
		}
		env := core.Environment{Order: json.RawMessage(`{"limit":5}`), Value: json.RawMessage(c.value)}
		got, err := x.Refused(0, env)
		if got != c.want || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s of %s: %v, %v", c.source, c.value, got, err)
		}
		if no, err := x.Refused(1, env); no || err != nil {
			t.Errorf("a step without a refusal refuses: %v", err)
		}
	}
	if err := expression.Check(`value == "no"`, expression.Scope{}); err == nil {
		t.Error("an input may read the value of an answer")
	}
}

// The problem of a token for a wrong step names the step as it is written in the file and in an expression.
func TestStepsThatCannotBeNamed(t *testing.T) {
	scope := expression.Scope{
		Steps:    []string{"pay-out", "approve", "bought"},
		Answered: map[string]bool{"approve": false, "bought": true}, Continues: map[string]bool{},
		Decided: map[string]bool{"approve": false, "bought": true},
	}
	decided, err := json.Marshal(protocol.Decided{})
	var members map[string]any
	err = cmp.Or(err, json.Unmarshal(decided, &members))
	if err != nil {
		t.Fatal(err)
	}
	for member := range members {
		if err := expression.Check("steps.approve.output."+member, scope); err != nil {
			t.Error(err)
		}
	}
	for source, want := range map[string][]string{
		`token("aprove")`: {
			"token names aprove, which is no approval or event",
			"did you mean approve?",
		},
		`token("pay-out")`: {"token names pay-out", "the approvals and events are: approve, bought"},
		`token("bought")`: {
			"names no person, and step bought asks who answers",
			"token('bought', order.approver)",
		},
		`token(order.step)`: {"the step of a token is computed"},
		`steps.pay_out.failed`: {
			"steps.pay_out.failed never changes",
			"onFailure: continue in step pay-out",
		},
		`steps.approve.output.valu`:  {"the answer to step approve has no valu", "did you mean value?"},
		`steps.bought.output?.code`:  {"the answer to step bought has no code", "write value for the answer"},
		`steps.approve.output.value`: nil,
		`token("approve")`:           nil,
		`token("bought", order.who)`: nil,
	} {
		err := expression.Check(source, scope)
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v", source, err)
		}
		for _, text := range want {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", source, err, text)
			}
		}
	}
}
