package source

import (
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// graph contains the dependencies between the steps. A step begins only after all its predecessors have
// ended.
type graph struct {
	names  []string
	index  map[string]int
	after  [][]int  // direct predecessors of each step, without unknown names
	sorted []int    // all steps, each after its predecessors; nil if there is a cycle or partial is set
	before []bitset // all direct and indirect predecessors of each step; nil if sorted is nil

	partial bool // true if a dependency is invalid; sorted and before are then nil
}

type bitset []uint64

func (s bitset) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s bitset) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s bitset) join(o bitset) {
	for i := range s {
		s[i] |= o[i]
	}
}

// newGraph reads the dependencies. It reports unknown names and cycles as problems.
func newGraph(b *builder) *graph {
	n := len(b.def.Steps)
	g := &graph{names: make([]string, n), index: make(map[string]int, n), after: make([][]int, n)}
	for i := range b.def.Steps {
		g.names[i] = b.def.Steps[i].Name
		g.index[g.names[i]] = i
	}
	outside := b.outside()
	for i, f := range b.steps {
		after := f.value.get("after")
		if after == nil {
			continue
		}
		if after.shape != isList {
			g.partial = true // the schema check reports the wrong type
		}
		for _, e := range after.list {
			j, known := g.index[e.text]
			switch {
			case e.shape != isText:
				g.partial = true // the schema check reports the wrong type
			case !known && slices.Contains(outside, e.text):
				g.partial = true
				b.report.error(e.at, "step "+f.key+" comes after "+e.text+", which is outside of the block",
					"write it in the after of the step that holds the block")
			case !known:
				g.partial = true
				b.report.error(e.at, "step "+f.key+" comes after "+e.text+", which is no step",
					suggest.DidYouMean(e.text, g.names, "the steps are "+strings.Join(g.names, ", ")))
			case b.memberIn(e.text) != nil:
				g.partial = true
				b.report.error(e.at, "step "+f.key+" comes after "+e.text+", which is a member",
					"write "+b.memberIn(e.text).Name+", which ends when enough of its members have")
			case j == i:
				b.report.error(e.at, "step "+f.key+" comes after itself", "remove it from after")
			default:
				g.after[i] = append(g.after[i], j)
			}
		}
	}
	cycle := g.sort()
	if g.partial {
		g.sorted = nil
		g.before = nil
	}
	if cycle != nil {
		b.report.error(b.steps[cycle[0]].at, "the steps wait for each other: "+g.path(cycle),
			"remove one of them from an after")
	}
	return g
}

// sort sets sorted and before. If there is a cycle, sort returns the steps of the cycle. The first step of
// the cycle appears again at the end.
func (g *graph) sort() (cycle []int) {
	n := len(g.names)
	waiting := make([]int, n)
	next := make([][]int, n)
	for i, after := range g.after {
		waiting[i] = len(after)
		for _, j := range after {
			next[j] = append(next[j], i)
		}
	}
	sorted := make([]int, 0, n)
	for i := range waiting {
		if waiting[i] == 0 {
			sorted = append(sorted, i)
		}
	}
	for k := 0; k < len(sorted); k++ {
		for _, i := range next[sorted[k]] {
			waiting[i]--
			if waiting[i] == 0 {
				sorted = append(sorted, i)
			}
		}
	}
	if len(sorted) < n {
		return g.cycle(waiting)
	}
	g.sorted = sorted
	g.before = make([]bitset, n)
	for _, i := range sorted {
		g.before[i] = make(bitset, (n+63)/64)
		for _, j := range g.after[i] {
			g.before[i].add(j)
			g.before[i].join(g.before[j])
		}
	}
	return nil
}

// cycle returns the steps of a cycle. waiting[i] is positive if sort could not place step i. Each such step
// has a predecessor that sort could not place either. cycle goes from predecessor to predecessor until it
// reaches a step for the second time.
func (g *graph) cycle(waiting []int) []int {
	at := 0
	for waiting[at] == 0 {
		at++
	}
	met := map[int]int{}
	var walk []int
	for {
		if start, again := met[at]; again {
			return append(walk[start:], at)
		}
		met[at] = len(walk)
		walk = append(walk, at)
		for _, j := range g.after[at] {
			if waiting[j] > 0 {
				at = j
				break
			}
		}
	}
}

func (g *graph) path(steps []int) string {
	words := make([]string, 0, len(steps))
	for i, s := range steps {
		if i == 10 && len(steps) > 12 {
			words = append(words, "…")
			break
		}
		words = append(words, g.names[s])
	}
	return strings.Join(words, " after ")
}

// visible returns the names of all steps that end before step i begins. If the dependencies are invalid, it
// returns nil, which makes the outputs of all steps visible.
func (g *graph) visible(i int) map[string]bool {
	if g.before == nil {
		return nil
	}
	names := map[string]bool{}
	for j := range g.names {
		if g.before[i].has(j) {
			names[g.names[j]] = true
		}
	}
	return names
}

// certain reports whether step a always ends before step b begins.
func (g *graph) certain(a, b int) bool { return g.before[b].has(a) }
