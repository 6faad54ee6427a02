package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/regularfile"
)

// File is one workflow file of a directory. Definition is nil where the file has errors.
type File struct {
	Name       string // in the directory
	Workflow   string // the name that orders give, also where the file has errors; "" where it has none
	Definition *core.Definition
	Problems   Problems
}

// LoadDir reads every *.yaml and *.yml file of a directory, in the order of their names. It reads
// regular files that lie in it; any other entry of such a name is a file with a problem. The error is
// that of the directory. Two files may define the same workflow.
func LoadDir(dir string, opts Options) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("workflows: %w", err)
	}
	defer func() { _ = root.Close() }() // it was only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("workflows: %w", err)
	}
	var files []File
	for _, name := range workflowsOf(entries) {
		data, err := regularfile.ReadIn(root, name, MaxFile+1)
		f := File{Name: name}
		f.Definition, f.Problems = parsed(filepath.Join(dir, name), data, err, opts)
		if m := declared.FindSubmatch(data); m != nil {
			f.Workflow = string(m[1])
		}
		files = append(files, f)
	}
	return files, nil
}

// workflowsOf are the names of workflow files, whatever kind of entry has them.
func workflowsOf(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// Files lists the workflow files of a directory, in the order of their names; a place that is no
// directory is a file itself.
func Files(place string) ([]string, error) {
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		return []string{place}, err
	}
	entries, err := os.ReadDir(place)
	files := workflowsOf(entries)
	for i := range files {
		files[i] = filepath.Join(place, files[i])
	}
	return files, err
}

// declared finds the name in a file that may not be YAML.
var declared = regexp.MustCompile(`(?m)^workflow:[ \t]*["']?([a-z][a-z0-9-]{0,63})\b`)

// LoadFile reads one workflow file, which must be a regular one. A link is followed.
func LoadFile(file string, opts Options) (*core.Definition, Problems) {
	data, err := regularfile.Read(file, MaxFile+1) // one byte more than a workflow may have
	return parsed(file, data, err, opts)
}

func parsed(file string, data []byte, err error, opts Options) (*core.Definition, Problems) {
	switch {
	case errors.Is(err, regularfile.ErrNotRegular), errors.Is(err, regularfile.ErrOutside):
		return nil, Problems{{File: filepath.ToSlash(file), What: "it is not read: " + err.Error(), Fix: "put the file itself here, or rename this entry so that it does not end in .yaml or .yml"}}
	case err != nil:
		return nil, Problems{{File: filepath.ToSlash(file), What: reason(err), Fix: "check its name and that it may be read"}}
	}
	return Parse(file, data, opts)
}

// reason drops the path, which the problem shows already.
func reason(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		return "it cannot be read: " + e.Err.Error()
	}
	return "it cannot be read: " + err.Error()
}
