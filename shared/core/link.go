package core

import "slices"

// Link computes the lookup tables of the definition. Call it once after loading, before other goroutines use
// the definition. Steps must not change afterwards. Link ignores names that validation refuses.
func (d *Definition) Link() {
	d.byName = make(map[string]int, len(d.Steps))
	for i := range d.Steps {
		d.byName[d.Steps[i].Name] = i
	}
	d.after = make([][]int, len(d.Steps))
	for i := range d.Steps {
		for _, name := range d.Steps[i].After {
			if j, ok := d.byName[name]; ok {
				d.after[i] = append(d.after[i], j)
			}
		}
	}
	d.serves = slices.Repeat([]int{-1}, len(d.Steps))
	d.members = make([][]int, len(d.Steps))
	for i := range d.Steps {
		for _, name := range d.Steps[i].Servants() {
			j, ok := d.byName[name]
			if !ok {
				continue
			}
			d.serves[j] = i
			if d.Steps[i].Any != nil {
				d.members[i] = append(d.members[i], j)
			}
		}
	}
	d.ancestors = make([][]int, len(d.Steps))
	for i := range d.Steps {
		// A step that serves another one may end after the claims of later steps (P38, P54). No expression reads
		// the result of such a step, because a repeated request must have the same bytes (P12).
		d.ancestors[i] = slices.DeleteFunc(d.Before(i), func(j int) bool { return d.serves[j] >= 0 })
	}
}

// Servants returns the names of the steps that serve the step.
func (d *StepDefinition) Servants() (names []string) {
	switch {
	case d.Answer != nil && d.Answer.Ask != "":
		return []string{d.Answer.Ask}
	case d.Any != nil:
		for _, m := range d.Any.Members {
			names = append(names, MemberName(d.Name, m))
		}
	}
	return names
}

// Predecessors returns the steps that step i names in After.
func (d *Definition) Predecessors(i int) []int { return d.after[i] }

// Ancestors returns the steps whose results step i may read: its direct and indirect predecessors, except
// steps that serve another one.
func (d *Definition) Ancestors(i int) []int { return d.ancestors[i] }

// Serves returns the step for which alone step i exists, or -1. A call that sends a question serves the step that
// is answered, and a member serves its Any. Once that step has ended, nobody wants step i any more (P53, a step
// can be withdrawn).
func (d *Definition) Serves(i int) int { return d.serves[i] }

// MemberOf returns the Any that step i is a member of, or -1.
func (d *Definition) MemberOf(i int) int {
	if n := d.serves[i]; n >= 0 && d.Steps[n].Any != nil {
		return n
	}
	return -1
}

// Members returns the steps that are the members of the Any of step i, in the order of Any.Members.
func (d *Definition) Members(i int) []int { return d.members[i] }

// Before returns the direct and indirect predecessors of step i. In a circle of steps, each is one of its own.
func (d *Definition) Before(i int) []int {
	seen := make([]bool, len(d.Steps))
	found := append([]int(nil), d.after[i]...)
	for n := 0; n < len(found); n++ {
		if j := found[n]; !seen[j] {
			seen[j] = true
			found = append(found, d.after[j]...)
		}
	}
	unique := found[:0]
	for _, j := range found {
		if seen[j] {
			seen[j] = false
			unique = append(unique, j)
		}
	}
	return unique
}

// Index returns the position of the named step, or -1.
func (d *Definition) Index(step string) int {
	if i, ok := d.byName[step]; ok {
		return i
	}
	return -1
}
