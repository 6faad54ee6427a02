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

// Gate runs mutants against the tests that reach them.
type Gate struct {
	Root    string // root folder of the module
	Folder  string // folder for patched sources and test binaries
	Workers int    // mutants tried at the same time; at least 1
	// Within is the time after which no further mutant begins. It starts when the tests of the first mutant
	// are compiled and measured, so that at least one mutant is tried. The zero value means no limit.
	Within time.Duration
	// Enough bounds the total time of a package's tests for a mutant, measured without the mutant. The
	// slowest tests beyond it are left out. 0 means that all are tried.
	Enough time.Duration
	// By is the name of the one test of simulate/internal/explore to run instead of all others.
	By  string
	Log func(format string, args ...any)

	suites map[string]*suite // suites by folder
	ends   atomic.Int64      // Unix time in nanoseconds at which Within is over; 0 before it starts
}

// Result is the result of one mutant.
type Result struct {
	Name       string `json:"name"`
	Equivalent bool   `json:"equivalent,omitempty"`
	// By is the folder of the tests that noticed the mutant, or "" for a survivor. Test is the first failed
	// test, or another reason for the end.
	By      string `json:"by,omitempty"`
	Test    string `json:"test,omitempty"`
	Reached int    `json:"reaching_tests"` // tests that reach the mutant in the folders examined
	Tried   int    `json:"tried_tests"`
	// WithoutFaults means that the simulator noticed the mutant even without faults, which does not count.
	WithoutFaults bool    `json:"calm,omitempty"`
	Secs          float64 `json:"seconds"`
}

// Wrong reports whether the mutant survived though not equivalent, or was noticed though equivalent.
func (r Result) Wrong() bool { return (r.By == "") != r.Equivalent }

const (
	// leastTime is the minimum time limit for tests. The limit is otherwise slowdown times their unmutated
	// time.
	leastTime = 10 * time.Second
	slowdown  = 10
	// quick bounds the total time of the tests of a package that run first.
	quick = 2 * time.Second
)

// Run tries every mutant in the order of the list, until Within is over. The results have the same order. It
// compiles and measures the tests of a package when a mutant first needs them. After an error it returns no
// results.
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

// over reports whether no further mutant may begin.
func (g *Gate) over(ctx context.Context) bool {
	ends := g.ends.Load()
	return ctx.Err() != nil || g.Within > 0 && ends != 0 && time.Now().UnixNano() > ends
}

// each calls work for all indexes with the gate's workers.
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

// String describes the mutant in one line.
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

// try runs a mutant's tests until one notices it, starting with those of its own package. It returns no
// result if the time is over.
func (g *Gate) try(ctx context.Context, m *Mutant) (r Result, err error) {
	began := time.Now()
	r = Result{Name: m.Name, Equivalent: m.Equivalent != ""}
	for _, folder := range g.folders(m) {
		s := g.suites[folder]
		if s == nil {
			continue // no tests
		}
		if err := s.measured(); err != nil || g.over(ctx) {
			return Result{}, err
		}
		g.ends.CompareAndSwap(0, time.Now().Add(g.Within).UnixNano())
		batches, reached := s.batches(m.Name, g.Enough)
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

// notices returns the first of these tests that fails with the mutant and passes without it, so that the
// mutant is the cause. A test that also fails without the mutant, as on a busy machine, does not count.
func (g *Gate) notices(ctx context.Context, s *suite, mutant string, b batch) string {
	limit := max(leastTime, slowdown*b.took)
	for names := b.names; len(names) > 0; {
		failed, _ := s.run(ctx, mutant, limit, names...)
		// the simulator's seeds certainly pass without a mutant, and would take minutes
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

// build compiles a package's test binary with the mutants woven in, and returns its path.
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
	// running matches the first test that was running when the binary's own time limit ended it.
	running = regexp.MustCompile(`(?m)^\s*running tests:\s+((?:Test|Example|Fuzz)[^/\s]*)`)
)

// grace is the time for a binary to end by itself, before it is killed.
const grace = 5 * time.Second

// test runs a package's test binary with one more environment variable. It returns the first test that
// failed, or "" if all passed.
func (g *Gate) test(ctx context.Context, path, pkg string, limit time.Duration, setting string,
	args ...string) (test, output string) {
	limited, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	// A mutant may loop and take all memory: 4 GiB are enough for the tests.
	c := exec.CommandContext(limited, "sh", slices.Concat([]string{"-c", `ulimit -d 4194304; exec "$0" "$@"`,
		path}, args, []string{"-test.failfast", "-test.timeout=" + limit.String()})...)
	c.Dir = filepath.Join(g.Root, filepath.FromSlash(pkg))
	c.Env = append(os.Environ(), setting)
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		c.Env = append(c.Env, "TMPDIR="+inMemory)
	}
	c.WaitDelay = time.Second
	// With a mutant a test may leave processes behind. They end together as one process group.
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

// inMemory is a file system in memory on Linux. SQLite's tests spend most of their time on the disk.
const inMemory = "/dev/shm"

// Reasons other than a failed test for the end of a run.
const (
	noEnd    = "no end within its time"
	earlyEnd = "a panic, or an early end"
)
