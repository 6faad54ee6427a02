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

// ErrFile is the error of an agents file that ReadFile, Load or Check refuses.
var ErrFile = errors.New("agents file")

// Load reads and checks an agents file. It replaces references to variables by values of the environment. The
// error lists every problem of the file.
func Load(file string) (settings.File, error) {
	c, err := ReadFile(file)
	if err != nil {
		return c, err
	}
	return completed(file, c, settings.Variables{Lookup: os.LookupEnv})
}

func completed(file string, c settings.File, v settings.Variables) (settings.File, error) {
	c, err := settings.Complete(c, v)
	if err != nil {
		return c, fmt.Errorf("%w %s: %w", ErrFile, file, err)
	}
	return c, nil
}

// ReadFile is like Read, and reads the text from a file.
func ReadFile(file string) (c settings.File, err error) {
	data, err := regularfile.Read(file, maxFile+1)
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	if err == nil {
		c, err = Read(data)
	}
	if err != nil {
		return c, fmt.Errorf("%w %s: %w", ErrFile, file, err)
	}
	return c, nil
}

// Parse reads and checks the text of an agents file. It replaces references to variables by values from
// lookup.
func Parse(data []byte, lookup func(name string) (string, bool)) (settings.File, error) {
	c, err := Read(data)
	if err != nil {
		return settings.File{}, err
	}
	return settings.Complete(c, settings.Variables{Lookup: lookup})
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
		return settings.File{}, explained(err)
	}
	var second any
	if err == nil && !errors.Is(d.Decode(&second), io.EOF) {
		return settings.File{},
			errors.New("the file holds a second document; keep all agents in the first one")
	}
	return c, nil
}
