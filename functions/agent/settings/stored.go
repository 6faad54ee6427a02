package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
)

// Encode returns a file in its compiled form, which is JSON, with references such as "${env:NAME}". It returns an
// error for a file that Complete has returned, because the compiled form must not contain values of secrets.
func Encode(f File) ([]byte, error) {
	for name, a := range f.Agents {
		if a.Filled() {
			return nil,
				fmt.Errorf(
					"agent %q: its secrets are filled in already; only a config as it was read can be stored",
					name)
		}
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	return append(data, '\n'), nil
}

// Decode reads a file in its compiled form. The result is not completed.
func Decode(data []byte) (File, error) {
	var f File
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return File{}, fmt.Errorf("the compiled settings of the agent cannot be read; deploy again: %w",
			err)
	}
	return f, nil
}

// References returns the sorted names of the variables that the file refers to, without repetition.
func References(f File) ([]string, error) {
	compiled, err := Encode(f)
	return slices.Compact(slices.Sorted(slices.Values(httpagent.References(string(compiled))))), err
}
