package simulate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
)

// Shrink looks for a shorter run that breaks the same invariant: fewer faults, orders and delays. It tries at
// most `tries` runs, and stops earlier if stop returns true; stop may be nil. It returns the choices and the
// result of the shortest run.
func Shrink(sc Scenario, choices []Choice, tries int, stop func() bool) ([]Choice, Result) {
	s := &shrinking{sc: sc, left: tries, stop: stop}
	best := s.run(choices)
	if best.Violation == nil {
		return choices, best
	}
	s.want = best.Violation.Invariant
	s.best, s.result = choices, best
	s.fewer()
	for again := true; again && s.left > 0; {
		again = s.drop() || s.lower() || s.fewer()
	}
	return s.best, s.result
}

type shrinking struct {
	sc     Scenario
	want   string
	left   int
	stop   func() bool
	best   []Choice
	result Result
}

func (s *shrinking) run(choices []Choice) Result {
	s.left--
	return Run(s.sc, NewPlayer(choices), Options{})
}

// try keeps the choices if the same invariant still breaks. It keeps only the choices that the run used.
func (s *shrinking) try(choices []Choice) bool {
	if s.stop != nil && s.stop() {
		s.left = 0
	}
	if s.left <= 0 {
		return false
	}
	r := s.run(choices)
	if r.Violation == nil || r.Violation.Invariant != s.want {
		return false
	}
	s.best, s.result = r.Choices, r
	return true
}

// fewer tries runs with fewer orders, at most mostMatter. It keeps the choices about one order, which gets
// each place in turn. If all orders of the choices have a place in the run, it also tries to keep them all.
func (s *shrinking) fewer() bool {
	var ids []string
	for _, c := range s.best {
		if id := orderIn(c.Of); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 { // no choice names an order, so all are alike
		ids = []string{deployment.FirstID}
	}
	for n := 1; n < min(s.result.Orders, mostMatter+1) && s.left > 0; n++ {
		for _, id := range ids {
			for place := 1; place <= n; place++ {
				if s.tryEarlier(only(s.best, map[string]string{id: orderID(place)}, n)) {
					return true
				}
			}
		}
		if places := map[string]string{}; 1 < len(ids) && len(ids) <= n {
			for k, id := range ids {
				places[id] = orderID(k + 1)
			}
			if s.tryEarlier(only(s.best, places, n)) {
				return true
			}
		}
	}
	return false
}

// mostMatter is the largest number of orders in a run of fewer. tryEarlier moves choices to earlier places
// only if there are at most fewChoices of them.
const mostMatter, fewChoices = 3, 12

// tryEarlier tries the choices. If that fails, it tries them again with one choice at an earlier place,
// because a run with fewer orders has fewer events at a queue or a process.
func (s *shrinking) tryEarlier(choices []Choice) bool {
	if s.try(choices) {
		return true
	}
	for i := 0; i < len(choices) && len(choices) <= fewChoices; i++ {
		for nth := choices[i].Nth - 1; nth > 0 && s.left > 0; nth-- {
			earlier := slices.Clone(choices)
			if earlier[i].Nth = nth; s.try(earlier) {
				return true
			}
		}
	}
	return false
}

// only returns the choices of a run with n orders. places maps the IDs of the orders that stay to their new
// IDs.
func only(choices []Choice, places map[string]string, n int) (next []Choice) {
	if n > 1 {
		next = append(next, Choice{At: "world", Of: "orders", Nth: 1, Value: n - 1})
	}
	for _, c := range choices {
		id := orderIn(c.Of)
		place, stays := places[id]
		switch {
		case c.At == "world" && (c.Of == "orders" || c.Of == "burst"), id != "" && !stays:
			continue
		case stays:
			c.Of = place + c.Of[len(id):]
		}
		next = append(next, c)
	}
	return next
}

func orderID(n int) string { return "o" + strconv.Itoa(n) }

// orderIn returns the ID of the order that a choice is about; "" if it is about no order.
func orderIn(of string) string {
	digits, found := strings.CutPrefix(of, "o")
	n := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	if !found || n == 0 {
		return ""
	}
	return of[:1+n]
}

// drop removes rows of choices, long rows first.
func (s *shrinking) drop() (shorter bool) {
	for size := max(1, len(s.best)/2); size > 0; size /= 2 {
		for from := 0; from < len(s.best) && s.left > 0; {
			to := min(from+size, len(s.best))
			before := len(s.best)
			if s.try(slices.Concat(s.best[:from], s.best[to:])) && len(s.best) < before {
				shorter = true
				continue
			}
			from += size
		}
	}
	return shorter
}

// lower reduces the values of choices. It does not change faults, which have names instead of values.
func (s *shrinking) lower() (lower bool) {
	for i := 0; i < len(s.best) && s.left > 0; i++ {
		if s.best[i].What != "" {
			continue
		}
		for v := 1; i < len(s.best) && v < s.best[i].Value && s.left > 0; v++ {
			next := slices.Clone(s.best)
			next[i].Value = v
			if s.try(next) {
				lower = true
				break
			}
		}
	}
	return lower
}
