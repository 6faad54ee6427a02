// Package scaffold writes the first files of a new user: a small project, or a new agent. An agent is a
// program in Go, Python or TypeScript. The files of an agent include a test, a README, and a workflow that
// calls the agent.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/module"

	"github.com/stepkeeper/stepkeeper/shared/message"
)

//go:embed template
var templates embed.FS

// ErrNotEmpty means that the folder already contains files. No file was changed.
var ErrNotEmpty = errors.New("the folder is not empty")

// ExistsError means that a file already exists. No file was written.
type ExistsError struct{ File string }

func (e *ExistsError) Error() string { return e.File + " is there already" }

// Agent describes a new agent.
type Agent struct {
	Name       string // name of at most 40 lower-case letters, digits and hyphens; begins with a letter
	Do         string // name of the do operation
	Undo       string // name of the undo operation
	Language   string // one of Languages; the caller has checked it
	Module     string // path of the new Go module
	Stepkeeper Module // required module of Stepkeeper
}

// Languages lists the languages of new agents.
var Languages = []string{"go", "python", "typescript"}

// CheckNames returns an error if an agent, or one of its operations, cannot have its name. A new operation gets a name
// of the same form.
func CheckNames(agent string, operations ...string) error {
	for i, name := range append([]string{agent}, operations...) {
		if !message.IsAgent(name) {
			return fmt.Errorf("%.60q is not an %s's name; write small letters, digits and -, at most 40, a letter first",
				name, map[bool]string{true: "agent", false: "operation"}[i == 0])
		}
	}
	return nil
}

// Check returns an error if one of the fields is not valid.
func (a Agent) Check() error {
	err := CheckNames(a.Name, a.Do, a.Undo)
	switch {
	case err != nil:
		return err
	case a.Do == a.Undo:
		return fmt.Errorf("the operation and its undo are both named %s; give them different names", a.Do)
	case a.Language != "go":
		return nil
	}
	return checkPath(a.Module)
}

// checkPath returns an error for a path that Go refuses, such as one with a name that Windows reserves.
func checkPath(path string) error {
	if err := module.CheckImportPath(path); err != nil {
		return fmt.Errorf("%.60q is not a module path: %w; give another one with --module, like example.com/shop",
			path, errors.Unwrap(err))
	}
	return nil
}

// Variable returns the name of the environment variable for the address of the service.
func (a Agent) Variable() string {
	return strings.ToUpper(strings.ReplaceAll(a.Name, "-", "_")) + "_URL"
}

// ErrNoPackage means that no clone with the SDK of the agent's language was found.
var ErrNoPackage = errors.New("the packages of sdk are not published yet; they are taken from a clone of " +
	"Stepkeeper")

// sdk returns the path that an agent in the folder dir uses to require the SDK. It returns "" for an agent in
// Go.
func (a Agent) sdk(dir string) (string, error) {
	switch {
	case a.Language == "go":
		return "", nil
	case a.Stepkeeper.Dir == "":
		return "", ErrNoPackage
	}
	path := filepath.ToSlash(relative(dir, filepath.Join(a.Stepkeeper.Dir, "sdk", a.Language)))
	if a.Language == "typescript" {
		path = "file:" + path
	}
	return path, nil
}

// Write creates a folder, writes the agent's files to it and returns the files' names. It returns ErrNotEmpty
// if the folder is not empty.
func (a Agent) Write(dir string) ([]string, error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotEmpty, dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	required, err := a.sdk(dir)
	if err != nil {
		return nil, err
	}
	data := struct {
		Agent
		Package string
	}{a, required}
	files, err := filled(templates, "template/all", data)
	if err != nil {
		return nil, err
	}
	own, err := filled(templates, "template/"+a.Language, data)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, own)
	if a.Language == "go" {
		mod, err := a.Stepkeeper.files(dir, a.Module, agentModules)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, mod)
	}
	return write(dir, files)
}

// write writes files below dir and returns their names. If one of the files already exists, write returns an
// ExistsError and writes no file.
func write(dir string, files map[string][]byte) ([]string, error) {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil, &ExistsError{filepath.Join(dir, name)}
		}
	}
	for i, name := range names {
		err := create(filepath.Join(dir, name), files[name])
		if err != nil {
			for _, written := range names[:i] { // The caller can repeat the call, perhaps with more room.
				err = errors.Join(err, os.Remove(filepath.Join(dir, written)))
			}
			return nil, err
		}
	}
	return names, nil
}

// create writes a new file. If it returns an error, there is no new file.
func create(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Close())
	if err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// hidden returns the real name of an embedded file. It adds the leading dot to names such as .gitignore,
// because go:embed skips files whose names begin with a dot.
func hidden(name string) string {
	dir, base := path.Split(name)
	if base == "gitignore" || base == "npmrc" {
		base = "." + base
	}
	if strings.HasPrefix(dir, "github/") {
		dir = "." + dir
	}
	return dir + base
}

// filled returns the files below a folder, under their real names. It fills the files whose names end in .tmpl.
func filled(from fs.FS, folder string, data any) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(from, folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, isTemplate := strings.CutSuffix(strings.TrimPrefix(path, folder+"/"), ".tmpl")
		if isTemplate {
			files[hidden(name)], err = fill(path, data)
		} else {
			files[hidden(name)], err = fs.ReadFile(from, path)
		}
		return err
	})
	return files, err
}

func fill(file string, data any) ([]byte, error) {
	t, err := template.New(path.Base(file)).Option("missingkey=error").ParseFS(templates,
		"template/partials.tmpl", file)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(file, ".go.tmpl") {
		return b.Bytes(), nil
	}
	text, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}
