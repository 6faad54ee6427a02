package source

import (
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Options configures Parse.
type Options struct {
	// KnownAgents contains the names of the agents that exist. nil means that every name is accepted.
	KnownAgents []string
	// MaxTimeout returns the longest time that the agent's environment, such as Lambda, gives to one request.
	// The result 0, or a nil function, means no limit.
	MaxTimeout func(agent string) core.Duration
	// CannotKeep returns a problem and its fix if an agent cannot provide the grade of a step. Otherwise the
	// problem is "". The parameter kept is the agent's keyRetention. A nil function means that every agent
	// can provide every grade.
	CannotKeep func(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string)

	// child returns the definition of a child workflow, or a problem and its fix. A nil function means that
	// child workflows are not available.
	child func(name string) (def *core.Definition, problem, fix string)
	// beside reads a file in the folder of the workflow file. A nil function means that there is no folder.
	beside func(name string) ([]byte, error)
}

// Parse reads a workflow file. file is the name that the problems show. The returned definition has a hash
// and compiled expressions. The definition is nil if at least one problem is an error.
func Parse(file string, data []byte, opts Options) (*core.Definition, Problems) {
	r := &report{file: filepath.ToSlash(file)}
	d := parse(data, opts, r)
	problems := r.problems.sorted()
	if d == nil || problems.Err() != nil {
		return nil, problems
	}
	if err := sealed(d); err != nil { // cannot happen, because every expression was checked
		r.error(position{}, "%s", err)
		return nil, r.problems.sorted()
	}
	return d, problems
}

func parse(data []byte, opts Options, r *report) *core.Definition {
	root := read(data, r)
	if root == nil {
		return nil
	}
	if root.shape != isMap {
		r.error(root.at, "the file has no fields").fix("start with workflow: NAME and steps:")
		return nil
	}
	if steps := root.field("steps"); steps != nil && len(steps.value.fields) > MaxSteps {
		r.error(steps.at, "the workflow has %d steps, the limit is %d", len(steps.value.fields), MaxSteps).
			fix("split it, or give lists to single steps")
		return nil
	}
	root = withBlocks(root, r)
	checkSchema(root, r)
	b := &builder{report: r, opts: opts, root: root}
	return b.definition()
}
