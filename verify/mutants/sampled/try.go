package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

const (
	// enough is how many seconds of a package's reaching tests, measured without a mutant, a mutant is tried with;
	// the slowest beyond are left out.
	enough = 10.0
	// enoughInfra is the same for infra, each of whose tests synthesizes a stack; longestTry ends them earlier.
	enoughInfra = 120.0
	// quick is how many of these seconds are run first, of each package.
	quick = 2.0
	// longestTry is the time of one mutant, whatever its tests take.
	longestTry = time.Minute
	// leastTime is what a batch of tests gets in any case, otherwise slowdown times what it takes unmutated.
	leastTime = 10 * time.Second
	slowdown  = 10
)

// result is what became of a mutant.
type result struct {
	Room       string  `json:"room"`
	File       string  `json:"file"`
	Line       int     `json:"line"`
	Func       string  `json:"function"`
	Operator   string  `json:"operator"`
	Before     string  `json:"before"`
	After      string  `json:"after"`
	By         string  `json:"by,omitempty"` // the test that noticed; "": none
	Reached    int     `json:"reaching_tests"`
	Tried      int     `json:"tried_tests"`
	Equivalent string  `json:"equivalent,omitempty"`
	Secs       float64 `json:"seconds"`
}

// batch are tests of one package that run in one process.
type batch struct {
	pkg   string
	names []string
	secs  float64
}

// trial runs mutants against the tests that reach their functions.
type trial struct {
	gate   mutants.Gate
	suites map[string]*suite // by folder
	rooms  map[string]room
}

// batches are the tests that reach the mutant's function, in the order in which they are to run.
func (t *trial) batches(m *sampled) (all []batch, reaching int) {
	type owned struct {
		test
		pkg string
	}
	var tests []owned
	r := t.rooms[m.Room]
	for _, pkg := range r.tests() {
		if s := t.suites[pkg]; s != nil {
			for _, one := range s.tests {
				if one.reaches[m.Name] {
					tests = append(tests, owned{one, pkg})
				}
			}
		}
	}
	slices.SortStableFunc(tests, func(a, b owned) int { return cmp.Compare(a.Secs, b.Secs) })
	total, open := map[string]float64{}, map[string]int{} // by package
	for _, o := range tests {
		most := enough
		if o.pkg == "infra" {
			most = enoughInfra
		}
		if total[o.pkg] += o.Secs; total[o.pkg] > most && total[o.pkg] > o.Secs {
			continue
		}
		at, ok := open[o.pkg]
		if !ok || all[at].secs+o.Secs > quick && all[at].secs < quick {
			at = len(all)
			open[o.pkg] = at
			all = append(all, batch{pkg: o.pkg})
		}
		all[at].names = append(all[at].names, o.Name)
		all[at].secs += o.Secs
	}
	slices.SortStableFunc(all, func(a, b batch) int { return cmp.Compare(a.secs, b.secs) })
	return all, len(tests)
}

// run runs tests of a package with a mutant, or "" for none.
func (t *trial) run(ctx context.Context, pkg, mutant string, limit time.Duration, names []string) (failed, output string) {
	s := t.suites[pkg]
	return t.gate.Test(ctx, s.binary, pkg, limit, mutant, slices.Concat(s.args, []string{only(names...)})...)
}

// try runs a mutant's tests until one notices it.
func (t *trial) try(ctx context.Context, m *sampled) result {
	began := time.Now()
	r := result{Room: m.Room, File: m.File, Line: m.Line, Func: m.Func, Operator: m.Operator, Before: m.Before, After: m.After, Equivalent: m.Equivalent}
	if r.Equivalent != "" {
		return r
	}
	var batches []batch
	batches, r.Reached = t.batches(m)
	for _, b := range batches {
		left := longestTry - time.Since(began)
		if left <= 0 || ctx.Err() != nil {
			break // a slow machine: neither noticed nor all tried
		}
		r.Tried += len(b.names)
		left = min(left, max(leastTime, time.Duration(slowdown*b.secs*float64(time.Second))))
		if failed, _ := t.run(ctx, b.pkg, m.Name, left, b.names); failed != "" && t.passes(ctx, b, failed, left) {
			r.By = b.pkg + " " + failed
			break
		}
	}
	r.Secs = time.Since(began).Seconds()
	return r
}

// passes reports that what failed with a mutant passes without, so that the mutant is the cause.
func (t *trial) passes(ctx context.Context, b batch, failed string, limit time.Duration) bool {
	names := b.names
	if name, _, _ := strings.Cut(failed, "/"); slices.Contains(names, name) {
		names = []string{name}
	}
	again, _ := t.run(ctx, b.pkg, "", limit, names)
	return again == ""
}
