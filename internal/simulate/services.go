package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schema"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// serviceFile is the format of the services file. The keys of Services are the names of agents.
type serviceFile struct {
	Services map[string]serviceEntry `yaml:"services"`
}

// serviceEntry is the entry of one agent. Its keys are the fields of Service and the names of operations.
type serviceEntry struct {
	Service
	operations map[string]describedOperation
}

// describedOperation describes the outputs of an operation: either one output, or outputs drawn from a schema.
type describedOperation struct {
	Output any `yaml:"output"`
	Schema any `yaml:"schema"`
}

var serviceFields = []string{
	"check", "failures", "forgets", "grade", "latency", "noUndo", "refusals",
	"slowLatency",
}

// readEntry parses the entry of one agent. It returns an error for a key that is neither a field nor an
// operation. A key whose value is a mapping is an operation, even if a field has the same name.
func readEntry(e *serviceEntry, data []byte) error {
	var keys map[string]any
	if err := yaml.Unmarshal(data, &keys); err != nil {
		return err
	}
	e.operations = map[string]describedOperation{}
	fields := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if _, isMapping := keys[key].(map[string]any); !isMapping {
			if slices.Contains(serviceFields, key) {
				fields[key] = keys[key]
				continue
			}
			return fmt.Errorf("unknown field %.40q; %s", key, suggest.DidYouMean(key, serviceFields,
				"there are "+strings.Join(serviceFields, ", ")+", and operations, as in reserve: {output: "+
					"{price: 270}}"))
		}
		text, err := yaml.Marshal(keys[key])
		var o describedOperation
		if err == nil {
			err = yaml.UnmarshalWithOptions(text, &o, yaml.Strict())
		}
		if err != nil || (o.Output == nil) == (o.Schema == nil) {
			return fmt.Errorf("the operation %.40q must have either output or schema, as in reserve: "+
				"{output: {price: 270}}", key)
		}
		e.operations[key] = o
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		return err
	}
	return yaml.UnmarshalWithOptions(text, &e.Service, yaml.CustomUnmarshaler(readSpan))
}

const samples = 8

func (o describedOperation) outputs() ([]json.RawMessage, error) {
	given := o.Output
	if o.Schema != nil {
		given = o.Schema
	}
	text, err := rawjson.Marshal(given)
	if err != nil {
		return nil, err
	}
	if o.Schema == nil {
		if len(text) > worker.MaxOutput {
			return nil, fmt.Errorf("the output has %d bytes, the limit is %d", len(text), worker.MaxOutput)
		}
		return []json.RawMessage{text}, nil
	}
	s, err := schema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	all := s.Samples(samples)
	if len(all) == 0 {
		return nil, errors.New("no value of the schema can be drawn; give its output instead")
	}
	return all, nil
}

// performs returns the sorted names of the operations that an agent executes in the workflows.
func performs(defs []*core.Definition, agent string) (names []string) {
	for _, d := range defs {
		for i := range d.Steps {
			s := &d.Steps[i]
			if slices.Contains(s.AllAgents(), agent) {
				names = append(names, s.Operation)
			}
			if s.Remind != nil && s.Remind.Agent == agent {
				names = append(names, s.Remind.Operation)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readSpan(d *core.Duration, data []byte) error {
	var text string
	if err := yaml.Unmarshal(data, &text); err != nil {
		return err
	}
	v, ok := core.ParseDuration(text)
	if !ok || v > longestTime {
		return fmt.Errorf("%.40q is no span of time of up to 366 days; write it like 200ms, 3s, 10m or 2d", text)
	}
	*d = v
	return nil
}

// share reports whether f is between 0 and 1. It returns false for NaN.
func share(f float64) bool { return f >= 0 && f <= 1 }

// longestTime bounds the durations in the file, so that times do not overflow when the simulator adds them.
const longestTime = 366 * core.Day

const maxServices = 256 << 10

// ParseServices parses the services file, which describes the true behaviour of the services behind a
// workflow's agents. The file is one YAML document of at most 256 KiB. It may also describe agents of the
// workflows in others, which it serves too; ParseServices then checks these entries and leaves them out. If
// the document can be parsed, the error contains all problems.
func ParseServices(data []byte, def *core.Definition, others ...*core.Definition) (Services, error) {
	file, err := readServices(data)
	if err != nil {
		return nil, fmt.Errorf("the services cannot be read: %w", err)
	}
	var problems []error
	all := Services{}
	simulated := def.WithChildren()
	known := simulated
	for _, other := range others {
		known = append(slices.Clip(known), other.WithChildren()...)
	}
	for name, entry := range file.Services {
		s := entry.Service
		for key, o := range entry.operations {
			if used := performs(known, name); len(used) > 0 && !slices.Contains(used, key) {
				problems = append(problems, fmt.Errorf("services: %s: no step uses the operation %.40q; %s",
					name, key, suggest.DidYouMean(key, used, "there are "+strings.Join(used, ", "))))
			}
			outputs, err := o.outputs()
			if err != nil {
				problems = append(problems, fmt.Errorf("services: %s: operation %.40q: %w", name, key, err))
			}
			if s.Outputs == nil {
				s.Outputs = map[string][]json.RawMessage{}
			}
			s.Outputs[key] = outputs
		}
		if hasAgent(simulated, name) {
			all[name] = s
		} else if !hasAgent(known, name) {
			problems = append(problems, fmt.Errorf("services: the workflow %s has no agent %q, and neither has "+
				"a child of it or another workflow of its folder", def.Name, name))
		}
		if !slices.Contains([]core.Grade{"", core.Fenced, core.Idempotent, core.Plain}, s.Grade) {
			problems = append(problems,
				fmt.Errorf("services: %s: grade %q must be fenced, idempotent or plain", name, s.Grade))
		}
		if !share(s.Failures) || !share(s.Refusals) {
			problems = append(problems,
				fmt.Errorf("services: %s: failures and refusals are shares of the calls, 0 to 1", name))
		}
	}
	slices.SortFunc(problems,
		func(a, b error) int { return bytes.Compare([]byte(a.Error()), []byte(b.Error())) })
	return all, errors.Join(problems...)
}

func hasAgent(defs []*core.Definition, agent string) bool {
	return slices.ContainsFunc(defs, func(d *core.Definition) bool {
		_, has := d.Agents[agent]
		return has
	})
}

func readServices(data []byte) (file serviceFile, err error) {
	if len(data) > maxServices {
		return file, fmt.Errorf("the file has %d bytes, and %d are allowed", len(data), maxServices)
	}
	data = source.WithoutMark(data)
	if err := source.CheckScalars(data); err != nil {
		return file, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.CustomUnmarshaler(readEntry))
	err = d.Decode(&file)
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty; leave it out if the services do what the workflow declares")
	}
	if err != nil {
		return file, err
	}
	var second any
	if !errors.Is(d.Decode(&second), io.EOF) {
		return file, errors.New("the file holds a second document; keep all services in the first one")
	}
	return file, nil
}
