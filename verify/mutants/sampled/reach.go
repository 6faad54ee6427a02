package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

const module = "github.com/stepkeeper/stepkeeper/"

// suite are the tests of one package, in a binary with the mutants woven in.
type suite struct {
	folder  string
	binary  string
	args    []string // beside the tests
	tests   []test
	skipped map[string][]string // why tests say nothing → which
}

// test is one of them, by itself and without a mutant.
type test struct {
	Name    string
	Secs    float64
	reaches map[string]bool // mutants whose function it runs
}

// longest is the time that a test may take by itself; one that takes longer is left out.
const longest = 30 * time.Second

// suites looks up which of these folders have tests, and what they depend on.
func suites(root string, folders []string) ([]*suite, error) {
	args := []string{"-test"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	all, err := list(root, args...)
	if err != nil {
		return nil, err
	}
	var found []*suite
	for _, l := range all {
		folder, isTest := strings.CutSuffix(strings.TrimPrefix(l.ImportPath, module), ".test")
		if !isTest {
			continue
		}
		s := &suite{folder: folder, args: []string{"-test.short"}, skipped: map[string][]string{}}
		if folder == "infra" && os.Getenv("STEPKEEPER_NEED_NODE") != "" {
			s.args = nil // without Node, and so with -short, hardly any of its tests runs
		}
		if slices.Contains(l.Deps, "pgregory.net/rapid") {
			s.args = append(s.args, mutants.Rapid...)
		}
		found = append(found, s)
	}
	return found, nil
}

var (
	runnable = regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`)
	took     = regexp.MustCompile(`(?m)^--- (PASS|SKIP): \S+ \(([0-9.]+)s\)`)
	logged   = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)
)

// measure compiles the suites and runs each test of theirs by itself, to see which mutants it reaches. A test that fails
// so is left out.
func measure(ctx context.Context, gate *mutants.Gate, overlay string, all []*suite) error {
	errs := make([]error, len(all))
	gate.Each(len(all), func(i int) { errs[i] = all[i].compile(ctx, gate, overlay) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	type place struct {
		of *suite
		i  int
	}
	var places []place
	for _, s := range all {
		for i := range s.tests {
			places = append(places, place{s, i})
		}
	}
	why := make([]string, len(places))
	gate.Each(len(places), func(i int) {
		p := places[i]
		why[i] = p.of.alone(ctx, gate, &p.of.tests[p.i])
	})
	for i, p := range places {
		if why[i] != "" {
			p.of.skipped[why[i]] = append(p.of.skipped[why[i]], p.of.tests[p.i].Name)
		}
	}
	for _, s := range all {
		s.tests = slices.DeleteFunc(s.tests, func(t test) bool { return t.reaches == nil })
		for _, why := range sorted(s.skipped) {
			gate.Log("SKIP %s: %d tests do not run here, %q: %s", s.folder, len(s.skipped[why]), why, strings.Join(s.skipped[why], " "))
		}
	}
	return ctx.Err()
}

// compile builds the test binary, and lists its tests.
func (s *suite) compile(ctx context.Context, gate *mutants.Gate, overlay string) (err error) {
	if s.binary, err = gate.Build(ctx, strings.ReplaceAll(s.folder, "/", "-"), s.folder, "-overlay", overlay); err != nil {
		return err
	}
	names := exec.CommandContext(ctx, s.binary, "-test.list=.")
	names.Dir = filepath.Join(gate.Root, s.folder)
	out, err := names.Output()
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w", s.folder, err)
	}
	for _, name := range runnable.FindAllString(string(out), -1) {
		s.tests = append(s.tests, test{Name: name})
	}
	return nil
}

// alone runs one test without a mutant, and answers why it says nothing, if so.
func (s *suite) alone(ctx context.Context, gate *mutants.Gate, t *test) (why string) {
	file := s.binary + "-" + t.Name + ".reached"
	defer func() { _ = os.Remove(file) }() // in a temporary folder
	failed, out := gate.Reach(ctx, s.binary, s.folder, longest, file, slices.Concat(s.args, []string{only(t.Name), "-test.v"})...)
	if failed != "" {
		return "fails without a mutant: " + failed
	}
	if found := took.FindStringSubmatch(out); found != nil {
		t.Secs, _ = strconv.ParseFloat(found[2], 64) // matched as a number
		if found[1] == "SKIP" {
			return reason(out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err.Error()
	}
	t.reaches = map[string]bool{}
	for name := range strings.Lines(string(text)) {
		t.reaches[strings.TrimSuffix(name, "\n")] = true
	}
	return ""
}

// reason is the first line that the test logged: why it was skipped.
func reason(out string) string {
	if found := logged.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return "skipped"
}

// only chooses tests by name.
func only(names ...string) string { return "-test.run=^(" + strings.Join(names, "|") + ")$" }
