package simulate

import (
	"math/rand/v2"
	"slices"
)

// Point identifies one choice of a run. It consists of a site, a subject, and a number. The number counts the
// choices with the same site and subject. Choices at other sites therefore do not change a Point. A tape,
// which is the record of a run's choices, can therefore be shortened.
type Point struct {
	Site    string
	Subject string
	Nth     int // number of the choice, starting with 1
}

// Chooser makes every choice of a run.
type Chooser interface {
	// Choose returns a number from 0 to n-1. The number 0 is the normal course, without a fault and without a
	// delay. The parameter odds is the probability of a number above 0. A chooser may ignore odds.
	Choose(p Point, n int, odds float64) int
}

// Seeded chooses with a random number generator.
type Seeded struct{ pcg *rand.PCG }

// NewSeeded returns a Seeded for the seed.
func NewSeeded(seed uint64) *Seeded { return &Seeded{rand.NewPCG(seed, 0x5712b3e9)} }

// Choose returns a number above 0 with the probability odds. All numbers above 0 are equally likely.
func (s *Seeded) Choose(_ Point, n int, odds float64) int {
	x := s.pcg.Uint64()
	if float64(x>>11)/(1<<53) >= odds {
		return 0
	}
	return 1 + int(s.pcg.Uint64()%uint64(n-1)) //nolint:gosec // the value is less than n
}

// Plain chooses the normal course at every point.
type Plain struct{}

// Choose returns 0.
func (Plain) Choose(Point, int, float64) int { return 0 }

// Choice is a recorded choice that differs from the normal course.
type Choice struct {
	At    string `json:"at"` // site of the choice
	Of    string `json:"of,omitempty"`
	Nth   int    `json:"nth"`
	Value int    `json:"value"`
	// name of the fault, which takes precedence over Value; a description if the choice is no fault
	What string `json:"what,omitempty"`
}

// Player repeats the choices of a tape.
type Player struct{ at map[Point]Choice }

// NewPlayer returns a Player for the choices.
func NewPlayer(choices []Choice) *Player {
	p := &Player{at: make(map[Point]Choice, len(choices))}
	for _, c := range choices {
		p.at[Point{c.At, c.Of, c.Nth}] = c
	}
	return p
}

// Choose returns the recorded choice, or 0 if the tape has no choice for the point.
func (p *Player) Choose(at Point, n int, _ float64) int {
	c, ok := p.at[at]
	if !ok {
		return 0
	}
	if _, call, fault := CallAt(at.Site); fault {
		i := slices.IndexFunc(Calls[call].Acts, func(a Act) bool { return a.String() == c.What })
		if i >= 0 {
			return min(i+1, n-1)
		}
	}
	return min(c.Value, n-1)
}
