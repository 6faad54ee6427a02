package local

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// An example has all agents of its workflows, also those that only a block asks.
func TestExamplesHaveTheirAgents(t *testing.T) {
	for _, name := range exampleNames() {
		t.Run(name, func(t *testing.T) {
			o := &devOptions{example: name, Options: embedded.Options{Listen: "127.0.0.1:0"}}
			end, err := o.startExample(t.Context())
			require.NoError(t, err)
			defer func() { end(); require.NoDirExists(t, o.Workflows) }()
			text, err := os.ReadFile(o.Agents)
			require.Equal(t, o.Operations == nil, err == nil)
			files, err := source.LoadDir(o.Workflows, source.Options{})
			require.NoError(t, err)
			for _, f := range files {
				require.NotNil(t, f.Definition, f.Problems)
				for _, agent := range asked(f.Definition) {
					if name != exampleOrder || f.Definition.Name == exampleOrder { // provision has no services
						_, inside := o.Operations[agent]
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
