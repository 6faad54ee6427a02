package simulate

import (
	"slices"
	"strconv"
	"strings"
)

// shrink looks for a shorter run that breaks the same invariant. It tries to remove faults, orders and
// delays, with at most 3,000 runs. It ends earlier if stop returns true; stop may be nil. It returns the
// choices and the result of the shortest run.
func shrink(sc Scenario, choices []Choice, stop func() bool) ([]Choice, Result) {
	s := &shrinking{sc: sc, left: 3000, stop: stop}
	best := s.run(choices)
	if best.Violation == nil {
		return choices, best
	}
	s.want = best.Violation.Invariant
	s.best = choices
	s.result = best
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
	return Run(s.sc, NewPlayer(choices))
}

// try runs the choices. If the same invariant breaks, try keeps the choices that the run used and returns
// true.
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
	s.best = r.Choices
	s.result = r
	return true
}

// fewer tries runs with fewer orders, at most mostMatter. Each run keeps the choices about one order and
// drops the choices about other orders. The kept order gets each possible ID in turn. If a run has enough
// orders for all orders that the choices name, fewer also tries to keep the choices about all of them.
func (s *shrinking) fewer() bool {
	var ids []string
	for _, c := range s.best {
		if id := orderIn(c.Of); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 { // no choice names an order, so try the first one
		ids = []string{FirstID}
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

// mostMatter is the largest number of orders in a run that fewer tries. fewChoices is the largest number of
// choices that tryEarlier changes.
const mostMatter, fewChoices = 3, 12

// tryEarlier tries the choices. If the run does not break the invariant, tryEarlier reduces Nth of one choice
// and tries again. A lower Nth can be right because a run with fewer orders has fewer events at each queue
// and process.
func (s *shrinking) tryEarlier(choices []Choice) bool {
	if s.try(choices) {
		return true
	}
	for i := 0; i < len(choices) && len(choices) <= fewChoices; i++ {
		for nth := choices[i].Nth - 1; nth > 0 && s.left > 0; nth-- {
			earlier := slices.Clone(choices)
			earlier[i].Nth = nth
			if s.try(earlier) {
				return true
			}
		}
	}
	return false
}

// only returns the choices for a run with n orders. It drops the choices about orders that are not in the map
// places, which maps old IDs to new IDs.
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

// orderIn returns the ID of the order at the beginning of a choice's subject, or "" if the subject does not
// begin with an ID.
func orderIn(of string) string {
	digits, found := strings.CutPrefix(of, "o")
	n := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	if !found || n == 0 {
		return ""
	}
	return of[:1+n]
}

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

// lower reduces the values of choices. It skips choices of faults, because a fault's name takes precedence
// over the value.
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
