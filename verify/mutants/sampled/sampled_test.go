package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

const root = "../../.."

const sample = `package box

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

type Box struct {
	mu sync.Mutex
	n  int
}

func (b *Box) Add(by, limit int) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if by < 0 {
		return false, errors.New("negative")
	}
	if b.n+by <= limit && by != 7 {
		b.n += by
		return true, nil
	}
	return false, nil
}

func Wait(ctx context.Context, b *Box) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	if err := sleep(ctx); err != nil {
		return fmt.Errorf("wait: %w", err)
	}
	_, err := b.Add(1, 2)
	return err
}

func sleep(ctx context.Context) error { return ctx.Err() }

func Calm() (ok bool) {
	defer func() { _ = recover() }()
	return true
}

func Max[T int | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func Kind(n int) string {
	switch {
	case n < 0:
		return "negative"
	case n > 3:
		return "large"
	}
	return ""
}

func Unused() int { return 3 }

func Least(a, b int) int { return min(a, b, len(make(map[int]int, 8))) }

func Ended(err error) bool { return errors.Is(err, context.Canceled) }

func Reported(a, b string) string { return fmt.Sprintf("%s, %s", a, b) }

type Refusal struct{ error }

func refuse(code int, format string, args ...any) *Refusal { return &Refusal{fmt.Errorf(format, args...)} }

func Refused(a, b string) (int, error) { return 5, refuse(9, "%s, %s", a, b) }
`

const sampleTest = `package box

import (
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	b := &Box{}
	for _, tt := range []struct {
		by   int
		ok   bool
		fail bool
	}{{2, true, false}, {-1, false, true}, {3, true, false}, {1, false, false}, {0, true, false}, {7, false, false}} {
		if ok, err := b.Add(tt.by, 5); ok != tt.ok || (err != nil) != tt.fail {
			t.Errorf("%d: %v, %v", tt.by, ok, err)
		}
	}
}

func TestMax(t *testing.T) {
	if Max(1, 2) != 2 || Max("b", "a") != "b" {
		t.Error("wrong")
	}
}

func TestKind(t *testing.T) {
	t.Run("large", func(t *testing.T) {
		t.Parallel()
		time.Sleep(100 * time.Millisecond)
		if Kind(9) != "large" {
			t.Error("wrong")
		}
	})
}

func TestNeedsMore(t *testing.T) { t.Skip("not here") }
`

var box = mutants.Room{Name: "box", Packages: []string{"box"}}

// sampleModule is one with a package of its own, in the place of the product.
func sampleModule(t *testing.T) (dir string, s *sources) {
	t.Helper()
	dir = t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "box"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module " + strings.TrimSuffix(mutants.Module, "/") +
		"\n\ngo 1.26\n", "box/box.go": sample, "box/box_test.go": sampleTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := load(dir, box.Packages)
	if err != nil {
		t.Fatal(err)
	}
	return dir, s
}

func TestOperators(t *testing.T) {
	_, s := sampleModule(t)
	drawn := map[string][]string{}
	for _, m := range s.draw(box, 1000, 1) {
		drawn[m.Operator] = append(drawn[m.Operator], m.Func+": "+m.Before+" → "+m.After)
		if at := sample[m.At:]; !strings.HasPrefix(at, m.Old) || strings.Count(sample[:m.At], "\n")+
			1 != m.Line {
			t.Errorf("%s: %q does not stand at byte %d", m.Name, m.Old, m.At)
		}
		if m.Func == "Calm" || (m.Func == "Least" || m.Func == "Ended") && m.Operator != "value" ||
			strings.Contains(m.After, "Sprintf(a,") || strings.Contains(m.After, `Sprintf("",`) ||
			m.Func == "Refused" && !strings.Contains(m.After, ", a, b)") &&
				!strings.Contains(m.After, "return 5, nil") {
			t.Errorf(
				"%s: recover has no effect in a copy, min commutes, the size of a map is a hint, an "+
					"error's words are no behaviour, and linters see the rest", m.Name)
		}
	}
	for _, want := range []string{
		"condition: Box.Add: if by < 0 { → if !(by < 0) {",
		"condition: Box.Add: if by < 0 { → if true {",
		"condition: Kind: case n > 3: → case false:",
		"boundary: Max: if a > b { → if a >= b {",
		"logic: Box.Add: if b.n+by <= limit && by != 7 { → if b.n+by <= limit || by != 7 {",
		"logic: Box.Add: if b.n+by <= limit && by != 7 { → if b.n+by <= limit {",
		"arithmetic: Box.Add: if b.n+by <= limit && by != 7 { → if b.n - by <= limit && by != 7 {",
		"statement: Box.Add: b.n += by → ",
		`error: Wait: return fmt.Errorf("wait: %w", err) → return nil`,
		"constant: Wait: ctx, stop := context.WithTimeout(ctx, 5*time.Second) → " +
			"ctx, stop := context.WithTimeout(ctx, 5*time.Millisecond)",
		"arguments: Wait: _, err := b.Add(1, 2) → _, err := b.Add(2, 1)",
		"early return: Wait: _, err := b.Add(1, 2) → if true { return *new(error) }; _, err := b.Add(1, 2)",
		"value: Ended: func Ended(err error) bool { return errors.Is(err, context.Canceled) } → " +
			"func Ended(err error) bool { return false }",
	} {
		operator, change, _ := strings.Cut(want, ": ")
		if !slices.Contains(drawn[operator], change) {
			t.Errorf("%s: no %q in\n%s", operator, change, strings.Join(drawn[operator], "\n"))
		}
	}
}

