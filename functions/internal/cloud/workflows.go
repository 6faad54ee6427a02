package cloud

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Workflows reads the compiled definitions in the folder, which are the files *.json. Those of blocks are only children
// in the result, because no order can name them (P55, a block is a child order of the same file). The error lists
// every file that cannot be used.
func Workflows(folder string) (map[string]*core.Definition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no compiled workflow, *.json, is in %s; deploy again", folder)
	}
	if err != nil {
		return nil, err
	}
	definitions := make(map[string]*core.Definition, len(files))
	from := make(map[string]string, len(files))
	var problems []error
	for _, file := range files {
		d, err := compiled(file)
		switch {
		case err != nil:
			problems = append(problems, err)
		case from[d.Name] != "":
			problems = append(problems, fmt.Errorf("%s: workflow %s is in %s already; deploy one of them",
				file, d.Name, from[d.Name]))
		default:
			definitions[d.Name] = d
			from[d.Name] = file
		}
	}
	problems = append(problems, withChildren(definitions)...)
	maps.DeleteFunc(definitions, func(name string, _ *core.Definition) bool { return core.IsBlock(name) })
	return definitions, errors.Join(problems...)
}

func withChildren(definitions map[string]*core.Definition) (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		for i := range definitions[name].Steps {
			e := definitions[name].Steps[i].Each
			if e == nil {
				continue
			}
			e.Child = definitions[e.Workflow]
			if e.Child == nil || e.Child.Hash != e.Definition {
				problems = append(problems,
					fmt.Errorf(
						"workflow %s has children of the workflow %s, hash %s, which is not among the "+
							"compiled ones; deploy again", name, e.Workflow, e.Definition))
			}
		}
	}
	return problems
}

// Scheduled returns the compiled definitions in the folder that have a schedule. It returns no definitions if
// the folder is missing or empty.
func Scheduled(folder string) ([]*core.Definition, error) {
	if folder == "" {
		return nil, nil
	}
	if files, err := filepath.Glob(filepath.Join(folder, "*.json")); err != nil || len(files) == 0 {
		return nil, err
	}
	all, err := Workflows(folder)
	var scheduled []*core.Definition
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Schedule != nil {
			scheduled = append(scheduled, all[name])
		}
	}
	return scheduled, err
}

// compiled reads one file. The file must equal the output of workflow.Encode, byte for byte. Tasks
// name their definition by the hash of the file, but the Scheduler stores the output of
// workflow.Encode. If the file were different, the hash of the stored definition would be wrong.
func compiled(file string) (*core.Definition, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the file belongs to the function's own package
	if err != nil {
		return nil, fmt.Errorf("compiled workflow: %w; deploy again", err)
	}
	d, err := workflow.Decode(workflow.Hash(data), data)
	var canonical []byte
	if err == nil {
		canonical, err = workflow.Encode(d)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !bytes.Equal(data, canonical) {
		return nil,
			fmt.Errorf(
				"%s: workflow %s is not in the form that it is compiled to (hash %s, compiled %s): the "+
					"file was changed by hand, or by another version; deploy again",
				file, d.Name, d.Hash, workflow.Hash(canonical))
	}
	return d, nil
}
