package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Gate runs the mutants against their killers.
type Gate struct {
	Root    string // of the module
	Folder  string // for patched sources and test binaries
	Workers int    // mutants tried at the same time; at least 1
	// Within is the time after which no further mutant is begun; 0: all are tried.
	Within time.Duration
	Log    func(format string, args ...any)

	kills    map[string]kill // what killed each mutant last time, tried first
	alone    *alone
	binaries map[string]func() (string, error) // by package: compiled when first needed
	killers  map[string]*binary
}

// Result is what became of one mutant.
type Result struct {
	Name       string `json:"name"`
	Equivalent bool   `json:"equivalent,omitempty"`
	// By is the killer, "" for a survivor; Test its first test that failed, or what else ended it.
	By   string `json:"by,omitempty"`
	Test string `json:"test,omitempty"`
	// WithoutFaults: noticed with all faults off as well, which does not count for a simulator.
	WithoutFaults bool    `json:"calm,omitempty"`
	Secs          float64 `json:"seconds"`
}

// Wrong reports a survivor, or a mutant that is argued to be equivalent and was killed.
func (r Result) Wrong() bool { return (r.By == "") != r.Equivalent }

// binary is a killer with its test binary.
type binary struct {
	Killer
	// path compiles it at the first call.
	path func() (string, error)
	// limit is the time that it may take with a mutant. The first call runs it without one, and it has to pass.
	limit func() (time.Duration, error)
}

const (
	// leastTime is what a test gets in any case; otherwise slowdown times what it takes unmutated.
	leastTime = 10 * time.Second
	slowdown  = 10
)

