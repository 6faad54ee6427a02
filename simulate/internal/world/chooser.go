package world

import (
	"math/rand/v2"
	"slices"
)

// Point names one choice by its place, its subject, and its number among the choices of the same place and
// subject. The name stays the same when other choices are removed, which makes shrinking possible.
type Point struct {
	Site    string
	Subject string
	Nth     int // number of the choice, from 1
}

// Chooser makes every choice of a run.
type Chooser interface {
	// Choose returns a number from 0 to n-1. 0 is the normal course: no fault and no delay. odds is the
	// probability of any other choice, 0 to 1. A chooser may ignore odds.
	Choose(p Point, n int, odds float64) int
}

// Seeded chooses with a random generator.
type Seeded struct{ pcg *rand.PCG }

// NewSeeded returns the chooser of a seed.
func NewSeeded(seed uint64) *Seeded { return &Seeded{rand.NewPCG(seed, 0x5712b3e9)} }

// Choose returns a value above 0 with the given odds. All values above 0 are equally likely.
func (s *Seeded) Choose(_ Point, n int, odds float64) int {
	x := s.pcg.Uint64()
	if float64(x>>11)/(1<<53) >= odds {
		return 0
	}
	return 1 + int(s.pcg.Uint64()%uint64(n-1)) //nolint:gosec // below n
}

// Plain always chooses 0: no fault at all.
type Plain struct{}

// Choose returns 0.
func (Plain) Choose(Point, int, float64) int { return 0 }

// Choice is one choice other than the normal course.
type Choice struct {
	At    string `json:"at"` // site
	Of    string `json:"of,omitempty"`
	Nth   int    `json:"nth"`
	Value int    `json:"value"`
	// name of the fault, which takes precedence over Value; for other choices a text for people
	What string `json:"what,omitempty"`
}

// Player plays the choices of a tape.
type Player struct{ at map[Point]Choice }

// NewPlayer returns a chooser that plays some choices.
func NewPlayer(choices []Choice) *Player {
	p := &Player{at: make(map[Point]Choice, len(choices))}
	for _, c := range choices {
		p.at[Point{c.At, c.Of, c.Nth}] = c
	}
	return p
}

// Choose returns the recorded choice.
func (p *Player) Choose(at Point, n int, _ float64) int {
	c, ok := p.at[at]
	if !ok {
		return 0
	}
	if i := slices.Index(ActNames(at.Site), c.What); i >= 0 {
		return min(i+1, n-1)
	}
	return min(c.Value, n-1)
}
