package workflow_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

func sealed(t *testing.T) (*core.Definition, []byte) {
	t.Helper()
	d := &core.Definition{Name: "test", Steps: []core.StepDefinition{{
		Name: "one", Agent: "a", Operation: "run",
		Input:     json.RawMessage(`{ "b": "${ order.x }", "a": "<&>" }`),
		OnFailure: core.OnFailureStop, Grade: core.Fenced,
	}}, Agents: map[string]core.AgentDefinition{"a": {ClockSkew: core.Second}}}
	require.NoError(t, workflow.Seal(d))
	data, err := workflow.Encode(d)
	require.NoError(t, err)
	return d, data
}

// A stored definition comes back whole, with its expressions, under the same hash.
func TestStored(t *testing.T) {
	d, data := sealed(t)
	require.Equal(t, workflow.Hash(data), d.Hash)
	require.Len(t, d.Hash, 32)
	require.Contains(t, string(data), `"input":{"b":"${ order.x }","a":"<&>"}`, "the template changed")
	got, err := workflow.Decode(d.Hash, data)
	require.NoError(t, err)
	require.Equal(t, d.Hash, got.Hash)
	input, err := got.Expr.Value(core.PartInput, 0, core.Environment{Order: json.RawMessage(`{"x":1.50}`)})
	require.NoError(t, err)
	require.Equal(t, `{"b":1.50,"a":"<&>"}`, string(input))
}

func TestStoredErrors(t *testing.T) {
	d, data := sealed(t)
	newer := []byte(strings.Replace(string(data), `"schema":1`, `"schema":3`, 1))
	minor := []byte(strings.Replace(string(data), `"schema":1`, `"schema":1,"later":{}`, 1))
	broken := []byte(strings.Replace(string(data), "order.x", "order.", 1))
	for _, c := range []struct {
		name string
		hash string
		data []byte
		want error
		text string
	}{
		{"damaged", d.Hash, append(data, ' '), workflow.ErrDamaged, d.Hash},
		{"newer", workflow.Hash(newer), newer, workflow.ErrNewer, "schema 3"},
		{"not JSON", workflow.Hash([]byte("x")), []byte("x"), nil, "invalid character"},
		{"broken expression", workflow.Hash(broken), broken, nil, "workflow test, step one: expression"},
	} {
		_, err := workflow.Decode(c.hash, c.data)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	_, err := workflow.Decode(workflow.Hash(minor), minor)
	require.NoError(t, err, "a field of a newer minor version")
}

// A definition that was made in code gets its schema and its hash. A definition that cannot be read is not
// sealed.
func TestSeal(t *testing.T) {
	d := &core.Definition{Name: "test", Steps: []core.StepDefinition{{Name: "one", Wait: &core.Wait{}}}}
	require.NoError(t, workflow.Seal(d))
	require.Equal(t, 1, d.Schema)
	require.Len(t, d.Hash, 32)
	d = &core.Definition{Name: "test", Steps: []core.StepDefinition{{Name: "one", Any: &core.Any{}}}}
	require.NoError(t, workflow.Seal(d))
	require.Equal(t, core.DefinitionSchema, d.Schema)
	d = &core.Definition{Name: "test", Output: json.RawMessage(`"${ order. }"`)}
	require.Error(t, workflow.Seal(d))
	require.Empty(t, d.Hash)
}

// The graph shows every condition unchanged.
func TestGraphEscapesTexts(t *testing.T) {
	d := &core.Definition{Name: "w", Steps: []core.StepDefinition{
		{Name: "a", Agent: "x", Operation: "o"},
		{
			Name: "b", Agent: "x", Operation: "o", After: []string{"a"},
			When: "order.a < 5 && order.b > \"x|y;z#`\"\n",
		},
	}}
	const want = `-->|"if order.a #lt; 5 #amp;#amp; order.b #gt; #quot;x#124;y#59;z#35;#96;#quot; "|`
	require.Contains(t, workflow.Graph(d), want)
}
