package source

import (
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// dependencies reads the predecessors of the steps. It reports invalid names and cycles as problems.
func (b *builder) dependencies() {
	b.def.Link()
	valid := true
	for _, s := range b.steps {
		after := s.value.get("after")
		if after == nil {
			continue
		}
		valid = valid && after.shape == isList // the schema check reports the wrong type
		s.After = nil
		for _, e := range after.list {
			if e.shape != isText {
				valid = false // the schema check reports the wrong type
				continue
			}
			what, fix := b.wrongPredecessor(s.Name, e.text)
			if what == "" {
				s.After = append(s.After, e.text)
				continue
			}
			valid = valid && e.text == s.Name // a step that comes after itself comes after the others as well
			b.error(e.at, "step %s comes after %s", s.Name, what).fix("%s", fix)
		}
	}
	b.def.Link()
	before := make([]map[string]bool, len(b.steps))
	for i := range before {
		before[i] = map[string]bool{}
		for _, j := range b.def.Before(i) {
			before[i][b.steps[j].Name] = true
		}
	}
	if cycle := b.cycle(before); cycle != nil {
		b.error(b.steps[cycle[0]].at, "the steps wait for each other: %s", b.path(cycle)).
			fix("remove one of them from an after")
		valid = false
	}
	if valid {
		b.before = before
	}
}

// wrongPredecessor returns what is wrong about a name in the after of a step, or "".
func (b *builder) wrongPredecessor(step, name string) (what, fix string) {
	group := b.memberIn(name)
	switch known := b.def.Index(name) >= 0; {
	case !known && slices.Contains(b.outside(), name):
		return name + ", which is outside of the block", "write it in the after of the step that holds the block"
	case !known:
		names := namesOf(b.def)
		return name + ", which is no step",
			suggest.DidYouMean(name, names, "the steps are "+strings.Join(names, ", "))
	case group != nil:
		return name + ", which is a member", "write " + group.Name + ", which ends when enough of its members have"
	case name == step:
		return "itself", "remove it from after"
	}
	return "", ""
}

func namesOf(d *core.Definition) (names []string) {
	for i := range d.Steps {
		names = append(names, d.Steps[i].Name)
	}
	return names
}

// cycle returns the steps of a cycle, or nil. The first step of the cycle appears again at the end. A step that is
// stuck is in a cycle or comes after one, so one of its predecessors is stuck too. cycle goes from predecessor to
// predecessor until it reaches a step for the second time.
func (b *builder) cycle(before []map[string]bool) (walk []int) {
	stuck := func(i int) bool {
		return slices.ContainsFunc(b.def.Before(i), func(j int) bool { return before[j][b.steps[j].Name] })
	}
	for at := range before {
		for met := map[int]int{}; stuck(at); {
			if start, again := met[at]; again {
				return append(walk[start:], at)
			}
			met[at] = len(walk)
			walk = append(walk, at)
			before := b.def.Predecessors(at)
			at = before[slices.IndexFunc(before, stuck)]
		}
	}
	return nil
}

func (b *builder) path(steps []int) string {
	words := make([]string, 0, len(steps))
	for i, s := range steps {
		if i == 10 && len(steps) > 12 {
			words = append(words, "…")
			break
		}
		words = append(words, b.steps[s].Name)
	}
	return strings.Join(words, " after ")
}

// longestPath returns the largest sum of timeouts and waits along the dependencies. The result last is the last step
// on this path.
func longestPath(d *core.Definition) (longest core.Duration, last int) {
	ends := map[int]core.Duration{}
	var end func(i int) core.Duration
	end = func(i int) core.Duration {
		if known, done := ends[i]; done {
			return known
		}
		ends[i] = 0 // of a step in a circle, which is reported
		begin := core.Duration(0)
		for _, j := range d.Predecessors(i) {
			begin = max(begin, end(j))
		}
		ends[i] = begin + span(&d.Steps[i]) + membersSpan(d, i)
		return ends[i]
	}
	for i := range d.Steps {
		if d.MemberOf(i) < 0 && end(i) > longest {
			longest = end(i)
			last = i
		}
	}
	return longest, last
}

// membersSpan returns the longest time until enough members of an Any have ended, or 0 for any other step. Waits end
// well for certain, so the other members do not count if there are enough waits.
func membersSpan(d *core.Definition, group int) (longest core.Duration) {
	var waits []core.Duration
	for _, i := range d.Members(group) {
		s := &d.Steps[i]
		longest = max(longest, span(s))
		if s.Wait != nil {
			waits = append(waits, span(s))
		}
	}
	s := &d.Steps[group]
	if s.Any != nil && s.Any.Enough > 0 && s.Any.Enough <= len(waits) {
		slices.Sort(waits)
		longest = waits[s.Any.Enough-1]
	}
	if s.Deadline > 0 {
		return min(longest, s.Deadline)
	}
	return longest
}
