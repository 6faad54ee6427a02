package httpagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// stored is an Agent whose JSON contains the references in URL and headers, such as "${env:NAME}". The
// JSON never contains the value of a secret.
type stored struct {
	Agent
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// Encode returns a config in its compiled form, which is JSON. It returns an error for a config that
// Complete has returned, because the compiled form must not contain values of secrets.
func Encode(c Config) ([]byte, error) {
	agents := make(map[string]stored, len(c.Agents))
	for name, a := range c.Agents {
		if a.redact != nil {
			return nil,
				fmt.Errorf(
					"agent %q: its secrets are filled in already; only a config as it was read can be stored",
					name)
		}
		s := stored{Agent: a, URL: string(a.URL), Headers: make(map[string]string, len(a.Headers))}
		for key, value := range a.Headers {
			s.Headers[key] = string(value)
		}
		agents[name] = s
	}
	data, err := json.MarshalIndent(map[string]any{"agents": agents}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	return append(data, '\n'), nil
}

// Decode reads a config in its compiled form and completes the config. The error lists every problem.
func Decode(data []byte, lookup func(name string) (string, bool)) (Config, error) {
	var c Config
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("the compiled settings of the agent cannot be read; deploy again: %w",
			err)
	}
	return Complete(c, lookup)
}

// Variables returns the sorted names of the variables that the config refers to, without repetition.
func Variables(c Config) []string {
	seen := map[string]bool{}
	note := func(name string) (string, bool) {
		seen[name] = true
		return "x", true
	}
	for _, a := range c.Agents {
		_, _, _ = a.URL.fill(note)
		for _, h := range a.Headers {
			_, _, _ = h.fill(note)
		}
		_ = a.fillAWS(note)
		_, _ = a.fillAuth(note)
	}
	return slices.Sorted(maps.Keys(seen))
}
