package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
)

// ErrNoProject means that a folder contains no project.
var ErrNoProject = errors.New("it holds no project: agents.yaml and the folder workflows are missing")

// AWS describes the files that deploy a project: a CDK app in the folder aws, and a workflow for GitHub
// Actions. The folder aws has its own Go module. The project's module therefore depends on neither the CDK
// nor npm packages.
type AWS struct {
	Stepkeeper Module // required module of Stepkeeper

	Name string // start of the stacks' names, derived from the name of the project's folder
}

// Write adds the files to the project in a folder and returns the files' names. It returns ErrNoProject if
// there is no project, and an ExistsError if one of the files already exists. In these cases it writes
// nothing.
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

// files returns the files for the project in dir. If the project has a go.mod, this file determines the path
// of the Go module. Otherwise the parameter path does.
func (a AWS) files(dir, path string) (map[string][]byte, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// The name of a stack must begin with a letter.
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
	files, err := filled(templates, "template/aws", a)
	if err != nil {
		return nil, err
	}
	module, err := a.Stepkeeper.files(filepath.Join(dir, "aws"), path+"/aws", "")
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse("go.mod", module["go.mod"], nil)
	if err != nil {
		return nil, err
	}
	// The npm package of the CDK contains template files that look like Go code and do not compile.
	if err := f.AddIgnore("./node_modules"); err != nil {
		return nil, err
	}
	module["go.mod"], err = f.Format()
	if err != nil {
		return nil, err
	}
	for name, text := range module {
		files["aws/"+name] = text
	}
	return files, nil
}
