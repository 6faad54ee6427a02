package source_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// The questions of the steps in answers.yaml, and the values that they accept and refuse (P35).
func TestQuestions(t *testing.T) {
	d, problems := source.LoadFile("testdata/good/answers.yaml", source.Options{})
	if d == nil {
		t.Fatal(problems)
	}
	env := core.Environment{
		OrderID: "o-1",
		Order:   json.RawMessage(`{"amount":5,"requestedBy":"ann","who":["x"],"need":1,"patience":"3d"}`),
	}
	for step, want := range map[string]string{
		"approve": `{"question":"Pay 5?","show":{"amount":5,"purpose":null},"need":2,"who":["ann","bob","eve"],"notSelf":"ann"}`,
		"settled": ``,
		"late":    `{"question":"Late?","need":1,"who":["x"],"timeout":"3d"}`,
	} {
		got, err := d.Expr.Value(core.PartInput, d.Index(step), env)
		require.NoError(t, err, step)
		require.Equal(t, want, string(got), step)
	}
	for _, c := range []struct {
		step, value string
		wrong       string
		refused     bool
	}{
		{"approve", `"approve"`, "", false},
		{"approve", `"reject"`, "", true},
		{"settled", `{"status":"ok"}`, "", false},
		{"settled", `{"status":"failed"}`, "", true},
		{"settled", `{"status":"secret"}`, `at /status it is not one of "ok","failed"`, false},
		{"settled", `["secret"]`, "at the top it is a list, not a mapping", false},
		{"late", `"yes"`, "", false},
	} {
		env.Value = json.RawMessage(c.value)
		i := d.Index(c.step)
		if err := d.Expr.CheckAnswer(i, env.Value); (err == nil) != (c.wrong == "") || err != nil &&
			err.Error() != c.wrong {
			t.Errorf("%s to %s: %v", c.value, c.step, err)
		}
		if c.wrong != "" || d.Steps[i].Answer.Refuse == "" {
			continue
		}
		refused, err := d.Expr.Holds(core.PartRefuse, i, env)
		require.Equal(t, c.refused, refused, c.value)
		require.NoError(t, err, c.value)
	}
	env.Value = json.RawMessage(`"secret"`)
	_, err := d.Expr.Holds(core.PartRefuse, d.Index("settled"), env)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

// An expression can read every member of a decision.
func TestDecisions(t *testing.T) {
	decided := reflect.TypeFor[protocol.Decided]()
	for i := range decided.NumField() {
		member, _, _ := strings.Cut(decided.Field(i).Tag.Get("json"), ",")
		text := "workflow: test\nsteps: {paid: {event: {name: paid, timeout: 1d, onTimeout: undo}}}\n" +
			"output: ${ steps.paid.output." + member + " }\n"
		_, problems := source.Parse("test.yaml", []byte(text), source.Options{})
		require.Empty(t, problems, member)
	}
}
