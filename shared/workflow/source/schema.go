package source

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// Schema is the JSON Schema of a workflow file, for editors.
//
//go:embed schema.json
var Schema []byte

const schemaURL = "https://stepkeeper.dev/schemas/workflow.json"

var compiledSchema = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic("schema.json: " + err.Error()) // a mistake in schema.json, which the tests would find
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaURL, doc); err != nil {
		panic("schema.json: " + err.Error())
	}
	return c.MustCompile(schemaURL)
})

func checkSchema(root *value, r *report) {
	err := compiledSchema().Validate(root.plain())
	if err == nil {
		return
	}
	if e, ok := err.(*jsonschema.ValidationError); ok {
		explain(e, root, r)
	}
}

// explain reports the errors of the JSON Schema library as problems. The errors form a tree, and only its
// leaves become problems.
func explain(e *jsonschema.ValidationError, root *value, r *report) {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		// InstanceLocation may be wrong for this kind of error, because the library reuses the slice.
		misnamed(root, k.Property, r)
		return
	}
	for _, cause := range e.Causes {
		explain(cause, root, r)
	}
	if len(e.Causes) > 0 {
		return
	}
	v, name := locate(root, e.InstanceLocation)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		unknownFields(k.Properties, v, fieldsOf(e.SchemaURL), r)
	case *kind.Required:
		for _, missing := range k.Missing {
			r.error(v.at, "%s has no %s", name, missing).fix("%s", fixMissing(missing, name))
		}
	case *kind.Type:
		r.error(v.at, "%s is %s, it should be %s", name, schema.Kind(k.Got), schema.Kinds(k.Want)).
			fix("%s", fixType(e.SchemaURL, name, v, k.Want))
	case *kind.Enum:
		if v.text == string(core.OnFailureContinue) && slices.Contains(policies, name) {
			continueElsewhere(v, name, root, e.InstanceLocation, r)
			return
		}
		words := words(k.Want)
		r.error(v.at, "%s is %s", name, v).
			fix("%s", suggest.DidYouMean(v.text, words, "write one of "+strings.Join(words, ", ")))
	case *kind.Pattern:
		r.error(v.at, "%s is %s", name, v).fix("%s", fixPattern(e.SchemaURL))
	case *kind.UniqueItems:
		r.error(v.at, "%s names %s twice", name, v.list[k.Duplicates[0]]).fix("remove one of them")
	case *kind.Minimum:
		r.error(v.at, "%s is %s", name, v.text).fix("the least is %s", k.Want.RatString())
	case *kind.Maximum:
		r.error(v.at, "%s is %s", name, v.text).fix("the most is %s", k.Want.RatString())
	case *kind.MinLength:
		r.error(v.at, "%s is empty", name).fix("write a text")
	case *kind.MaxLength:
		r.error(v.at, "%s has %d characters, the limit is %d", name, k.Got, k.Want).fix("shorten it")
	case *kind.MinItems:
		r.error(v.at, "%s is empty", name).fix("list at least one")
	case *kind.MinProperties:
		if k.Want > 1 {
			r.error(v.at, "%s has %d of at least %d members", name, k.Got, k.Want).
				fix("add a member, or write a single step without any")
			return
		}
		r.error(v.at, "%s is empty", name).fix("define at least one")
	case *kind.MaxProperties:
		r.error(v.at, "%s has %d members, the limit is %d", name, k.Got, k.Want).fix("leave some out")
	default:
		r.error(v.at, "%s is not valid", name).fix("see its description in schema.json")
	}
}

// misnamed reports the agents and the steps with a name that is no name, also those of blocks.
func misnamed(root *value, name string, r *report) {
	for _, holder := range []string{"agents", "steps"} {
		if f := root.get(holder).field(name); f != nil {
			r.error(f.at, "%q is not a name", name).fix(fixName)
		}
	}
	if steps := root.get("steps"); steps != nil {
		for _, f := range steps.fields {
			misnamed(f.value, name, r)
		}
	}
}

