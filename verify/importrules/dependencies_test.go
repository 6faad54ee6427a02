package importrules

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every library that go.mod asks for has its reason in docs/reference/dependencies.md, and no reason outlives
// its library.
func TestDependenciesHaveTheirReasons(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/dependencies.md")
	require.NoError(t, err)
	for _, problem := range reasons(string(text), direct(t)) {
		t.Error("docs/reference/dependencies.md: " + problem)
	}
}

var reasonLine = regexp.MustCompile(`(?m)^- ([^ :]+/[^ :]+(?:, [^ :]+)*):(.*)$`)

// reasons lists the modules without a line, and the lines without a module. A line names modules by
// their first elements, so that one line stands for all services of an SDK.
func reasons(text string, modules []string) []string {
	var problems []string
	used := map[string]bool{}
	for _, m := range modules {
		covered := false
		for _, line := range reasonLine.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(line[1], ", ") {
				if m == name || strings.HasPrefix(m, name+"/") {
					used[name] = true
					covered = covered || strings.TrimSpace(line[2]) != ""
				}
			}
		}
		if !covered {
			problems = append(problems, "no reason for "+m)
		}
	}
	for _, line := range reasonLine.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(line[1], ", ") {
			if !used[name] {
				problems = append(problems, fmt.Sprintf("%s is no requirement of go.mod", name))
			}
		}
	}
	return problems
}

// direct are the modules that go.mod requires for this module's own packages.
func direct(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "mod", "edit", "-json", "../../go.mod").Output()
	require.NoError(t, err)
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(out, &file))
	var modules []string
	for _, r := range file.Require {
		if !r.Indirect {
			modules = append(modules, r.Path)
		}
	}
	require.GreaterOrEqual(t, len(modules), 10)
	return modules
}
