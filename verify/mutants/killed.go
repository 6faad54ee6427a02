package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// killedFile is, from the root, the list of what killed each mutant when -record was last given: a line
// of its name, the killer and the test.
const killedFile = "verify/mutants/killed.txt"

// kill is the test of a killer that noticed a mutant.
type kill struct{ killer, test string }

// readKills reads the list. It only saves time: a mutant that it does not name, or whose test passes,
// meets its whole killers.
func readKills(root string) (map[string]kill, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(killedFile)))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	kills := map[string]kill{}
	for line := range strings.Lines(string(text)) {
		part := strings.Fields(line)
		if len(part) != 3 {
			return nil, fmt.Errorf("%s: %q is not a mutant, a killer and a test; write the file again with -record", killedFile, line)
		}
		kills[part[0]] = kill{part[1], part[2]}
	}
	return kills, nil
}

// Record writes the list again. What these results do not name stays, unless there is no such mutant.
func Record(root string, results []Result) error {
	kills, err := readKills(root)
	if err != nil {
		return err
	}
	if kills == nil {
		kills = map[string]kill{}
	}
	for _, r := range results {
		delete(kills, r.Name)
		if strings.HasPrefix(r.Test, "Test") {
			kills[r.Name] = kill{r.By, r.Test}
		}
	}
	var lines []string
	for _, m := range All() {
		if k, ok := kills[m.Name]; ok {
			lines = append(lines, fmt.Sprintf("%s %s %s\n", m.Name, k.killer, k.test))
		}
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(killedFile)), []byte(strings.Join(lines, "")), 0o644) //nolint:gosec // a source file
}

// alone are the tests that were run by themselves without a mutant, with the time that each may take.
type alone struct {
	mu     sync.Mutex
	limits map[kill]func() (time.Duration, error)
}

// limit measures once, whichever worker needs it first.
func (a *alone) limit(k kill, measure func() (time.Duration, error)) (time.Duration, error) {
	a.mu.Lock()
	once := a.limits[k]
	if once == nil {
		once = sync.OnceValues(measure)
		a.limits[k] = once
	}
	a.mu.Unlock()
	return once()
}

// only are the arguments that run one test, in place of those that the killer runs.
func (b *binary) only(test string) []string {
	return slices.Concat(b.Args, []string{"-test.skip=^$", "-test.run=^" + regexp.QuoteMeta(test) + "$"})
}