// policies lists the fields that contain a policy.
var policies = []string{"onFailure", "onTimeout", "onDeadline"}

// continueElsewhere reports the policy "continue" in a field or step that does not permit it (P42, orders can go on
// after failures).
func continueElsewhere(v *value, name string, root *value, path []string, r *report) {
	fix := "write undo or stop"
	if len(path) > 1 && path[0] == "steps" {
		if form := answerForm(root.get("steps").get(path[1])); form != "" {
			fix = "leave refuse out, or write onTimeout: {answer: VALUE}, and let later steps ask for the " +
				"answer, as in when: steps." +
				strings.ReplaceAll(path[1], "-", "_") + ".output.value == VALUE"
		}
	}
	r.error(v.at, `%s is "continue", which only a call, child orders and any can have`, name).fix("%s", fix)
}

// locate returns the value at a path, and a name for the value. If the path leads to no value, locate returns
// the last value on the path.
func locate(root *value, path []string) (*value, string) {
	v := root
	name := "the workflow"
	for i, key := range path {
		var next *value
		switch v.shape {
		case isMap:
			next = v.get(key)
			name = key
			if i > 0 && (path[i-1] == "steps" || path[i-1] == "agents" && i == 1) {
				name = strings.TrimSuffix(path[i-1], "s") + " " + key
			}
		case isList:
			var index int
			if _, err := fmt.Sscan(key, &index); err == nil && index < len(v.list) {
				next = v.list[index]
			}
		}
		if next == nil {
			return v, name
		}
		v = next
	}
	return v, name
}

const fixName = "use lower-case letters, digits and dashes, at most 40, the first one a letter"

const fixDuration = "write a number with its unit: 250ms, 2s, 5m, 24h or 7d"

// later gives advice for field names that people may know from other tools.
var later = map[string]string{
	"delay": "write a step of its own with wait: 10m, and put this one after it", "timer": "write wait: 10m",
	"approval": "write it in a step of its own, below steps",
	"race":     "write any: with its members by their names",
	"first":    "write any: with its members by their names",
	"signal":   "write a step with event: {name: …, timeout: …}",
	"forEach":  "write each: ${ order.items }, and workflow: NAME of what each item goes through",
	"foreach":  "write each: ${ order.items }, and workflow: NAME of what each item goes through",
	"for-each": "write each: ${ order.items }, and workflow: NAME of what each item goes through",
	"workflow": "write steps: for a block, or workflow: NAME for another file, not both",
	"schedule": "write it at the top of the file: only whole orders start by the clock",
	"repeat":   "only child orders are repeated: write the steps of a block below steps, or workflow: NAME",
	"while":    "write repeat: {until: …, atMost: …} beside steps; until is the opposite of while",
	"loop":     "write repeat: {until: …, atMost: …} beside steps",
	"progress": "progress of long work is not supported yet; choose a timeout that is long enough",
	"fallback": "write agents: [first, second] if both reach the same service; another service needs its " +
		"own step",
	"fallbackAgents": "write agents: [first, second] if both reach the same service; another service " +
		"needs its own step",
	"priority":  "priority belongs to the order, not to the workflow",
	"dependsOn": "write after", "needs": "write after", "if": "write when", "condition": "write when",
	"compensate": "write undo", "retries": "write retry: {maxFailures: …}",
}

func unknownFields(keys []string, v *value, known []string, r *report) {
	for _, key := range keys {
		where := v.at
		if f := v.field(key); f != nil {
			where = f.at
		}
		fix, ok := later[key]
		if !ok {
			fix = suggest.DidYouMean(key, known, "known here: "+strings.Join(known, ", "))
		}
		r.error(where, "unknown field %s", key).fix("%s", fix)
	}
}

// fieldsOf returns the fields that the part of the schema at a location allows.
func fieldsOf(location string) []string {
	for _, part := range schema.All(compiledSchema()) {
		if part.Location == location {
			return slices.Sorted(maps.Keys(part.Properties))
		}
	}
	return nil
}

