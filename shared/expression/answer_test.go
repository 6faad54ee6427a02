package expression_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
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
		require.NoError(t, err)
		env := core.Environment{Order: json.RawMessage(`{"limit":5}`), Value: json.RawMessage(c.value)}
		got, err := x.Refused(0, env)
		if got != c.want || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s of %s: %v, %v", c.source, c.value, got, err)
		}
		no, err := x.Refused(1, env)
		require.False(t, no, "a step without a refusal refuses: %v", err)
		require.NoError(t, err)
	}
	require.Error(t, expression.Check(`value == "no"`, expression.Scope{}))
}
