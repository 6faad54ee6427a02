package mutants_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

const (
	adder     = "package state\n\nfunc add(a, b int) int { return a + b }\n"
	adderTest = "package state\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(2, 2) != 4 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
)

// module is one with a package that has a killer.
func module(t *testing.T, test string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "shared", "view"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), "module sample\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "shared", "view", "add.go"), adder)
	write(t, filepath.Join(dir, "shared", "view", "add_test.go"), test)
	return dir
}

func TestGate(t *testing.T) {
	of := func(name, put, why string) mutants.Mutant {
		return mutants.Mutant{Name: name, File: "shared/view/add.go", Func: "add", Old: "a + b", New: put, Equivalent: why, Killers: []string{"view"}}
	}
	gate := mutants.Gate{Root: module(t, adderTest), Folder: t.TempDir(), Workers: 2, Log: t.Logf}
	results, err := gate.Run(context.Background(), []mutants.Mutant{
		of("P1-killed", "a - b", ""), of("P1-survivor", "a * b", ""), of("P1-equivalent", "b + a", "addition commutes"),
		of("P1-argued-wrongly", "a", "b is always 0"), of("P1-panic", "a / (b - 2)", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		by    string
		wrong bool
	}{{"view", false}, {"", true}, {"", false}, {"view", true}, {"view", false}} {
		if r := results[i]; r.By != want.by || r.Wrong() != want.wrong {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if results[0].Test != "TestAdd" {
		t.Errorf("killed by %q", results[0].Test)
	}
}

// What killed a mutant the last time is tried first; a list that is out of date changes no result.
func TestGateTriesFirstWhatKilledLastTime(t *testing.T) {
	root := module(t, strings.Replace(adderTest, "func TestAdd", "func TestSlow(t *testing.T) { TestAdd(t) }\n\nfunc TestAdd", 1))
	of := func(name, put string) mutants.Mutant {
		return mutants.Mutant{Name: name, File: "shared/view/add.go", Func: "add", Old: "a + b", New: put, Killers: []string{"view"}}
	}
	all := []mutants.Mutant{of("P1-known", "a - b"), of("P1-out-of-date", "a - 2*b"), of("P1-survivor", "a * b")}
	if err := os.MkdirAll(filepath.Join(root, "verify", "mutants"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "verify", "mutants", "killed.txt"), "P1-known view TestAdd\nP1-out-of-date view TestGone\nP1-survivor view TestAdd\nP1-gone view TestAdd\n")
	gate := mutants.Gate{Root: root, Folder: t.TempDir(), Workers: 2, Log: t.Logf}
	results, err := gate.Run(context.Background(), all)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"TestAdd", "TestSlow", ""} {
		if results[i].Test != want {
			t.Errorf("%+v, want it killed by %q", results[i], want)
		}
	}
}

// Within a time some of the list are tried, in its order; what is left has no result.
func TestGateEndsInTime(t *testing.T) {
	slow := strings.Replace(adderTest, "t.Error(\"wrong\")", "time.Sleep(time.Second)\n\t\tt.Error(\"wrong\")", 1)
	slow = strings.Replace(slow, "import \"testing\"", "import (\n\t\"testing\"\n\t\"time\"\n)", 1)
	var all []mutants.Mutant
	for n := range 60 {
		all = append(all, mutants.Mutant{Name: fmt.Sprintf("P1-n%d", n), File: "shared/view/add.go", Func: "add", Old: "a + b", New: fmt.Sprintf("a - b - %d", n), Killers: []string{"view"}})
	}
	gate := mutants.Gate{Root: module(t, slow), Folder: t.TempDir(), Workers: 2, Within: 10 * time.Second, Log: t.Logf}
	results, err := gate.Run(context.Background(), all)
	if err != nil || len(results) == len(all) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Name != all[i].Name || r.By != "view" {
			t.Errorf("%+v", r)
		}
	}
}

// Tests that fail by themselves say nothing of mutants, nor does code that does not compile.
func TestGateThatProvesNothing(t *testing.T) {
	m := mutants.Mutant{Name: "P1-x", File: "shared/view/add.go", Func: "add", Old: "a + b", New: "a - b", Killers: []string{"view"}}
	gate := mutants.Gate{Root: module(t, strings.Replace(adderTest, "!= 4", "!= 5", 1)), Folder: t.TempDir(), Log: t.Logf}
	if _, err := gate.Run(context.Background(), []mutants.Mutant{m}); err == nil || !strings.Contains(err.Error(), "fails without a mutant, at TestAdd") {
		t.Errorf("%v", err)
	}
	m.New = "nothing"
	gate = mutants.Gate{Root: module(t, adderTest), Folder: t.TempDir(), Log: t.Logf}
	if _, err := gate.Run(context.Background(), []mutants.Mutant{m}); err == nil || !strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("%v", err)
	}
}

// Processes that a test leaves behind end with it: they would hold its locks and the machine.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	binary, pid := filepath.Join(dir, "box.test"), filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsleep 300 >/dev/null 2>&1 &\necho $! >" + pid + "\n"
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil { //nolint:gosec // it has to run
		t.Fatal(err)
	}
	g := mutants.Gate{Root: dir}
	if failed, out := g.Test(t.Context(), binary, ".", time.Minute, ""); failed != "" {
		t.Fatal(failed, out)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat") // absent where there is no /proc, too
		if err != nil || strings.Contains(string(stat), ") Z ") {                      // ended; nothing has asked how
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it still runs: %s", stat)
		}
	}
}