// fixes gives advice for missing required fields. A key is "FIELD of OBJECT", or FIELD alone.
var fixes = map[string]string{
	"timeout of approval": "write how long to wait for an answer, as in timeout: 7d",
	"timeout of event":    "write how long to wait for an answer, as in timeout: 7d",
	"until of repeat":     "write when it ends, as in until: result.done",
	"atMost of repeat":    "write how often it may run, as in atMost: 10",
	"agent of ask":        "write who asks, as in agent: mail",

	"workflow":  "start the file with workflow: NAME",
	"steps":     "add steps: with at least one step",
	"onTimeout": "write what happens if no answer comes in time: onTimeout: undo, stop or {answer: VALUE}",
	"answers":   "write what it may be answered with, as in answers: [approve, reject]",
	"question":  "write what is asked, as in question: Pay the expense?",
	"onFailure": "write onFailure: undo (undo the whole order), stop (ask the operator) or continue (undo " +
		"this step alone, and go on)",
	"grade":     "write grade: fenced, idempotent or plain, whatever the remote service offers",
	"timeout":   "write how long one call may take, as in timeout: 2s",
	"agent":     "write who does the step, as in agent: payment; a step that calls no agent has one of",
	"when":      "write when the order fails, as in when: order.total > 10000",
	"code":      "write a short word for programs, as in code: too-large",
	"message":   "write for people why the order fails",
	"operation": "write what the agent does, as in operation: charge",
}

func fixMissing(field, of string) string {
	if field == "workflow" && strings.HasPrefix(of, "step ") {
		return "write what each item goes through, as in workflow: parcel, or the steps of a block, as in steps: {…}"
	}
	fix := cmp.Or(fixes[field+" of "+of], fixes[field], "add "+field)
	if fix == fixes["agent"] {
		for _, f := range forms() {
			fix += " " + f.key + ","
		}
	}
	return strings.TrimSuffix(fix, ",")
}

func fixType(where, name string, v *value, want []string) string {
	switch {
	case strings.HasSuffix(where, "/duration"):
		return fixDuration
	case slices.Contains(want, "array") && v.shape == isText:
		return fmt.Sprintf("write it in brackets: %s: [%s]", name, v.text)
	case slices.Contains(want, "array"):
		return fmt.Sprintf("write a list, as in %s: [a, b]", name)
	case slices.Contains(want, "object"):
		return "write fields below it, indented, each as name: value"
	case slices.Contains(want, "string"):
		return "write a text; put it in quotes if it looks like a number, true, false or null"
	case slices.Contains(want, "number"):
		return "write a number, without quotes"
	case slices.Contains(want, "boolean"):
		return "write true or false, without quotes"
	}
	return "write a whole number, without quotes"
}

func fixPattern(where string) string {
	switch {
	case strings.HasSuffix(where, "/duration"):
		return fixDuration
	case strings.HasSuffix(where, "/answerSpan"):
		return fixDuration + ", or an expression in ${ }"
	case strings.HasSuffix(where, "/name"), strings.HasSuffix(where, "/code"):
		return fixName
	case strings.HasSuffix(where, "/enoughChildren"):
		return "write a whole number, or an expression in ${ }"
	case strings.HasSuffix(where, "/need"), strings.HasSuffix(where, "/who"):
		return "an expression stands in ${ }; write need as a whole number, and who in brackets"
	}
	return "use letters, digits, dots, dashes and underscores, at most 80, the first one a letter"
}

func quoted(v *value) string {
	switch v.shape {
	case isText:
		if len(v.text) > 60 {
			return fmt.Sprintf("%.60q…", v.text)
		}
		return fmt.Sprintf("%q", v.text)
	case isNumber:
		return v.text
	case isBool:
		return fmt.Sprint(v.truth)
	case isNull:
		return "empty"
	case isList:
		return "a list"
	}
	return "a mapping"
}

func words(values []any) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return words
}
