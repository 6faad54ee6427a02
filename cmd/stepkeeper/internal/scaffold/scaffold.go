// Package scaffold writes a new agent: a Go program of its own that compiles, with its test, a
// README and a workflow to try it with.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed template
var templates embed.FS

// ErrNotEmpty: the folder holds files already; none was touched.
var ErrNotEmpty = errors.New("the folder is not empty")

// Agent is what to write.
type Agent struct {
	Name    string // small letters, digits and -, at most 40, a letter first
	Do      string // the operation
	Undo    string // the operation that reverses it
	Module  string // path of the new Go module
	Go      string // Go release, for go.mod
	Version string // of Stepkeeper to require; "" leaves it to `go get`
	Replace string // folder of a working copy of Stepkeeper to use instead; "" for none
}

var (
	namePattern      = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	operationPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	modulePattern    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~/-]*$`)
)

// Check says what is wrong with the names.
func (a Agent) Check() error {
	const form = "small letters, digits and -, at most 40, a letter first"
	switch {
	case !namePattern.MatchString(a.Name):
		return fmt.Errorf("%.60q is no agent's name: %s", a.Name, form)
	case !operationPattern.MatchString(a.Do):
		return fmt.Errorf("%.60q is no operation's name: %s", a.Do, form)
	case !operationPattern.MatchString(a.Undo):
		return fmt.Errorf("%.60q is no operation's name: %s", a.Undo, form)
	case a.Do == a.Undo:
		return fmt.Errorf("the operation and its undo are both %s; give them names of their own", a.Do)
	case !modulePattern.MatchString(a.Module):
		return fmt.Errorf("%.60q is no module path; write one like example.com/agents/%s", a.Module, a.Name)
	}
	return nil
}

// Variable is the environment variable that holds the service's address.
func (a Agent) Variable() string {
	return strings.ToUpper(strings.ReplaceAll(a.Name, "-", "_")) + "_URL"
}

// Tidy reports that the user has to fetch Stepkeeper first.
func (a Agent) Tidy() bool { return a.Version == "" }

// Write writes the files into a folder, which it makes, and answers their names. ErrNotEmpty where
// something is in it.
func (a Agent) Write(dir string) ([]string, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotEmpty, dir)
	}
	files, err := a.render()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// render fills in all templates, by the names of their files.
func (a Agent) render() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(templates, "template", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		t, err := template.New(path).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, a); err != nil {
			return err
		}
		name := strings.TrimSuffix(entry.Name(), ".tmpl")
		if name == "gitignore" {
			name = ".gitignore"
		}
		data := b.Bytes()
		if strings.HasSuffix(name, ".go") {
			if data, err = format.Source(data); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		files[name] = data
		return nil
	})
	return files, err
}
