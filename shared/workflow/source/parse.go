package source

import (
	"fmt"
	"path/filepath"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Options configures Parse.
type Options struct {
	// KnownAgents holds the agents that exist. Nil means that any name is accepted.
	KnownAgents []string
	// MaxTimeout returns the longest time of one handling in the agent's environment, such as Lambda. 0, or a
	// nil function, means that only queues limit the time.
	MaxTimeout func(agent string) core.Duration
	// CannotKeep returns why an agent cannot fulfil the grade of a step, and the fix; "" if it can. kept is
	// the agent's keyRetention. A nil function means that every agent can fulfil every grade.
	CannotKeep func(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string)

	// child returns the definition of a child workflow, or the problem that prevents it. A nil function means
	// that there are no child workflows.
	child func(name string) (def *core.Definition, problem, fix string)
	// beside reads a file of the workflow's folder. A nil function means that there is no folder.
	beside func(name string) ([]byte, error)
}

// Parse reads one workflow file. file is the name that the problems show. The definition has its hash and its
// expressions. It is nil if any problem is an error.
func Parse(file string, data []byte, opts Options) (*core.Definition, Problems) {
	r := &report{file: filepath.ToSlash(file)}
	d := parse(data, opts, r)
	problems := r.problems.sorted()
	if d == nil || problems.Err() != nil {
		return nil, problems
	}
	if err := workflow.Seal(d); err != nil { // every expression was checked, so this is a bug
		r.error(position{}, err.Error(), "")
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
		r.error(root.at, "the file has no fields", "start with workflow: NAME and steps:")
		return nil
	}
	if steps := root.field("steps"); steps != nil && len(steps.value.fields) > MaxSteps {
		r.error(steps.at, fmt.Sprintf("the workflow has %d steps, the limit is %d", len(steps.value.fields),
			MaxSteps),
			"split it, or give lists to single steps")
		return nil
	}
	checkSchema(root, r)
	b := &builder{report: r, opts: opts, root: root}
	return b.definition()
}
