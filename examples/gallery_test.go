package examples_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/examples"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

// The test of an example needs the folder of the example and nothing of the other tests, so that one can copy both.
func TestEachTestStandsAlone(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			imported := func(name string) bool {
				return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
					return path.Base(strings.Trim(i.Path.Value, `"`)) == name
				})
			}
			for _, name := range file.Unresolved {
				require.True(t, imported(name.Name) || types.Universe.Lookup(name.Name) != nil, "%s is declared elsewhere", name)
			}
		})
	}
}

func TestTheListNamesEachExample(t *testing.T) {
	list, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, name := range examples.Names() {
		require.Contains(t, string(list), fmt.Sprintf("- [%s](%s/%s.yaml): ", name, name, name))
	}
}

// answers lists what people and applications answer the steps of the examples.
var answers = map[string]map[string]string{
	"expense":      {"approve": "approve"},
	"food":         {"prepared": "true", "picked-up": "true", "delivered": "true"},
	"insurance":    {"check/ask-clerk": "accept"},
	"invoice":      {"approved/approve": "approve", "approved/review": "clarified"},
	"kyc":          {"checked": `{"status":"passed"}`},
	"papers":       {"contract": "true", "deed": "true", "receipt-came": "true"},
	"phone":        {"typed": "4711"},
	"reminders":    {"second-week": "true", "last-days": "true"},
	"sign-off":     {"legal": "sign", "finance": "sign", "security": "sign"},
	"signup":       {"confirmed": "that is me"},
	"subscription": {"period": "false"},
}

// Against everything that can go wrong, a cancel and the operator's commands at any moment, each example keeps what
// its workflow promises, and can end well.
func TestSimulatedExamples(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 10
	}
	for _, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			order, err := examples.Files.ReadFile(name + "/order.json")
			require.NoError(t, err)
			options := []sim.Option{
				sim.Order(string(order)), sim.Seeds(seeds), sim.With(servicesOf(t, name)), sim.Corpus(""),
			}
			for step, value := range answers[name] {
				options = append(options, sim.Answer(step, value))
			}
			report := sim.Check(t, filepath.Join(name, name+".yaml"), options...)
			require.Positive(t, report.Ends[core.Processed])
		})
	}
}

// servicesOf returns services with the outputs of an example, which its file has by "agent.operation".
func servicesOf(t *testing.T, name string) sim.Services {
	t.Helper()
	outputs := map[string][]json.RawMessage{}
	text, err := examples.Files.ReadFile(name + "/outputs.json")
	if err == nil {
		err = json.Unmarshal(text, &outputs)
	}
	if err != nil {
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
	services := sim.Services{}
	for operation, all := range outputs {
		agent, operation, _ := strings.Cut(operation, ".")
		s := services[agent]
		if s.Outputs == nil {
			s.Outputs = map[string][]json.RawMessage{}
		}
		s.Outputs[operation] = all
		services[agent] = s
	}
	return services
}
