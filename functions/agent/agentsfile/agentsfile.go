// Package agentsfile reads agents files in YAML or JSON. Functions on Lambda read compiled settings
// with package settings. The packages are separate, so that these functions contain no YAML parser.
package agentsfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/shared/regularfile"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const maxFile = 1 << 20

// ErrFile is the error of an agents file that Load or Check refuses.
var ErrFile = errors.New("agents file")

// Load reads and checks an agents file. It replaces references to variables by values of the environment. The
// error lists every problem of the file.
func Load(file string) (settings.File, error) {
	data, err := text(file)
	if err != nil {
		return settings.File{}, err
	}
	c, err := Parse(data, os.LookupEnv)
	if err != nil {
		return settings.File{}, fmt.Errorf("%w %s: %w", ErrFile, file, err)
	}
	return c, nil
}

func text(file string) ([]byte, error) {
	data, err := regularfile.Read(file, maxFile+1)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w %s: %w", ErrFile, file, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("%w %s is larger than %d bytes", ErrFile, file, maxFile)
	}
	return data, nil
}

// Parse reads and checks the text of an agents file. It replaces references to variables by values from
// lookup.
func Parse(data []byte, lookup func(name string) (string, bool)) (settings.File, error) {
	c, err := Read(data)
	if err != nil {
		return settings.File{}, err
	}
	return settings.Complete(c, lookup)
}

// Read parses the text of an agents file. It checks only the names and types of fields. It does not
// replace references to variables.
func Read(data []byte) (settings.File, error) {
	data = source.WithoutMark(data)
	if err := source.CheckScalars(data); err != nil {
		return settings.File{}, err
	}
	if file, err := parser.ParseBytes(data, 0); err == nil && len(file.Docs) > 0 { // Decode reports other errors
		if err := misread(reflect.TypeFor[settings.File](), file.Docs[0].Body); err != nil {
			return settings.File{}, err
		}
	}
	var c settings.File
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
	err := d.Decode(&c)
	if err != nil && !errors.Is(err, io.EOF) {
		return settings.File{}, explained(err, data)
	}
	var second any
	if err == nil && !errors.Is(d.Decode(&second), io.EOF) {
		return settings.File{},
			errors.New("the file holds a second document; keep all agents in the first one")
	}
	if _, found := c.Agents[""]; found {
		return settings.File{}, fmt.Errorf("%san agent has no name; fix: write one before the colon; a name that YAML "+
			`reads otherwise needs quotes, like "null"`, unnamed(data))
	}
	return c, nil
}
