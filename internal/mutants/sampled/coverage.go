package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/internal/mutants"
)

const module = "github.com/stepkeeper/stepkeeper/"

// coverage is what each test of one package covers.
type coverage struct {
	Package string              `json:"package"`
	Blocks  []string            `json:"blocks"` // "shared/core/reply.go:10.2,12.16", as in Go's profiles
	Tests   []test              `json:"tests"`
	Skipped map[string][]string `json:"skipped"` // why tests say nothing → which
	Args    []string            `json:"args"`    // that its test binary takes beside the tests
	blocks  []block
	flawed  bool // a test failed
}

type test struct {
	Name   string  `json:"name"`
	Secs   float64 `json:"seconds"`
	Covers []int   `json:"covers"` // places in Blocks
}

type block struct {
	file     string
	from, to [2]int // line and column
}

// longest is the time that a test may take for the map; one that takes longer is left out.
const longest = time.Minute

// mapper makes the coverage of packages, each anew only where a source that it depends on has changed.
type mapper struct {
	gate  mutants.Gate
	cache string
	deps  map[string][]string // folder of a test → folders of the module that its binary is made of
	rapid map[string]bool     // folders of tests that use rapid
}

// newMapper looks up what the tests of these folders depend on.
func newMapper(gate mutants.Gate, cache string, folders []string) (*mapper, error) {
	m := &mapper{gate: gate, cache: cache, deps: map[string][]string{}, rapid: map[string]bool{}}
	args := []string{"-test"}
	for _, f := range folders {
		args = append(args, "./"+f)
	}
	all, err := list(gate.Root, args...)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		folder, isTest := strings.CutSuffix(strings.TrimPrefix(l.ImportPath, module), ".test")
		if !isTest {
			continue
		}
		for _, dep := range l.Deps {
			dep, _, _ = strings.Cut(dep, " ")
			m.rapid[folder] = m.rapid[folder] || dep == "pgregory.net/rapid"
			if in, ok := strings.CutPrefix(strings.TrimSuffix(dep, "_test"), module); ok && !slices.Contains(m.deps[folder], in) {
				m.deps[folder] = append(m.deps[folder], in)
			}
		}
		slices.Sort(m.deps[folder])
	}
	return m, nil
}

// of answers the coverage of a package's tests, from the cache where it can; nil: it has no tests.
func (m *mapper) of(ctx context.Context, folder string) (*coverage, error) {
	if m.deps[folder] == nil {
		return nil, nil
	}
	key, err := m.key(folder)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(m.cache, strings.ReplaceAll(folder, "/", "__")+".json")
	var cached struct {
		Key string
		coverage
	}
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &cached) == nil && cached.Key == key {
		return cached.parsed(), nil
	}
	c, err := m.measure(ctx, folder)
	if err != nil {
		return nil, err
	}
	if c.flawed {
		return c.parsed(), nil // not kept: it may pass the next time
	}
	cached.Key, cached.coverage = key, *c
	text, err := json.Marshal(cached)
	if err == nil {
		err = errors.Join(os.MkdirAll(m.cache, 0o750), os.WriteFile(file, text, 0o600))
	}
	return c.parsed(), err
}

// product are the product's packages that the test is made of.
func (m *mapper) product(folder string) (all []string) {
	for _, r := range rooms {
		for _, p := range r.Packages {
			if p == folder || slices.Contains(m.deps[folder], p) {
				all = append(all, module+p)
			}
		}
	}
	return all
}

