package cli

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const shipped = "../../../../workflows"

func TestWorkflowValidate(t *testing.T) {
	call{}.run(t, "workflow", "validate", shipped).want(t, failure.OK,
		"order.yaml: valid, workflow order, 4 steps", "provision.yaml: valid")
	broken := write(t, "broken.yaml",
		"workflow: broken\nsteps:\n  a:\n    agent: payment\n    operaton: charge\n    onFailure: stop\n")
	r := call{}.run(t, "workflow", "validate", broken)
	r.want(t, failure.Usage, broken+":5:", "operaton", "fix:")
	r = call{}.run(t, "workflow", "validate", broken, filepath.Join(shipped, "order.yaml"), "--output",
		"json")
	r.want(t, failure.Usage)
	docs := decodeLines(t, r.out)
	if len(docs) != 2 || len(docs[1]["problems"].([]any)) != 0 {
		t.Fatalf("%s", r.out)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{`docs[0]["valid"]`, docs[0]["valid"], false},
		{`docs[1]["valid"]`, docs[1]["valid"], true},
		{`docs[1]["workflow"]`, docs[1]["workflow"], "order"},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %s", field.name, field.got, field.want, r.out)
		}
	}
	first := docs[0]["problems"].([]any)[0].(map[string]any)
	if first["line"] == nil || first["severity"] != "error" || first["what"] == "" {
		t.Errorf("%v", first)
	}
	agents := write(t, "agents.yaml", "agents:\n  payment: {url: 'https://${env:NOT_SET}'}\n")
	call{}.run(t, "workflow", "validate", filepath.Join(shipped, "order.yaml"), "--agents", agents).want(t,
		failure.Usage, "there is no agent inventory", "known agents: payment")
	call{}.run(t, "workflow", "validate", broken, "--agents", write(t, "bad.yaml", "agents: [")).want(t,
		failure.Usage, "check the indentation")
	call{}.run(t, "workflow", "validate", t.TempDir()).want(t, failure.NotFound, "has no workflow files")
}

// The reported use of the budget grows with the order. Without an order it is not printed.
func TestWorkflowValidateReportsTheBudget(t *testing.T) {
	file := filepath.Join(shipped, "order.yaml")
	call{}.run(t, "workflow", "validate", file).want(t, failure.OK, "largest expression ", " of 500 parts\n")
	item := `{"sku":"a","quantity":2,"unitPrice":9,"physical":true}`
	used := func(items int) float64 {
		order := write(t, "order.json", `{"items":[`+strings.TrimSuffix(strings.Repeat(item+",", items), ",")+
			`]}`)
		call{}.run(t, "workflow", "validate", file, "--order", order).want(t, failure.OK,
			" of 1000000 steps of work for this order")
		r := call{}.run(t, "workflow", "validate", file, "--order", order, "--output", "json")
		b := decodeLines(t, r.out)[0]["budget"].(map[string]any)
		if b["partsAllowed"] != 500.0 || b["stepsAllowed"] != 1e6 || b["parts"].(float64) < 5 ||
			b["parts"].(float64) > 30 {
			t.Errorf("the budget is %v", b)
		}
		return b["steps"].(float64)
	}
	if one, many := used(1), used(100); many < 50*one || many > 100*one {
		t.Errorf("one item takes %v steps, 100 items %v", one, many)
	}
	call{}.run(t, "workflow", "validate", file, "--order", write(t, "bad.json", "{")).want(t, failure.Usage,
		"is not JSON")
	call{}.run(t, "workflow", "validate", file, "--order", "no-such.json").want(t, failure.NotFound,
		"cannot be read")
}

// An order that does not match the schema of its workflow makes the check fail.
func TestWorkflowValidateChecksTheOrder(t *testing.T) {
	file := write(t, "shop.yaml", `workflow: shop
order: {schema: {required: [email]}}
steps: {a: {agent: a, operation: run, timeout: 1s, onFailure: stop, undo: none, grade: fenced}}
`)
	call{}.run(t, "workflow", "validate", file, "--order", write(t, "order.json", `{"email":""}`)).want(t,
		failure.OK, "valid")
	r := call{}.run(t, "workflow", "validate", file, "--order", write(t, "order.json", `{}`))
	r.want(t, failure.Usage, "order.json: the order does not match the schema of the workflow shop: at the "+
		"top it lacks \"email\"")
	if strings.Contains(r.out, "valid") {
		t.Errorf("it prints %s", r.out)
	}
}

func TestWorkflowGraph(t *testing.T) {
	file := filepath.Join(shipped, "order.yaml")
	r := call{}.run(t, "workflow", "graph", file)
	r.want(t, failure.OK, "flowchart TD", "book-shipment")
	j := call{}.run(t, "workflow", "graph", file, "--output", "json")
	if d := decodeLines(t, j.out); len(d) != 1 || d[0]["mermaid"] != r.out || d[0]["workflow"] != "order" {
		t.Errorf("%s", j.out)
	}
	for direction, flags := range map[string][]string{"down": {"--svg"}, "across": {"--svg", "--across"}} {
		svg := call{}.run(t, append([]string{"workflow", "graph", file}, flags...)...)
		var box struct {
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
		}
		if err := xml.Unmarshal([]byte(svg.out), &box); err != nil ||
			(box.Width > 2*box.Height) != (direction == "across") {
			t.Errorf("%s: %v %+v\n%s", direction, err, box, svg.out)
		}
		if !strings.Contains(svg.out, ">book-shipment<") {
			t.Errorf("%s lacks a step:\n%s", direction, svg.out)
		}
		j := call{}.run(t, append([]string{"workflow", "graph", file, "--output", "json"}, flags...)...)
		if d := decodeLines(t, j.out); len(d) != 1 || d[0]["svg"] != svg.out {
			t.Errorf("%s", j.out)
		}
	}
	call{}.run(t, "workflow", "graph", file, "--across").want(t, failure.Usage, "--across is for --svg",
		"add --svg")
	call{}.run(t, "workflow", "graph", shipped).want(t, failure.Usage, "is a folder")
	call{}.run(t, "workflow", "graph", write(t, "x.yaml", "steps: 5")).want(t, failure.Usage,
		"is no valid workflow", "fix:")
}

func TestWorkflowSchema(t *testing.T) {
	r := call{}.run(t, "workflow", "schema")
	r.want(t, failure.OK)
	var schema map[string]any
	if err := json.Unmarshal([]byte(r.out), &schema); err != nil || schema["$schema"] == nil {
		t.Errorf("%v: %.200s", err, r.out)
	}
}

func TestWorkflowList(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	r := c.run(t, "workflow", "list")
	r.want(t, failure.OK, "provision.yaml:3:1: steps is empty")
	golden.Assert(t, r.out, "workflows.txt")
	r = c.run(t, "workflow", "list", "--output", "json")
	if d := decodeLines(t, r.out); len(d) != 2 || d[0]["name"] != "order" {
		t.Errorf("%s", r.out)
	}
	call{}.run(t, "workflow", "list").want(t, failure.Unreachable, "stepkeeper dev")
	call{}.run(t, "workflow", "list", "--server", "nonsense").want(t, failure.Usage, "cannot be used")
}

func TestWorkflowNothing(t *testing.T) {
	r := call{}.run(t, "workflow")
	r2 := call{}.run(t, "workflow", "--help")
	if r.code != failure.OK || r.out != r2.out || !strings.Contains(r.out, "validate") {
		t.Errorf("a group alone explains itself: %+v", r)
	}
}
