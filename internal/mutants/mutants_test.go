package mutants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/mutants"
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
	counted := 0
	for i := range all {
		if all[i].Equivalent == "" {
			counted++
		}
	}
	if counted < 40 {
		t.Errorf("%d mutants; at least 40 are needed", counted)
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
	for mutant, want := range map[string]string{"": "2 5", "P1-one": "-2 5", "P1-two": "2 10", "P1-three": "2 5", "P1-none": "panic: no such mutant: P1-none"} {
		run := exec.Command(program)
		run.Env = append(os.Environ(), mutants.Variable+"="+mutant)
		out, _ := run.CombinedOutput()
		if !strings.HasPrefix(string(out), want) {
			t.Errorf("%q: %s, want %s", mutant, out, want)
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
		_, err := mutants.Weave(dir, t.TempDir(), []mutants.Mutant{{Name: "P1-x", File: "main.go", Func: tt.fun, Old: tt.old, New: "panic(0)"}})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := mutants.Mutant{Name: "P1-x", File: "shared/core/a.go", Func: "f", Old: "a", New: "b"}
	for name, change := range map[string]func(*mutants.Mutant){
		"must begin with a rule": func(m *mutants.Mutant) { m.Name = "P33-x" },
		"no killer":              func(m *mutants.Mutant) { m.Killers = []string{"nobody"} },
		"nothing tests":          func(m *mutants.Mutant) { m.File = "demo/a.go" },
		"another new one":        func(m *mutants.Mutant) { m.New = m.Old },
	} {
		m := good
		change(&m)
		if err := mutants.Check([]mutants.Mutant{m}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := mutants.Check([]mutants.Mutant{good, good}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
