package httpagent

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
)

// entry is an agent of an agents file, without what package settings adds.
type entry struct {
	Agent `yaml:",inline"`

	Operations map[string]Operation `yaml:"operations"`
}

// parse is agentsfile.Parse, which the tests in here cannot import.
func parse(data []byte, lookup func(name string) (string, bool)) (map[string]entry, error) {
	var file struct {
		Agents map[string]entry `yaml:"agents"`
	}
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&file)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	var problems []error
	for name, e := range file.Agents {
		e.Concurrency = 10
		problems = append(problems, e.Fill(Variables{Lookup: lookup})...)
		problems = append(problems, e.Complete()...)
		if len(e.Operations) == 0 {
			e.Operations = map[string]Operation{"*": {}}
		}
		for operation, o := range e.Operations {
			for _, problem := range o.Complete(e.Classify) {
				problems = append(problems, fmt.Errorf("operation %q: %w", operation, problem))
			}
			e.Operations[operation] = o
		}
		file.Agents[name] = e
	}
	return file.Agents, errors.Join(problems...)
}
