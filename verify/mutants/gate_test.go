package mutants_test

import (
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
	adderTest = "package state\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(2, 2) != 4 " +
		"{\n\t\tt.Error(\"wrong\")\n\t}\n}\n"
)

// module is one with a package that has a test.
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
		return mutants.Mutant{Name: name, File: "shared/view/add.go", Func: "add", Old: "a + b", New: put,
			Equivalent: why}
	}
	gate := mutants.Gate{Root: module(t, adderTest), Folder: t.TempDir(), Workers: 2, Log: t.Logf}
	results, err := gate.Run(t.Context(), []mutants.Mutant{
		of("P1-killed", "a - b", ""), of("P1-survivor", "a * b", ""),
		of("P1-equivalent", "b + a", "addition commutes"),
		of("P1-argued-wrongly", "a", "b is always 0"), of("P1-panic", "a / (b - 2)", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		by    string
		wrong bool
	}{{"shared/view", false}, {"", true}, {"", false}, {"shared/view", true}, {"shared/view", false}} {
		if r := results[i]; r.By != want.by || r.Wrong() != want.wrong {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if results[0].Test != "TestAdd" {
		t.Errorf("killed by %q", results[0].Test)
	}
}

// Within a time some of the list are tried, in its order; what is left has no result.
func TestGateEndsInTime(t *testing.T) {
	slow := strings.Replace(adderTest, "t.Error(\"wrong\")",
		"time.Sleep(time.Second)\n\t\tt.Error(\"wrong\")", 1)
	slow = strings.Replace(slow, "import \"testing\"", "import (\n\t\"testing\"\n\t\"time\"\n)", 1)
	var all []mutants.Mutant
	for n := range 60 {
		all = append(all, mutants.Mutant{Name: fmt.Sprintf("P1-n%d", n), File: "shared/view/add.go",
			Func: "add", Old: "a + b", New: fmt.Sprintf("a - b - %d", n)})
	}
	gate := mutants.Gate{Root: module(t, slow), Folder: t.TempDir(), Workers: 2, Within: 10 * time.Second,
		Log: t.Logf}
	results, err := gate.Run(t.Context(), all)
	if err != nil || len(results) == len(all) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Name != all[i].Name || r.By != "shared/view" {
			t.Errorf("%+v", r)
		}
	}
}

// A first package that takes longer than the time to prepare is tried all the same: a run without a result
// says nothing.
func TestGateTriesTheFirstMutant(t *testing.T) {
	m := mutants.Mutant{Name: "P1-x", File: "shared/view/add.go", Func: "add", Old: "a + b", New: "a - b"}
	gate := mutants.Gate{Root: module(t, adderTest), Folder: t.TempDir(), Within: time.Nanosecond,
		Log: t.Logf}
	results, err := gate.Run(t.Context(),
		[]mutants.Mutant{m, {Name: "P1-y", File: m.File, Func: m.Func, Old: m.Old, New: "a"}})
	if err != nil || len(results) != 1 || results[0].Test != "TestAdd" {
		t.Errorf("%+v, %v", results, err)
	}
}

// The tests of the mutant's own file run first, even if they are the slowest and no time is left for others.
func TestOwnTestsComeFirst(t *testing.T) {
	sleep := func(test, wait string) string {
		return strings.Replace(strings.Replace(test, "\"testing\"", "(\n\t\"testing\"\n\t\"time\"\n)", 1),
			"{\n\tif", "{\n\ttime.Sleep("+wait+" * time.Millisecond)\n\tif", 1)
	}
	dir := module(t, sleep(adderTest, "600"))
	write(t, filepath.Join(dir, "shared", "view", "other_test.go"),
		sleep(strings.NewReplacer("TestAdd", "TestOther", "!= 4", "< 0").Replace(adderTest), "200"))
	gate := mutants.Gate{Root: dir, Folder: t.TempDir(), Enough: 500 * time.Millisecond, Log: t.Logf}
	results, err := gate.Run(t.Context(), []mutants.Mutant{{Name: "P1-x", File: "shared/view/add.go",
		Func: "add", Old: "a + b", New: "a * b * 2"}})
	if err != nil || results[0].Test != "TestAdd" || results[0].Reached != 2 || results[0].Tried != 1 {
		t.Errorf("%+v, %v", results, err)
	}
}

// Tests that fail by themselves notice no mutant, and code that does not compile proves nothing.
func TestGateThatProvesNothing(t *testing.T) {
	m := mutants.Mutant{Name: "P1-x", File: "shared/view/add.go", Func: "add", Old: "a + b", New: "a - b"}
	var log strings.Builder
	gate := mutants.Gate{Root: module(t, strings.Replace(adderTest, "!= 4", "!= 5", 1)), Folder: t.TempDir(),
		Log: func(format string, args ...any) { fmt.Fprintf(&log, format+"\n", args...) }}
	if results, err := gate.Run(t.Context(), []mutants.Mutant{m}); err != nil || results[0].By != "" ||
		!strings.Contains(log.String(), "fails without a mutant: TestAdd") {
		t.Errorf("%+v, %v\n%s", results, err, log.String())
	}
	m.New = "nothing"
	gate = mutants.Gate{Root: module(t, adderTest), Folder: t.TempDir(), Log: t.Logf}
	if _, err := gate.Run(t.Context(), []mutants.Mutant{m}); err == nil ||
		!strings.Contains(err.Error(), "undefined: nothing") {
		t.Errorf("%v", err)
	}
}

// Processes that a test leaves behind end with it: they would hold its locks and the machine.
func TestNothingIsLeftBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	test := fmt.Sprintf(`package state

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestAdd(t *testing.T) {
	if add(2, 2) == 4 {
		return
	}
	c := exec.Command("sleep", "300")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(%q, []byte(strconv.Itoa(c.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Error("wrong")
}
`, file)
	gate := mutants.Gate{Root: module(t, test), Folder: t.TempDir(), Log: t.Logf}
	results, err := gate.Run(t.Context(),
		[]mutants.Mutant{{Name: "P1-x", File: "shared/view/add.go", Func: "add", Old: "a + b", New: "a - b"}})
	if err != nil || results[0].Test != "TestAdd" {
		t.Fatalf("%+v, %v", results, err)
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + string(pid) + "/stat") // absent where there is no /proc, too
		if err != nil || strings.Contains(string(stat), ") Z ") {  // ended; nothing has asked how
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it still runs: %s", stat)
		}
	}
}
