package source

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// LoadDir reads every *.yaml and *.yml file of a directory, in the order of their names, and not
// those of directories in it. The definitions are those of the files without errors, so that one
// broken file stops no other workflow; two files that define the same workflow are both an error.
func LoadDir(dir string, opts Options) ([]*core.Definition, Problems) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, Problems{{File: filepath.ToSlash(dir), What: reason(err), Mend: "name a directory with workflow files"}}
	}
	var definitions []*core.Definition
	var problems Problems
	files := map[string]string{}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || ext != ".yaml" && ext != ".yml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		file := filepath.Join(dir, e.Name())
		d, ps := LoadFile(file, opts)
		problems = append(problems, ps...)
		if d == nil {
			continue
		}
		if first, twice := files[d.Name]; twice {
			problems = append(problems, Problem{File: filepath.ToSlash(file),
				What: fmt.Sprintf("workflow %s is already defined in %s", d.Name, filepath.ToSlash(first)), Mend: "rename one of them"})
			definitions = without(definitions, d.Name)
			continue
		}
		files[d.Name] = file
		definitions = append(definitions, d)
	}
	return definitions, problems
}

func without(definitions []*core.Definition, name string) []*core.Definition {
	var rest []*core.Definition
	for _, d := range definitions {
		if d.Name != name {
			rest = append(rest, d)
		}
	}
	return rest
}

// LoadFile reads one workflow file.
func LoadFile(file string, opts Options) (*core.Definition, Problems) {
	data, err := readFile(file)
	if err != nil {
		return nil, Problems{{File: filepath.ToSlash(file), What: reason(err), Mend: "check its name and that it may be read"}}
	}
	return Parse(file, data, opts)
}

// readFile reads at most one byte more than a workflow may have, so that a huge file costs nothing.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// reason drops the path, which the problem shows already.
func reason(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		return "it cannot be read: " + e.Err.Error()
	}
	return "it cannot be read: " + err.Error()
}