// The same seed draws the same, in a longer draw too; another seed draws others.
func TestDrawDependsOnTheSeedAlone(t *testing.T) {
	names := func(n int, seed uint64) (names []string) {
		_, s := sampleModule(t)
		for _, m := range s.draw(box, n, seed) {
			names = append(names, m.Name)
		}
		return names
	}
	first := names(8, 1)
	if len(first) != 8 || !slices.Equal(first, names(16, 1)[:8]) {
		t.Errorf("%q, then %q", first, names(16, 1))
	}
	if slices.Equal(first, names(8, 2)) {
		t.Errorf("two seeds drew %q", first)
	}
}

func TestWhatDoesNotCompileIsRefused(t *testing.T) {
	_, s := sampleModule(t)
	p := s.packages["box"]
	for old, put := range map[string]string{
		"b.n += by":                  "b.n += nothing",
		"err := b.Add(1, 2)":         "another := b.Add(1, 2)",
		"return errors":              "return",
		"ctx, stop := context.WithT": "ctx, stop, more := context.WithT",
	} {
		at := strings.Index(sample, old)
		fun := "Wait"
		if at < strings.Index(sample, "func Wait") {
			fun = "Box.Add"
		}
		m := mutants.Mutant{Name: "x", File: "box/box.go", Func: fun, Old: old, New: put, At: at}
		if err := s.fits(p, m); err == nil {
			t.Errorf("%q compiles", put)
		}
	}
	if err := s.fits(p, mutants.Mutant{Name: "x", File: "box/box.go", Func: "Box.Add", Old: "b.n += by",
		New: "b.n -= by", At: strings.Index(sample, "b.n += by")}); err != nil {
		t.Error(err)
	}
}

// Drawn mutants are tried with the tests that reach them, and what a mutant is argued to be is not counted.
func TestTrial(t *testing.T) {
	dir, s := sampleModule(t)
	equivalents = append(equivalents, equivalent{"box", "Unused", "func Unused() int { return 3 }",
		"func Unused() int { return 4 }", "nothing calls it"})
	t.Cleanup(func() { equivalents = equivalents[:len(equivalents)-1] })
	drawn := s.draw(box, 1000, 1)
	var logged strings.Builder
	gate := mutants.Gate{Root: dir, Folder: t.TempDir(),
		Log: func(format string, args ...any) { fmt.Fprintf(&logged, format+"\n", args...) }}
	results, err := try(t.Context(), &gate, drawn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(logged.String(), `SKIP box: 1 tests do not run here, "not here": TestNeedsMore`) {
		t.Error(logged.String())
	}
	for _, r := range results {
		what := r.Func + ": " + r.After
		switch {
		case r.Func == "Wait" || r.Func == "sleep" || r.Func == "Unused":
			if r.By != "" || r.Reached != 0 || r.Equivalent != strings.HasSuffix(what, "return 4 }") {
				t.Errorf("%s: %+v; nothing reaches it", what, r)
			}
		case r.Operator == "lock" || what == "Max: if a >= b {":
			if r.By != "" || r.Reached != 1 {
				t.Errorf("%s: %+v; no test can notice", what, r)
			}
		case strings.HasPrefix(r.New, "!(") && r.By+" "+r.Test != "box Test"+strings.TrimPrefix(r.Func,
			"Box."):
			t.Errorf("%s: %+v", what, r)
		}
	}
	counts := count([]mutants.Room{box}, results)
	if c := counts[0]; c.Equivalent != 1 || c.Total != len(drawn)-1 || c.Killed == 0 || c.Unreached == 0 {
		t.Errorf("%+v of %d", c, len(drawn))
	}
	if err := below(counts, counts[0].Percent+1); err == nil || !strings.Contains(err.Error(), "box") ||
		below(counts, counts[0].Percent) != nil {
		t.Errorf("%+v: %v", counts, err)
	}
	if err := belowInAll(counts, counts[0].Percent+1); err == nil ||
		belowInAll(counts, counts[0].Percent) != nil {
		t.Errorf("%+v: %v", counts, err)
	}
	if text := summary(counts, results); !strings.Contains(text, "box/box.go:") ||
		!strings.Contains(text, "- return fmt.Errorf") {
		t.Error(text)
	}
}

// Each package of the product is in one room, or it is said why not; each equivalent still stands there.
func TestRoomsHoldTheProduct(t *testing.T) {
	var patterns []string
	for _, r := range mutants.ProductRoots {
		patterns = append(patterns, "./"+r+"/...")
	}
	all, err := mutants.List(root, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]int{}
	for _, r := range mutants.Rooms {
		for _, p := range r.Packages {
			in[p]++
		}
	}
	for _, l := range all {
		folder := strings.TrimPrefix(l.ImportPath, mutants.Module)
		left := slices.ContainsFunc(slices.Sorted(maps.Keys(mutants.NotProduct)),
			func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") })
		if len(l.GoFiles) > 0 && (in[folder] == 1) == left {
			t.Errorf("%s is in %d rooms, and listed as no product: %v", folder, in[folder], left)
		}
		delete(in, folder)
	}
	for folder := range in {
		t.Errorf("there is no package %s", folder)
	}
	for _, e := range equivalents {
		files, err := filepath.Glob(filepath.Join(root, e.Package, "*.go"))
		found := err == nil && slices.ContainsFunc(files, func(f string) bool {
			text, err := os.ReadFile(f)
			return err == nil && strings.Contains(oneLine(string(text)), e.Before)
		})
		if !found || e.Why == "" {
			t.Errorf(
				"%s, %s: %q does not stand there, or has no argument; the code has changed: change the "+
					"entry with it", e.Package, e.Func, e.Before)
		}
	}
}