// key is a hash of all files in the folders that the test is made of, and of what it can reach.
func (m *mapper) key(folder string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, m.product(folder), os.Getenv("STEPKEEPER_DYNAMODB"), os.Getenv("STEPKEEPER_NEED_NODE"))
	for _, dep := range append([]string{folder}, m.deps[folder]...) {
		root := filepath.Join(m.gate.Root, dep)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && d.Name() != "testdata" && !strings.Contains(path, "testdata/"):
				return fs.SkipDir
			case d.IsDir() || dep != folder && strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			fmt.Fprintf(hash, "%s %x\n", strings.TrimPrefix(path, m.gate.Root), sha256.Sum256(text))
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

var (
	runnable = regexp.MustCompile(`(?m)^(Test|Example|Fuzz)\w*$`)
	took     = regexp.MustCompile(`(?m)^--- (PASS|SKIP): \S+ \(([0-9.]+)s\)`)
	logged   = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: (.*)$`)
)

// measure runs each test of the package alone, and notes what it covers.
func (m *mapper) measure(ctx context.Context, folder string) (*coverage, error) {
	began := time.Now()
	product := m.product(folder)
	name := "cover-" + strings.ReplaceAll(folder, "/", "-")
	binary, err := m.gate.Build(ctx, name, folder, "-covermode=set", "-coverpkg="+strings.Join(product, ","))
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(binary) }() // in a temporary folder
	names := exec.CommandContext(ctx, binary, "-test.list=.")
	names.Dir = filepath.Join(m.gate.Root, folder)
	out, err := names.Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w", folder, err)
	}
	c := &coverage{Package: folder, Skipped: map[string][]string{}, Args: []string{"-test.short"}}
	if folder == "infra" && os.Getenv("STEPKEEPER_NEED_NODE") != "" {
		c.Args = nil // without Node, and so with -short, hardly any of its tests runs
	}
	if m.rapid[folder] {
		c.Args = append(c.Args, mutants.Rapid...)
	}
	all := runnable.FindAllString(string(out), -1)
	tests, profiles, skipped := make([]test, len(all)), make([][]string, len(all)), make([]string, len(all))
	m.gate.Each(len(all), func(i int) {
		tests[i].Name = all[i]
		tests[i].Secs, profiles[i], skipped[i] = m.alone(ctx, c, binary, all[i])
	})
	places := map[string]int{}
	for i := range tests {
		if skipped[i] != "" {
			c.Skipped[skipped[i]] = append(c.Skipped[skipped[i]], all[i])
			c.flawed = c.flawed || strings.HasPrefix(skipped[i], fails)
			continue
		}
		for _, line := range profiles[i] { // "…/reply.go:10.2,12.16 3 1": statements, and whether they ran
			b, counts, _ := strings.Cut(strings.TrimPrefix(line, module), " ")
			if _, known := places[b]; !known {
				places[b] = len(c.Blocks)
				c.Blocks = append(c.Blocks, b)
			}
			if strings.HasSuffix(counts, " 1") {
				tests[i].Covers = append(tests[i].Covers, places[b])
			}
		}
		c.Tests = append(c.Tests, tests[i])
	}
	m.gate.Log("mapped what %d tests of %s cover in %.0f s", len(c.Tests), folder, time.Since(began).Seconds())
	return c, ctx.Err()
}

// alone runs one test: how long it took, and the lines of its profile, or why it says nothing.
func (m *mapper) alone(ctx context.Context, c *coverage, binary, name string) (secs float64, profile []string, skipped string) {
	file := binary + "-" + name + ".out"
	defer func() { _ = os.Remove(file) }() // in a temporary folder
	args := append(slices.Clone(c.Args), only(name), "-test.v", "-test.coverprofile="+file)
	failed, out := m.gate.Test(ctx, binary, c.Package, longest, "", args...)
	if failed != "" { // once more, for a machine under load
		failed, out = m.gate.Test(ctx, binary, c.Package, longest, "", args...)
	}
	if failed != "" {
		return 0, nil, fails + failed
	}
	if found := took.FindStringSubmatch(out); found != nil {
		secs, _ = strconv.ParseFloat(found[2], 64) // matched as a number
		if found[1] == "SKIP" {
			return 0, nil, reason(out)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, nil, err.Error()
	}
	return secs, strings.Split(strings.TrimSpace(string(text)), "\n")[1:], ""
}

// fails begins the reason of a test that fails by itself.
const fails = "fails without a mutant: "

// reason is the first line that the test logged: why it was skipped.
func reason(out string) string {
	if found := logged.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return "skipped"
}

// only chooses tests by name.
func only(names ...string) string { return "-test.run=^(" + strings.Join(names, "|") + ")$" }

func (c *coverage) parsed() *coverage {
	c.blocks = make([]block, len(c.Blocks))
	for i, text := range c.Blocks {
		b := &c.blocks[i]
		file, places, _ := strings.Cut(text, ":")
		b.file = file
		if _, err := fmt.Sscanf(places, "%d.%d,%d.%d", &b.from[0], &b.from[1], &b.to[0], &b.to[1]); err != nil {
			b.file = "" // no place in the product
		}
	}
	return c
}

// covering are the tests that run the mutant's place. What lies in no block, such as the condition of
// a case, counts as run where its function is.
func (c *coverage) covering(m *sampled) []test {
	at, first := -1, -1
	place := [2]int{m.Line, m.Column}
	for i, b := range c.blocks {
		if b.file != m.File {
			continue
		}
		if !less(place, b.from) && less(place, b.to) && (at < 0 || less(c.blocks[at].from, b.from)) {
			at = i
		}
		if !less(b.from, m.Start) && (first < 0 || less(b.from, c.blocks[first].from)) {
			first = i
		}
	}
	if at < 0 {
		at = first
	}
	var tests []test
	for _, t := range c.Tests {
		if slices.Contains(t.Covers, at) {
			tests = append(tests, t)
		}
	}
	return tests
}

func less(a, b [2]int) bool { return slices.Compare(a[:], b[:]) < 0 }
