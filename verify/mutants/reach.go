package mutants

import (
	"bytes"
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

// Module is the import path of the product's module, with a slash at the end.
const Module = "github.com/stepkeeper/stepkeeper/"

// simulated is the folder of the tests that run simulations with a mutant. The gate runs one of these tests
// only if By names the test.
const simulated = "simulate/internal/explore"

// rapid holds additional arguments for tests that use the library rapid. The arguments make the tests
// repeatable, set the number of checks, and turn off shrinking and failure files.
var rapid = []string{"-rapid.seed=1", "-rapid.checks=500", "-rapid.nofailfile", "-rapid.shrinktime=0s"}

type suite struct {
	gate    *Gate
	folder  string
	binary  string
	args    []string      // arguments in addition to the names of the tests
	longest time.Duration // time limit of a single test; slower tests are omitted
	tests   []test
	// measured compiles the tests and runs each test alone once. Later calls return the first result.
	measured func() error
}

type test struct {
	name    string
	took    time.Duration
	reaches map[string]bool // mutants whose function the test calls; nil if the test cannot be used
	why     string          // reason why the test cannot be used
}

type batch struct {
	names []string
	took  time.Duration
}

// Listed holds the fields of one package in the output of `go list -json`.
type Listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles, Deps                 []string
}

// List runs `go list` in the folder root with the arguments.
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

func (g *Gate) folders(m *Mutant) []string {
	if g.By != "" {
		return []string{simulated}
	}
	return roomOf(m).folders(m.Package())
}

// prepare creates a suite for each folder that the mutants need. It does not compile the suites yet.
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
			// With the flag -short most tests of infra skip themselves, because they need Node.
			s.args, s.longest = nil, time.Hour
		case s.folder == "shared/port/storetest" && os.Getenv("STEPKEEPER_DYNAMODB") != "":
			s.longest = 5 * time.Minute // the conformance tests are a single test
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

// measure compiles the tests and runs each of them alone, to find the mutants that each test reaches. It
// omits each test that fails or skips itself.
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
		return nil // the gate tries no further mutant
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
	s.gate.Log("%s passes unmutated, each of %d tests by itself, in %.1f s", s.folder, len(s.tests),
		time.Since(began).Seconds())
	return nil
}

func (s *suite) alone(ctx context.Context, t *test) {
	file := s.binary + "-" + t.name + ".reached"
	defer func() { _ = os.Remove(file) }() // the system removes the temporary folder if this fails
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
		secs, _ := strconv.ParseFloat(found[3], 64) // the expression matches only numbers
		// The time of a test does not include the time of its parallel subtests.
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

// reason returns the first line that the test logged. In a skipped test this line is the reason for the skip.
func reason(out string) string {
	if found := logged.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return "skipped"
}

// batches returns the tests that reach the mutant, in up to two batches, and the number of these tests. The
// first batch holds the likeliest tests. If all these tests together take longer than enough, the batches
// omit some of them. The number reached includes the omitted tests.
func (s *suite) batches(m *Mutant, enough time.Duration) (all []batch, reached int) {
	if s.folder == "infra" {
		enough *= 6 // each test of infra synthesises a stack
	}
	total := time.Duration(0)
	for _, t := range s.likeliest(m) {
		reached++
		if enough > 0 && total > 0 && total+t.took > enough {
			continue
		}
		if len(all) == 0 || len(all) == 1 && total > quick {
			all = append(all, batch{})
		}
		total += t.took
		last := &all[len(all)-1]
		last.names = append(last.names, t.name)
		last.took += t.took
	}
	return all, reached
}

// likeliest returns the tests that reach the mutant. The tests in the test file of the mutant's file come
// first. The other tests are sorted by the product of their duration and the number of mutants that they
// reach. A test that reaches few mutants examines each of them closely.
func (s *suite) likeliest(m *Mutant) []test {
	var own []byte
	if s.folder == m.Package() {
		// Many files have no test file.
		own, _ = os.ReadFile(filepath.Join(s.gate.Root, strings.TrimSuffix(m.File, ".go")+"_test.go"))
	}
	cost := func(t test) time.Duration {
		if bytes.Contains(own, []byte("func "+t.name+"(")) {
			return t.took - time.Hour
		}
		return time.Duration(len(t.reaches)) * max(t.took, 10*time.Millisecond)
	}
	likely := slices.DeleteFunc(slices.Clone(s.tests), func(t test) bool { return !t.reaches[m.Name] })
	slices.SortStableFunc(likely, func(a, b test) int { return cmp.Compare(cost(a), cost(b)) })
	return likely
}

// run runs tests with a mutant, or without a mutant if mutant is "". It returns the name of the first test
// that failed, or "".
func (s *suite) run(ctx context.Context, mutant string, limit time.Duration,
	names ...string) (failed, output string) {
	return s.gate.test(ctx, s.binary, s.folder, limit, Variable+"="+mutant,
		slices.Concat(s.args, []string{only(names...)})...)
}

func only(names ...string) string { return "-test.run=^(" + strings.Join(names, "|") + ")$" }
