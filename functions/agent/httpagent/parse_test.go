package httpagent

import (
	"bytes"
	"errors"
	"io"

	"github.com/goccy/go-yaml"
)

// Parse is that of package agentsfile, which the tests in here cannot import.
func Parse(data []byte, lookup func(name string) (string, bool)) (Config, error) {
	var c Config
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&c)
	if err != nil && !errors.Is(err, io.EOF) {
		return Config{}, errors.New(yaml.FormatError(err, false, false))
	}
	return Complete(c, lookup)
}
