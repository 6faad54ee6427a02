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
	"time"
)

// Gate runs the mutants against their killers.
type Gate struct {
	Root    string // of the module
	Folder  string // for patched sources and test binaries
	Workers int    // mutants tried at the same time; at least 1
	Log     func(format string, args ...any)

	kills map[string]kill // what killed each mutant last time, tried first
	alone *alone
}

// Result is what became of one mutant.
type Result struct {
	Name       string `json:"name"`
	Equivalent bool   `json:"equivalent,omitempty"`
	// By is the killer, "" for a survivor; Test its first test that failed, or what else ended it.
	By   string `json:"by,omitempty"`
	Test string `json:"test,omitempty"`
	// Calm: noticed with all faults off as well, which does not count for a simulator.
	Calm bool    `json:"calm,omitempty"`
	Secs float64 `json:"seconds"`
}

// Wrong reports a survivor, or a mutant that is argued to be equivalent and was killed.
func (r Result) Wrong() bool { return (r.By == "") != r.Equivalent }

// binary is a compiled killer.
type binary struct {
	Killer
	path  string
	limit time.Duration
}

const (
	// leastTime is what a killer gets in any case; otherwise slowdown times what it takes unmutated.
	leastTime = 20 * time.Second
	slowdown  = 10
)

// Run compiles the killers once, sees that they pass unmutated, and tries every mutant, a survivor once more when the
// others are done. The results stand in the order of the list. An error: nothing can be said of the mutants.
func (g *Gate) Run(ctx context.Context, all []Mutant) ([]Result, error) {
	if err := Check(all); err != nil {
		return nil, err
	}
	overlay, err := Weave(g.Root, g.Folder, all)
	if err != nil {
		return nil, err
	}
	killers, err := g.compile(ctx, overlay, all)
	if err != nil {
		return nil, err
	}
	if err := g.unmutated(ctx, killers); err != nil {
		return nil, err
	}
	g.alone = &alone{limits: map[kill]func() time.Duration{}}
	if g.kills, err = readKills(g.Root); err != nil {
		return nil, err
	}
	results := make([]Result, len(all))
	g.Each(len(all), func(i int) {
		results[i] = g.try(ctx, killers, &all[i])
		g.Log("%s", results[i])
	})
	for i := range all {
		if r := &results[i]; r.Wrong() && r.By == "" && !r.Calm && ctx.Err() == nil {
			if *r = g.try(ctx, killers, &all[i]); r.By != "" {
				g.Log("%s, at the second try only: make its test certain", *r)
			}
		}
	}
	return results, ctx.Err()
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
	case r.Calm:
		return fmt.Sprintf("calm        %s  is noticed with all faults off as well", r.Name)
	case r.By == "":
		return fmt.Sprintf("SURVIVED    %s", r.Name)
	case r.Equivalent:
		return fmt.Sprintf("KILLED, though argued to be equivalent  %s  by %s: %s", r.Name, r.By, r.Test)
	}
	return fmt.Sprintf("killed      %s  by %s: %s, %.1f s", r.Name, r.By, r.Test, r.Secs)
}

