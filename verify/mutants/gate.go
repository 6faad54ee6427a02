package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Gate runs the tests that can notice mutants. A test notices a mutant if it fails with the mutant and passes
// without it.
type Gate struct {
	Root    string // root folder of the module
	Folder  string // folder for changed sources and test binaries
	Workers int    // number of mutants that are tried concurrently; at least 1
	// Within is the time after which the gate tries no further mutant. The time begins after the tests of the
	// first mutant have been compiled and measured. Therefore the gate tries at least one mutant. The zero
	// value means no limit.
	Within time.Duration
	// Enough bounds the total time of the tests of one package for one mutant, as measured without a mutant.
	// If necessary, only the likeliest tests run. The zero value means no bound.
	Enough time.Duration
	// By is the name of a test in simulate/internal/explore. If By is set, the gate runs only this test. ""
	// means all tests of the rooms.
	By  string
	Log func(format string, args ...any)

	suites map[string]*suite // suites by folder
	ends   atomic.Int64      // time at which Within ends, in Unix nanoseconds; 0 before Within begins
}

// Result is the result of the tests with one mutant.
type Result struct {
	Name       string `json:"name"`
	Equivalent bool   `json:"equivalent,omitempty"`
	// By is the folder of the test that noticed the mutant; "" means that the mutant survived. Test is the
	// name of this test, or another reason why the run failed.
	By      string `json:"by,omitempty"`
	Test    string `json:"test,omitempty"`
	Reached int    `json:"reaching_tests"` // number of tests in the examined folders that reach the mutant
	Tried   int    `json:"tried_tests"`
	// WithoutFaults means that the simulation notices the mutant even if no fault is injected. By and Test
	// are then "", as for a surviving mutant.
	WithoutFaults bool    `json:"calm,omitempty"`
	Secs          float64 `json:"seconds"`
}

// Wrong reports whether a mutant survived without the argument "equivalent", or was noticed despite this
// argument.
func (r Result) Wrong() bool { return (r.By == "") != r.Equivalent }

const (
	// leastTime is the smallest time limit of a test run. The usual limit is slowdown times the duration of
	// the run without a mutant.
	leastTime = 10 * time.Second
	slowdown  = 10
	// quick is the total time of tests after which the first batch of a package is complete.
	quick = 2 * time.Second
)

// Run tries the mutants in the order of the list until Within ends. The results have the same order. Run
// compiles and measures the tests of a package when a mutant first needs them. After an error, Run may return
// only part of the results.
func (g *Gate) Run(ctx context.Context, all []Mutant) ([]Result, error) {
	var err error
	if g.Root, err = filepath.Abs(g.Root); err != nil {
		return nil, err
	}
	overlay, err := Weave(g.Root, g.Folder, all)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := g.prepare(ctx, all, overlay); err != nil {
		return nil, err
	}
	results := make([]Result, len(all))
	g.each(len(all), func(i int) {
		if g.over(ctx) {
			return
		}
		r, err := g.try(ctx, &all[i])
		switch {
		case err != nil:
			cancel(err)
		case r.Name != "":
			results[i] = r
			g.Log("%s", r)
		}
	})
	return slices.DeleteFunc(results, func(r Result) bool { return r.Name == "" }), context.Cause(ctx)
}

func (g *Gate) over(ctx context.Context) bool {
	ends := g.ends.Load()
	return ctx.Err() != nil || g.Within > 0 && ends != 0 && time.Now().UnixNano() > ends
}

func (g *Gate) each(n int, work func(i int)) {
	places := make(chan int)
	var workers sync.WaitGroup
	for range max(1, g.Workers) {
		workers.Go(func() {
			for i := range places {
				work(i)
			}
		})
	}
	for i := range n {
		places <- i
	}
	close(places)
	workers.Wait()
}

// String returns a description of the result in one line.
func (r Result) String() string {
	switch {
	case r.By == "" && r.Equivalent:
		return fmt.Sprintf("equivalent  %s", r.Name)
	case r.WithoutFaults:
		return fmt.Sprintf("no-faults   %s  is noticed with all faults off as well", r.Name)
	case r.By == "" && r.Reached == 0:
		return fmt.Sprintf("UNREACHED   %s", r.Name)
	case r.By == "":
		return fmt.Sprintf("SURVIVED    %s  %d of %d tests that reach it, %.1f s", r.Name, r.Tried, r.Reached,
			r.Secs)
	case r.Equivalent:
		return fmt.Sprintf("KILLED, though argued to be equivalent  %s  by %s: %s", r.Name, r.By, r.Test)
	}
	return fmt.Sprintf("killed      %s  by %s: %s, %.1f s", r.Name, r.By, r.Test, r.Secs)
}

