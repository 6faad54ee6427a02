package local

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// An example has all agents of its workflows, also those that only a block asks.
func TestExamplesHaveTheirAgents(t *testing.T) {
	for _, name := range exampleNames() {
		t.Run(name, func(t *testing.T) {
			e, err := startExample(t.Context(), name, "127.0.0.1:0")
			require.NoError(t, err)
			defer func() { require.NoError(t, e.remove()) }()
			text, err := os.ReadFile(e.agents())
			require.Equal(t, e.operations == nil, err == nil)
			files, err := source.LoadDir(e.workflows(), source.Options{})
			require.NoError(t, err)
			for _, f := range files {
				require.NotNil(t, f.Definition, f.Problems)
				for _, agent := range asked(f.Definition) {
					if name != exampleOrder || f.Definition.Name == exampleOrder { // provision has no services
						_, inside := e.operations[agent]
						require.True(t, inside || strings.Contains(string(text), "  "+agent+":"), agent)
					}
				}
			}
		})
	}
}

// asked returns the agents that the steps of a definition and of its blocks ask.
func asked(def *core.Definition) (agents []string) {
	for i := range def.Steps {
		s := &def.Steps[i]
		if s.Each != nil && strings.Contains(s.Each.Workflow, core.ChildMark) {
			agents = append(agents, asked(s.Each.Child)...)
		}
		if s.Agent != "" {
			agents = append(agents, s.Agent)
		}
	}
	return agents
}