// Run tries every mutant in the order of the list, until Within is over; the results stand in that order. A test binary
// is compiled when a mutant needs it first, ahead of its turn where possible, and no killer is believed that does not
// pass unmutated. An error: nothing can be said of the mutants.
func (g *Gate) Run(ctx context.Context, all []Mutant) ([]Result, error) {
	if err := Check(all); err != nil {
		return nil, err
	}
	overlay, err := Weave(g.Root, g.Folder, all)
	if err != nil {
		return nil, err
	}
	if g.kills, err = readKills(g.Root); err != nil {
		return nil, err
	}
	g.alone = &alone{limits: map[kill]func() (time.Duration, error){}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	g.prepare(ctx, overlay)
	over := func() bool { return false }
	if g.Within > 0 {
		end := time.Now().Add(g.Within)
		over = func() bool { return time.Now().After(end) }
	}
	var ahead sync.WaitGroup
	ahead.Go(func() { // while mutants are tried, the binaries of the next ones are compiled
		for i := range all {
			if k := g.first(&all[i]); k != nil && !over() && ctx.Err() == nil {
				_, _ = k.path() // the run that needs it gets the error
			}
		}
	})
	results := make([]Result, len(all))
	g.Each(len(all), func(i int) {
		if over() || ctx.Err() != nil {
			return
		}
		r, err := g.try(ctx, &all[i])
		if err != nil {
			cancel(err)
			return
		}
		results[i] = r
		g.Log("%s", r)
	})
	cause := context.Cause(ctx)
	cancel(nil)
	ahead.Wait()
	return slices.DeleteFunc(results, func(r Result) bool { return r.Name == "" }), cause
}

// Each does the work of all places with the gate's workers.
func (g *Gate) Each(n int, work func(i int)) {
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

// String is one line about the mutant.
func (r Result) String() string {
	switch {
	case r.By == "" && r.Equivalent:
		return fmt.Sprintf("equivalent  %s", r.Name)
	case r.WithoutFaults:
		return fmt.Sprintf("no-faults   %s  is noticed with all faults off as well", r.Name)
	case r.By == "":
		return fmt.Sprintf("SURVIVED    %s", r.Name)
	case r.Equivalent:
		return fmt.Sprintf("KILLED, though argued to be equivalent  %s  by %s: %s", r.Name, r.By, r.Test)
	}
	return fmt.Sprintf("killed      %s  by %s: %s, %.1f s", r.Name, r.By, r.Test, r.Secs)
}

// prepare says how each killer is compiled and run unmutated, once each.
func (g *Gate) prepare(ctx context.Context, overlay string) {
	g.binaries, g.killers = map[string]func() (string, error){}, map[string]*binary{}
	for _, k := range Killers {
		if g.binaries[k.Package] == nil {
			g.binaries[k.Package] = sync.OnceValues(func() (string, error) { return g.Build(ctx, k.Name, k.Package, "-overlay", overlay) })
		}
		b := &binary{Killer: k, path: g.binaries[k.Package]}
		b.limit = sync.OnceValues(func() (time.Duration, error) { return g.unmutated(ctx, b) })
		g.killers[k.Name] = b
	}
}

// first is the killer that is tried first with the mutant.
func (g *Gate) first(m *Mutant) *binary {
	if k, ok := g.kills[m.Name]; ok && slices.Contains(m.killers(), k.killer) {
		return g.killers[k.killer]
	}
	return g.killers[m.killers()[0]]
}

// Build compiles a package's test binary with these flags of go test, and answers its path.
func (g *Gate) Build(ctx context.Context, name, pkg string, flags ...string) (path string, err error) {
	if path, err = filepath.Abs(filepath.Join(g.Folder, name+".test")); err != nil {
		return "", err
	}
	began := time.Now()
	build := exec.CommandContext(ctx, "go", slices.Concat([]string{"test", "-c", "-vet=off", "-o", path}, flags, []string{"./" + pkg})...)
	build.Dir = g.Root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile the mutants for %s: %w\n%s", name, err, out)
	}
	g.Log("compiled %s in %.1f s", pkg, time.Since(began).Seconds())
	return path, nil
}

// unmutated runs a killer without a mutant: it has to pass, and shows how long it takes.
func (g *Gate) unmutated(ctx context.Context, b *binary) (time.Duration, error) {
	path, err := b.path()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if test, out := g.Test(ctx, path, b.Package, time.Hour, "", b.Args...); test != "" {
		return 0, fmt.Errorf("%s fails without a mutant, at %s:\n%s", b.Name, test, out)
	}
	took := time.Since(began)
	g.Log("%s passes unmutated in %.1f s", b.Name, took.Seconds())
	return max(leastTime, slowdown*took), nil
}

// try runs one mutant's killers until one notices it.
func (g *Gate) try(ctx context.Context, m *Mutant) (Result, error) {
	r := Result{Name: m.Name, Equivalent: m.Equivalent != ""}
	if k, ok := g.kills[m.Name]; ok && slices.Contains(m.killers(), k.killer) {
		began := time.Now()
		if again, err := g.killedAgain(ctx, g.killers[k.killer], k, m); again || err != nil {
			r.By, r.Test, r.Secs = k.killer, k.test, time.Since(began).Seconds()
			return r, err
		}
	}
	for _, name := range m.killers() {
		b := g.killers[name]
		limit, err := b.limit()
		if err != nil {
			return r, err
		}
		path, _ := b.path() // there was a limit
		began := time.Now()
		test, _ := g.Test(ctx, path, b.Package, limit, m.Name, b.Args...)
		if test != "" && b.WithoutFaults != nil {
			if withoutFaults, _ := g.Test(ctx, path, b.Package, limit, m.Name, b.WithoutFaults...); withoutFaults != "" {
				r.WithoutFaults, test = true, ""
			}
		}
		r.Secs += time.Since(began).Seconds()
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if test != "" {
			r.By, r.Test = b.Name, test
			break
		}
	}
	return r, nil
}

// killedAgain tries the test that noticed the mutant last time, by itself; it has to pass by itself
// without a mutant.
func (g *Gate) killedAgain(ctx context.Context, b *binary, k kill, m *Mutant) (bool, error) {
	if b == nil || b.WithoutFaults != nil {
		return false, nil
	}
	path, err := b.path()
	if err != nil {
		return false, err
	}
	limit, err := g.alone.limit(k, func() (time.Duration, error) {
		began := time.Now()
		if test, out := g.Test(ctx, path, b.Package, time.Hour, "", b.only(k.test)...); test != "" {
			return 0, fmt.Errorf("%s fails without a mutant, by itself, at %s:\n%s", b.Name, test, out)
		}
		return max(leastTime, slowdown*time.Since(began)), nil
	})
	if err != nil {
		return false, err
	}
	test, _ := g.Test(ctx, path, b.Package, limit, m.Name, b.only(k.test)...)
	return test != "" && ctx.Err() == nil, nil
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (Test[^/\s]*)`)
	// running names the first test that ran when the binary's own time limit ended it.
	running = regexp.MustCompile(`(?m)^\s*running tests:\s+(Test[^/\s]*)`)
)

// grace is what a binary gets to end by itself when its time is over, before it is killed.
const grace = 5 * time.Second

// Test runs a package's test binary; the answer is the first test that failed, "" where all passed.
func (g *Gate) Test(ctx context.Context, path, pkg string, limit time.Duration, mutant string, args ...string) (test, output string) {
	return g.test(ctx, path, pkg, limit, Variable+"="+mutant, args...)
}

// Reach runs a package's test binary without a mutant, and has the mutants whose function it reaches written into the
// file, a name on a line.
func (g *Gate) Reach(ctx context.Context, path, pkg string, limit time.Duration, file string, args ...string) (test, output string) {
	return g.test(ctx, path, pkg, limit, ReachedVariable+"="+file, args...)
}

func (g *Gate) test(ctx context.Context, path, pkg string, limit time.Duration, setting string, args ...string) (test, output string) {
	limited, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	// A mutant may loop and take all memory: 4 GiB are enough for the tests.
	c := exec.CommandContext(limited, "sh", slices.Concat([]string{"-c", `ulimit -d 4194304; exec "$0" "$@"`, path}, args, []string{"-test.failfast", "-test.timeout=" + limit.String()})...)
	c.Dir = filepath.Join(g.Root, filepath.FromSlash(pkg))
	c.Env = append(os.Environ(), setting)
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		c.Env = append(c.Env, "TMPDIR="+inMemory)
	}
	c.WaitDelay = time.Second
	// With a mutant a test may leave processes of its own behind: all of its group end with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.Cancel = end
	out, err := c.CombinedOutput()
	if c.Process != nil {
		_ = end() // mostly there is none
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

// inMemory is a file system in memory, on Linux: most of the time of SQLite's tests is the disk's.
const inMemory = "/dev/shm"

// What else than a failed test ends a run.
const (
	noEnd    = "no end within its time"
	earlyEnd = "a panic, or an early end"
)
