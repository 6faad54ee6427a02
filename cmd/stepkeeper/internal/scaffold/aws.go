package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// ErrNoProject means that a folder holds no project that could be deployed.
var ErrNoProject = errors.New("it holds no project: agents.yaml and the folder workflows are missing")

// AWS describes the files that deploy a project: a CDK app in the folder aws, and a workflow of GitHub
// Actions. The folder aws is a Go module of its own, so that the project's module depends neither on the CDK
// nor on packages of npm.
type AWS struct {
	Go         string // Go release, for go.mod
	Stepkeeper Module // module to build against

	Name string // first part of the stacks' names; Write sets it to the name of the folder
}

// Write adds the files to the project in a folder, and returns their names. If one of the files exists
// already, it writes nothing and returns an ExistsError.
func (a AWS) Write(dir string) ([]string, error) {
	for _, name := range []string{"agents.yaml", "workflows"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, ErrNoProject)
		}
	}
	files, err := a.files(dir, "")
	if err != nil {
		return nil, err
	}
	return write(dir, files)
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// files returns the files for the project in dir. path is the path of the project's Go module; "" means the
// one in its go.mod.
func (a AWS) files(dir, path string) (map[string][]byte, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// A stack's name begins with a letter.
	a.Name = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(filepath.Base(abs)), "-"), "-")
	if a.Name == "" || a.Name[0] < 'a' {
		a.Name = strings.TrimSuffix("app-"+a.Name, "-")
	}
	a.Name = strings.TrimRight(a.Name[:min(len(a.Name), 40)], "-")
	if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
		path = modfile.ModulePath(text)
	}
	if path == "" {
		path = "example.com/" + a.Name
	}
	files := map[string][]byte{}
	err = fs.WalkDir(templates, "template/aws", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, filled := strings.CutSuffix(strings.TrimPrefix(path, "template/aws/"), ".tmpl")
		if filled {
			files[hidden(name)], err = fill(path, a)
		} else {
			files[hidden(name)], err = templates.ReadFile(path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	module, err := a.Stepkeeper.files(filepath.Join(dir, "aws"), path+"/aws", a.Go, "")
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", module["go.mod"], nil)
	if err != nil {
		return nil, err
	}
	// The CDK's command line has templates of Go files, which do not compile.
	if err := f.AddIgnore("./node_modules"); err != nil {
		return nil, err
	}
	if module["go.mod"], err = f.Format(); err != nil {
		return nil, err
	}
	for name, text := range module {
		files["aws/"+name] = text
	}
	return files, nil
}