// try runs the tests of one mutant until a test notices the mutant. It starts with the tests of the mutant's
// package. If the time of the gate has ended, it returns a zero Result.
func (g *Gate) try(ctx context.Context, m *Mutant) (r Result, err error) {
	began := time.Now()
	r = Result{Name: m.Name, Equivalent: m.Equivalent != ""}
	for _, folder := range g.folders(m) {
		s := g.suites[folder]
		if s == nil {
			continue // the folder has no tests
		}
		if err := s.measured(); err != nil || g.over(ctx) {
			return Result{}, err
		}
		g.ends.CompareAndSwap(0, time.Now().Add(g.Within).UnixNano())
		batches, reached := s.batches(m, g.Enough)
		r.Reached += reached
		for _, b := range batches {
			r.Tried += len(b.names)
			if r.Test = g.notices(ctx, s, m.Name, b); ctx.Err() != nil {
				return Result{}, nil
			}
			if r.Test != "" {
				r.By = folder
				break
			}
		}
		if r.By != "" {
			break
		}
	}
	r.Secs = time.Since(began).Seconds()
	if r.By == simulated && g.notices(ctx, g.suites[simulated], m.Name,
		batch{names: []string{g.By + "WithoutFaults"}, took: time.Minute}) != "" {
		r.WithoutFaults, r.By, r.Test = true, "", ""
	}
	return r, nil
}

// notices returns the name of the first test that fails with the mutant and passes without it, or "". A test
// that also fails without the mutant does not count. Such a failure can happen on a busy machine.
func (g *Gate) notices(ctx context.Context, s *suite, mutant string, b batch) string {
	limit := max(leastTime, slowdown*b.took)
	for names := b.names; len(names) > 0; {
		failed, _ := s.run(ctx, mutant, limit, names...)
		// A simulation is not repeated without a mutant. The seeds pass without a mutant, and a run would
		// take minutes.
		if failed == "" || s.folder == simulated {
			return failed
		}
		suspects := names
		if slices.Contains(names, failed) {
			suspects = []string{failed}
		}
		if again, _ := s.run(ctx, "", limit, suspects...); again == "" {
			return failed
		}
		names = slices.DeleteFunc(slices.Clone(names),
			func(name string) bool { return slices.Contains(suspects, name) })
	}
	return ""
}

func (g *Gate) build(ctx context.Context, pkg, overlay string) (path string, err error) {
	if path, err = filepath.Abs(filepath.Join(g.Folder, strings.ReplaceAll(pkg, "/", "-")+
		".test")); err != nil {
		return "", err
	}
	began := time.Now()
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", path, "-overlay", overlay,
		"./"+pkg)
	build.Dir = g.Root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the mutants for %s: %w\n%s", pkg, err, out)
	}
	g.Log("compiled %s in %.1f s", pkg, time.Since(began).Seconds())
	return path, nil
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: ((?:Test|Example|Fuzz)[^/\s]*)`)
	// running matches the list of running tests in the output of a binary that has reached its time limit.
	// The match contains the name of the first test in the list.
	running = regexp.MustCompile(`(?m)^\s*running tests:\s+((?:Test|Example|Fuzz)[^/\s]*)`)
)

// grace is the time between the time limit of a binary and its kill. In this time the binary can end itself.
const grace = 5 * time.Second

// test runs the test binary of a package with an additional environment variable. It returns the name of the
// first test that failed, or another reason for a failure. It returns "" if all tests passed.
func (g *Gate) test(ctx context.Context, path, pkg string, limit time.Duration, setting string,
	args ...string) (test, output string) {
	limited, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	// A mutant may allocate memory in an endless loop, so the memory limit is 4 GiB.
	c := exec.CommandContext(limited, "sh", slices.Concat([]string{"-c", `ulimit -d 4194304; exec "$0" "$@"`,
		path}, args, []string{"-test.failfast", "-test.timeout=" + limit.String()})...)
	c.Dir = filepath.Join(g.Root, filepath.FromSlash(pkg))
	c.Env = append(os.Environ(), setting)
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		c.Env = append(c.Env, "TMPDIR="+inMemory)
	}
	c.WaitDelay = time.Second
	// A test with a mutant may leave child processes behind. All processes of a test belong to one process
	// group, so that the gate can kill them together.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel = end
	out, err := c.CombinedOutput()
	if c.Process != nil {
		_ = end() // usually no process is left
	}
	switch {
	case err == nil:
		return "", string(out)
	case limited.Err() != nil:
		return noEnd, string(out)
	}
	for _, expression := range []*regexp.Regexp{failed, running} {
		if found := expression.FindSubmatch(out); found != nil {
			return string(found[1]), string(out)
		}
	}
	return earlyEnd, string(out)
}

// inMemory is a memory file system on Linux. It makes the tests of SQLite much faster.
const inMemory = "/dev/shm"

// Reasons for a failure that names no test.
const (
	noEnd    = "no end within its time"
	earlyEnd = "a panic, or an early end"
)
