package mutants

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Module is the path of the product's module, with a slash.
const Module = "github.com/stepkeeper/stepkeeper/"

// simulated is the folder of the tests that simulate mutants. Only [Gate.By] runs them.
const simulated = "simulate/internal/explore"

// rapid holds the arguments of tests that use the library of that name. They fix its choices, set the number
// of checks to that without -short, and turn off shrinking and saving of failures.
var rapid = []string{"-rapid.seed=1", "-rapid.checks=500", "-rapid.nofailfile", "-rapid.shrinktime=0s"}

// suite holds the tests of one package, in a binary with the mutants woven in.
type suite struct {
	gate    *Gate
	folder  string
	binary  string
	args    []string      // arguments besides the names of the tests
	longest time.Duration // time limit for a single test; a slower test is skipped
	tests   []test
	// measured compiles the suite, and runs each of its tests alone, once.
	measured func() error
}

// test is one test, run alone and without a mutant.
type test struct {
	name    string
	took    time.Duration
	reaches map[string]bool // mutants whose function it runs; nil if that is not known
	why     string          // reason why reaches is nil
}

// batch are tests of one package that run in one process.
type batch struct {
	names []string
	took  time.Duration
}

// Listed is the output of `go list -json` for a package.
type Listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles, Deps                 []string
}

// List lists packages.
func List(root string, args ...string) ([]Listed, error) {
	c := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Dir,Export,GoFiles,Deps"},
		args...)...)
	c.Dir, c.Stderr = root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []Listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l Listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
}

// folders returns the folders whose tests are tried with the mutant.
func (g *Gate) folders(m *Mutant) []string {
	if g.By != "" {
		return []string{simulated}
	}
	return roomOf(m).folders(m.Package())
}

// prepare finds the tests that may be needed, and their dependencies.
func (g *Gate) prepare(ctx context.Context, all []Mutant, overlay string) error {
	needed := map[string]bool{}
	for i := range all {
		for _, folder := range g.folders(&all[i]) {
			if _, err := os.Stat(filepath.Join(g.Root, folder)); err == nil {
				needed["./"+folder] = true
			}
		}
	}
	found, err := List(g.Root, append([]string{"-test"}, slices.Sorted(maps.Keys(needed))...)...)
	if err != nil {
		return err
	}
	g.suites = map[string]*suite{}
	for _, l := range found {
		_, isTest := strings.CutSuffix(l.ImportPath, ".test")
		if !isTest {
			continue
		}
		folder, err := filepath.Rel(g.Root, l.Dir)
		if err != nil {
			return err
		}
		s := &suite{gate: g, folder: filepath.ToSlash(folder), args: []string{"-test.short"},
			longest: 30 * time.Second}
		switch {
		case s.folder == simulated || s.folder == "infra" && os.Getenv("STEPKEEPER_NEED_NODE") != "":
			// with -short most tests of infra are skipped, because they need Node
			s.args, s.longest = nil, time.Hour
		case s.folder == "shared/dynamo" && os.Getenv("STEPKEEPER_DYNAMODB") != "":
			s.longest = 5 * time.Minute // the conformance suite is one test
		}
		if slices.Contains(l.Deps, "pgregory.net/rapid") {
			s.args = append(s.args, rapid...)
		}
		s.measured = sync.OnceValue(func() error { return s.measure(ctx, overlay) })
		g.suites[s.folder] = s
	}
	return nil
}

var (
	runnable = regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`)
	took     = regexp.MustCompile(`(?m)^( *)--- (PASS|SKIP): \S+ \(([0-9.]+)s\)`)
	logged   = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)
)

// measure compiles the suite and runs each of its tests alone, to find the mutants that it reaches. It leaves
// out a test that fails or is skipped.
func (s *suite) measure(ctx context.Context, overlay string) (err error) {
	if s.binary, err = s.gate.build(ctx, s.folder, overlay); err != nil {
		return err
	}
	began := time.Now()
	list := exec.CommandContext(ctx, s.binary, "-test.list=.")
	list.Dir = filepath.Join(s.gate.Root, s.folder)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", s.folder, err)
	}
	for _, name := range runnable.FindAllString(string(out), -1) {
		if s.gate.By == "" || s.gate.By == name {
			s.tests = append(s.tests, test{name: name})
		}
	}
	s.gate.each(len(s.tests), func(i int) {
		if !s.gate.over(ctx) {
			s.alone(ctx, &s.tests[i])
		}
	})
	if s.gate.over(ctx) {
		return nil // no further mutant is tried
	}
	left := map[string][]string{}
	for _, t := range s.tests {
		if t.reaches == nil {
			left[t.why] = append(left[t.why], t.name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		s.gate.Log("SKIP %s: %d tests do not run here, %q: %s", s.folder, len(left[why]), why,
			strings.Join(left[why], " "))
	}
	s.tests = slices.DeleteFunc(s.tests, func(t test) bool { return t.reaches == nil })
	slices.SortStableFunc(s.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
	s.gate.Log("%s passes unmutated, each of %d tests by itself, in %.1f s", s.folder, len(s.tests),
		time.Since(began).Seconds())
	return nil
}

// alone runs one test without a mutant.
func (s *suite) alone(ctx context.Context, t *test) {
	file := s.binary + "-" + t.name + ".reached"
	defer func() { _ = os.Remove(file) }() // the folder is temporary
	failed, out := s.gate.test(ctx, s.binary, s.folder, s.longest, ReachedVariable+"="+file,
		slices.Concat(s.args, []string{only(t.name), "-test.v"})...)
	if failed != "" {
		t.why = "fails without a mutant: " + failed
		return
	}
	for _, found := range took.FindAllStringSubmatch(out, -1) {
		if found[1] == "" && found[2] == "SKIP" {
			t.why = reason(out)
			return
		}
		secs, _ := strconv.ParseFloat(found[3], 64) // matched as a number
		// the time of a test does not include its parallel subtests
		t.took = max(t.took, time.Duration(secs*float64(time.Second)))
	}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.why = err.Error()
		return
	}
	t.reaches = map[string]bool{}
	for name := range strings.Lines(string(text)) {
		t.reaches[strings.TrimSuffix(name, "\n")] = true
	}
}

// reason returns the first line that the test logged, which is the reason for the skip.
func reason(out string) string {
	if found := logged.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return "skipped"
}

// batches returns the tests that reach the mutant, fastest first: the quick ones, then the others.
func (s *suite) batches(mutant string, enough time.Duration) (all []batch, reached int) {
	if s.folder == "infra" {
		enough *= 6 // each test of infra synthesizes a stack
	}
	total := time.Duration(0)
	for _, t := range s.tests {
		if !t.reaches[mutant] {
			continue
		}
		reached++
		if total += t.took; enough > 0 && total > enough && total > t.took {
			continue
		}
		if len(all) == 0 || len(all) == 1 && total > quick {
			all = append(all, batch{})
		}
		last := &all[len(all)-1]
		last.names = append(last.names, t.name)
		last.took += t.took
	}
	return all, reached
}

// run runs tests with a mutant; "" means no mutant. It returns the first failed test, or "".
func (s *suite) run(ctx context.Context, mutant string, limit time.Duration,
	names ...string) (failed, output string) {
	return s.gate.test(ctx, s.binary, s.folder, limit, Variable+"="+mutant,
		slices.Concat(s.args, []string{only(names...)})...)
}

// only returns the flag that chooses tests by name.
func only(names ...string) string { return "-test.run=^(" + strings.Join(names, "|") + ")$" }
