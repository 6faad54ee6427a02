package mutants_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate"
	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

const root = "../.."

// The gate of the mutants takes minutes; that each of them still fits the code is seen here.
func TestEveryMutantFitsTheCode(t *testing.T) {
	all := mutants.All()
	if err := mutants.Check(all); err != nil {
		t.Error(err)
	}
	if _, err := mutants.Weave(root, t.TempDir(), all); err != nil {
		t.Error(err)
	}
	if len(all) > 250 {
		t.Errorf("%d mutants are listed; the most are 250: verify/mutants/sampled draws the rest", len(all))
	}
}

// Every rule of the protocol and every invariant that the simulator checks is broken by a mutant.
func TestEveryRuleHasAMutant(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/explanation/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{"P29": true} // only names what this version does not have
	for _, m := range mutants.All() {
		broken[m.Rule()] = true
	}
	rules := regexp.MustCompile(`\bP[0-9]+a?\b`).FindAllString(string(text), -1)
	for _, i := range simulate.Invariants() {
		if _, err := strconv.Atoi(i.Name); err == nil {
			rules = append(rules, "I"+i.Name)
		} else if strings.HasPrefix(i.Name, "P") {
			rules = append(rules, i.Name)
		}
	}
	slices.Sort(rules)
	for _, rule := range slices.Compact(rules) {
		if !broken[rule] {
			t.Errorf("no mutant breaks %s", rule)
		}
	}
}

// One mutant that does not compile keeps all of them from being tried. `make mutants-changed` finds what this
// compiles in Go's cache.
func TestEveryMutantCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles half of the module; `make mutants-changed` does so too")
	}
	all := mutants.Offline()
	overlay, err := mutants.Weave(root, t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for i := range all {
		folders["./"+all[i].Package()] = true
	}
	build := exec.Command("go", slices.Concat([]string{"build", "-overlay", overlay},
		slices.Sorted(maps.Keys(folders)))...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const sample = `package main

import "fmt"

type box struct{ n int }

func (box) more(_ int, by ...int) (sum int) {
	for _, n := range by {
		sum += n
	}
	return sum
}

func (b *box) add(n int) { b.n += n }

func main() {
	b := &box{}
	b.add(2)
	fmt.Print(b.n, b.more(1, 2, 3))
}
`

// The woven program is as before without the variable, and with it the mutant that it names.
func TestWoven(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module sample\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), sample)
	overlay, err := mutants.Weave(dir, t.TempDir(), []mutants.Mutant{
		{Name: "P1-one", File: "main.go", Func: "box.add", Old: "b.n += n", New: "b.n -= n"},
		{Name: "P1-two", File: "main.go", Func: "box.more", Old: "sum += n", New: "sum += 2 * n"},
		{Name: "P1-three", File: "main.go", Func: "box.add", Old: "+=", New: "="},
	})
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for mutant, want := range map[string]string{"": "2 5", "P1-one": "-2 5", "P1-two": "2 10",
		"P1-three": "2 5", "P1-none": "panic: no such mutant: P1-none"} {
		run := exec.Command(program)
		run.Env = append(os.Environ(), mutants.Variable+"="+mutant)
		out, _ := run.CombinedOutput()
		if !strings.HasPrefix(string(out), want) {
			t.Errorf("%q: %s, want %s", mutant, out, want)
		}
	}
}

// An old text fits however the lines of the code are broken, and without the code's comments.
func TestLayoutDoesNotMatter(t *testing.T) {
	for source, old := range map[string]string{
		"one(a, b)": "one(\n\ta, // first\n\tb,\n)",
		"x := one(\n\t\ta,\n\t\tb,\n\t)\n\t_ = x":   "one(a, b)",
		"if true {\n\t\tone(a, b)\n\t\treturn\n\t}": "{ one(a, b); return }",
		"two(\"some \", a)":                         "me ",
	} {
		text := "package main\n\nfunc f(a, b int) {\n\t" + source + "\n}\n"
		m := mutants.Mutant{Name: "P1-x", File: "a.go", Func: "f", Old: old, New: "<new>"}
		if _, _, err := mutants.Patched(m.File, []byte(text), []mutants.Mutant{m}); err != nil {
			t.Errorf("%q: %v", source, err)
		}
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ fun, old, says string }{
		"never":           {"box.add", "b.n *= n", "occurs 0 times"},
		"twice":           {"box.more", "sum", "must occur once"},
		"elsewhere":       {"main", "b.n += n", "occurs 0 times"},
		"no function":     {"box.less", "b.n += n", "no function box.less"},
		"not in its body": {"box.add", "func", "occurs 0 times"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.go"), sample)
		_, err := mutants.Weave(dir, t.TempDir(),
			[]mutants.Mutant{{Name: "P1-x", File: "main.go", Func: tt.fun, Old: tt.old, New: "panic(0)"}})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := mutants.Mutant{Name: "P1-x", File: "shared/core/a.go", Func: "f", Old: "a", New: "b"}
	for name, change := range map[string]func(*mutants.Mutant){
		"must begin with a rule": func(m *mutants.Mutant) { m.Name = "P99-x" },
		"no room":                func(m *mutants.Mutant) { m.File = "demo/a.go" },
		"another new one":        func(m *mutants.Mutant) { m.New = m.Old },
	} {
		m := good
		change(&m)
		if err := mutants.Check([]mutants.Mutant{m}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := mutants.Check([]mutants.Mutant{good, good}); err == nil ||
		!strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var (
	testName   = regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	mutantName = regexp.MustCompile(`\b[API][0-9]+a?(?:-[a-z0-9]+)+`)
)

// What docs/explanation/reliability.md names must be there: its tests, its mutants, and how many there are.
func TestReliabilityNamesWhatExists(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/explanation/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t)
	for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
		if !tests[m[1]] {
			t.Errorf("there is no test %s", m[1])
		}
	}
	counted, equivalent := 0, 0
	known := map[string]bool{}
	for _, m := range mutants.All() {
		known[m.Name] = true
		if m.Equivalent != "" {
			equivalent++
		} else {
			counted++
		}
	}
	for _, name := range mutantName.FindAllString(string(text), -1) {
		if !known[name] {
			t.Errorf("there is no mutant %s", name)
		}
	}
	for _, want := range []string{fmt.Sprintf("in %d ways", counted),
		fmt.Sprintf("noticed. %d more", equivalent)} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it does not say %q", want)
		}
	}
}

// testsOf are the names of all tests of the module.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