// compile builds the test binaries that the mutants need, one for each package.
func (g *Gate) compile(ctx context.Context, overlay string, all []Mutant) (map[string]*binary, error) {
	killers := map[string]*binary{}
	built := map[string]string{} // by package
	for _, k := range Killers {
		needed := slices.ContainsFunc(all, func(m Mutant) bool { return slices.Contains(m.killers(), k.Name) })
		if !needed {
			continue
		}
		if built[k.Package] == "" {
			path, err := g.Build(ctx, k.Name, k.Package, "-overlay", overlay)
			if err != nil {
				return nil, err
			}
			built[k.Package] = path
		}
		killers[k.Name] = &binary{Killer: k, path: built[k.Package], limit: time.Hour}
	}
	return killers, nil
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

// unmutated runs every killer without a mutant: it has to pass, a second time if need be, and shows how long it takes.
func (g *Gate) unmutated(ctx context.Context, killers map[string]*binary) error {
	for _, k := range Killers {
		b := killers[k.Name]
		if b == nil {
			continue
		}
		began := time.Now()
		if test, out := g.run(ctx, b, b.Args, ""); test != "" {
			g.Log("%s fails without a mutant, at %s, and is tried once more: make this test certain\n%s", b.Name, test, out)
			began = time.Now()
			if test, out = g.run(ctx, b, b.Args, ""); test != "" {
				return fmt.Errorf("%s fails without a mutant, at %s:\n%s", b.Name, test, out)
			}
		}
		took := time.Since(began)
		b.limit = max(leastTime, slowdown*took)
		g.Log("%s passes unmutated in %.1f s", b.Name, took.Seconds())
	}
	return nil
}

// try runs one mutant's killers until one notices it.
func (g *Gate) try(ctx context.Context, killers map[string]*binary, m *Mutant) Result {
	began := time.Now()
	r := Result{Name: m.Name, Equivalent: m.Equivalent != ""}
	if k, ok := g.kills[m.Name]; ok && slices.Contains(m.killers(), k.killer) && g.killedAgain(ctx, killers[k.killer], k, m) {
		r.By, r.Test, r.Secs = k.killer, k.test, time.Since(began).Seconds()
		return r
	}
	for _, name := range m.killers() {
		b := killers[name]
		if b == nil || ctx.Err() != nil {
			continue
		}
		test, _ := g.run(ctx, b, b.Args, m.Name)
		if test != "" && b.Calm != nil {
			if calm, _ := g.run(ctx, b, b.Calm, m.Name); calm != "" {
				r.Calm, test = true, ""
			}
		}
		if test != "" {
			r.By, r.Test = b.Name, test
			break
		}
	}
	r.Secs = time.Since(began).Seconds()
	return r
}

// killedAgain tries the test that noticed the mutant last time, by itself; it has to pass by itself
// without a mutant.
func (g *Gate) killedAgain(ctx context.Context, b *binary, k kill, m *Mutant) bool {
	if b == nil || b.Calm != nil {
		return false
	}
	limit := g.alone.limit(k, func() time.Duration {
		began := time.Now()
		if test, _ := g.run(ctx, b, b.only(k.test), ""); test != "" {
			return 0
		}
		return max(leastTime, slowdown*time.Since(began))
	})
	if limit == 0 {
		return false
	}
	test, _ := g.Test(ctx, b.path, b.Package, limit, m.Name, b.only(k.test)...)
	return test != ""
}

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (Test[^/\s]*)`)
	// running names the first test that ran when the binary's own time limit ended it.
	running = regexp.MustCompile(`(?m)^\s*running tests:\s+(Test[^/\s]*)`)
)

// grace is what a binary gets to end by itself when its time is over, before it is killed.
const grace = 5 * time.Second

// run runs a killer.
func (g *Gate) run(ctx context.Context, b *binary, args []string, mutant string) (test, output string) {
	return g.Test(ctx, b.path, b.Package, b.limit, mutant, args...)
}

// Test runs a package's test binary; the answer is the first test that failed, "" where all passed.
func (g *Gate) Test(ctx context.Context, path, pkg string, limit time.Duration, mutant string, args ...string) (test, output string) {
	limited, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	// A mutant may loop and take all memory: 4 GiB are enough for the tests.
	c := exec.CommandContext(limited, "sh", slices.Concat([]string{"-c", `ulimit -d 4194304; exec "$0" "$@"`, path}, args, []string{"-test.failfast", "-test.timeout=" + limit.String()})...)
	c.Dir = filepath.Join(g.Root, filepath.FromSlash(pkg))
	c.Env = append(os.Environ(), Variable+"="+mutant)
	if info, err := os.Stat(inMemory); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		c.Env = append(c.Env, "TMPDIR="+inMemory)
	}
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
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
