package cloud

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Workflows reads the definitions that were compiled at deploy, *.json in the folder. The error
// lists every file that cannot be used.
func Workflows(folder string) (map[string]*core.Definition, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no compiled workflow, *.json, is in %s; deploy again", folder)
	}
	if err != nil {
		return nil, err
	}
	definitions := make(map[string]*core.Definition, len(files))
	var problems []error
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // of the function's own package
		if err != nil {
			problems = append(problems, err)
			continue
		}
		d, err := workflow.Decode(workflow.Hash(data), data)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
			continue
		}
		if definitions[d.Name] != nil {
			problems = append(problems, fmt.Errorf("%s: workflow %s is there twice", file, d.Name))
		}
		definitions[d.Name] = d
	}
	return definitions, errors.Join(problems...)
}
