package workflow_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

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
	if err := workflow.Seal(d); err != nil {
		t.Fatal(err)
	}
	data, err := workflow.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return d, data
}

// A stored definition comes back whole, with its expressions, under the same hash.
func TestStored(t *testing.T) {
	d, data := sealed(t)
	if d.Hash != workflow.Hash(data) || len(d.Hash) != 32 {
		t.Errorf("hash %s, want that of the stored form, %s", d.Hash, workflow.Hash(data))
	}
	if !strings.Contains(string(data), `"input":{"b":"${ order.x }","a":"<&>"}`) {
		t.Errorf("the template changed: %s", data)
	}
	got, err := workflow.Decode(d.Hash, data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Hash != d.Hash {
		t.Errorf("it came back under the hash %q, and not %s", got.Hash, d.Hash)
	}
	input, err := got.Expr.Input(0, core.Environment{Order: json.RawMessage(`{"x":1.50}`)})
	if err != nil || string(input) != `{"b":1.50,"a":"<&>"}` {
		t.Errorf("input %s, %v", input, err)
	}
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
	if _, err := workflow.Decode(workflow.Hash(minor), minor); err != nil {
		t.Errorf("a field of a newer minor version: %v", err)
	}
}

// A definition that was made in code gets its schema and its hash. A definition that cannot be read is not
// sealed.
func TestSeal(t *testing.T) {
	d := &core.Definition{Name: "test", Steps: []core.StepDefinition{{Name: "one", Wait: &core.Wait{}}}}
	if err := workflow.Seal(d); err != nil || d.Schema != 1 || len(d.Hash) != 32 {
		t.Errorf("schema %d, hash %q, %v", d.Schema, d.Hash, err)
	}
	d = &core.Definition{Name: "test", Steps: []core.StepDefinition{{Name: "one", Any: &core.Any{}}}}
	if err := workflow.Seal(d); err != nil || d.Schema != core.DefinitionSchema {
		t.Errorf("with an any: schema %d, %v", d.Schema, err)
	}
	d = &core.Definition{Name: "test", Output: json.RawMessage(`"${ order. }"`)}
	if err := workflow.Seal(d); err == nil || d.Hash != "" {
		t.Errorf("a broken expression: hash %q, %v", d.Hash, err)
	}
}

// The functions in the cloud contain neither the YAML library nor the checks of workflow files.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"yaml", "shared/workflow/source", "aws"} {
		if strings.Contains(string(out), heavy) {
			t.Errorf("package workflow depends on %s", heavy)
		}
	}
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
	if graph := workflow.Graph(d); !strings.Contains(graph, want) {
		t.Errorf("no %s in\n%s", want, graph)
	}
}
