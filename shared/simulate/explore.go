package simulate

import (
	"hash/maphash"
	"sync"
	"time"
)

// Exploration is what an exhaustive search has covered.
type Exploration struct {
	States int // distinct, at the calls where something can go wrong
	Runs   int
	Faults int  // bound: most faults and delays on one path
	Whole  bool // the bound was reached: every path with so many faults was covered
	Left   int  // paths that were left out because the time was over
	Broken []Broken
}

// Explore goes through all runs of the scenes with up to `faults` things going wrong on one path:
// each act at each call, in each state of the world once. States that differ in nothing but the times
// that have not come count as one. It stops when the time is over.
func Explore(scenes []Scene, faults, workers int, most time.Duration) *Exploration {
	x := &exploring{e: Exploration{Faults: faults, Whole: true}, seen: map[uint64]bool{}, seed: maphash.MakeSeed(), until: time.Now().Add(most), workers: max(1, workers)}
	for i := range scenes {
		x.scene = &scenes[i]
		x.salt = uint64(i) * 0x9e3779b97f4a7c15 //nolint:gosec // a hash
		level := [][]Choice{nil}
		for n := 0; n <= faults && len(level) > 0; n++ {
			level = x.level(level, n < faults)
		}
	}
	x.e.States = len(x.seen)
	return &x.e
}

type exploring struct {
	mu      sync.Mutex
	e       Exploration
	scene   *Scene
	salt    uint64
	seen    map[uint64]bool
	seed    maphash.Seed
	until   time.Time
	workers int
}

// level runs all paths of one length, and answers those that are one fault longer and lead from
// states that were not seen.
func (x *exploring) level(paths [][]Choice, extend bool) (next [][]Choice) {
	jobs := make(chan []Choice, 64)
	var all sync.WaitGroup
	for range x.workers {
		all.Go(func() {
			for path := range jobs {
				r := Run(x.scene.Scenario, NewPlayer(path), Options{Points: true, States: true})
				longer := x.took(path, &r, extend)
				x.mu.Lock()
				next = append(next, longer...)
				x.mu.Unlock()
			}
		})
	}
	for i, path := range paths {
		if time.Now().After(x.until) {
			x.e.Whole = false
			x.e.Left += len(paths) - i
			break
		}
		jobs <- path
	}
	close(jobs)
	all.Wait()
	return next
}

func (x *exploring) took(path []Choice, r *Result, extend bool) (longer [][]Choice) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.e.Runs++
	if r.Violation != nil {
		x.e.Broken = append(x.e.Broken, Broken{x.scene.Name, path, r.Violation})
		return nil
	}
	for _, p := range r.Points {
		acts := actNames(p.Site)
		if acts == nil && p.Site != "latency" {
			continue
		}
		key := p.State ^ x.salt ^ maphash.String(x.seed, p.Site) ^ maphash.String(x.seed, p.Subject)<<1
		if x.seen[key] {
			continue
		}
		x.seen[key] = true
		if !extend || x.scene.Base(p.Point) > 0 {
			continue
		}
		if acts == nil {
			longer = append(longer, extended(path, Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: len(delays) - 2}))
		}
		for v, name := range acts {
			longer = append(longer, extended(path, Choice{At: p.Site, Of: p.Subject, Nth: p.Nth, Value: v + 1, What: name}))
		}
	}
	return longer
}

func extended(path []Choice, c Choice) []Choice {
	return append(append(make([]Choice, 0, len(path)+1), path...), c)
}

// SmallScope lists the scenes of an exhaustive search: two steps in a row and at once, for each grade
// of service, with two Schedulers and a Supervisor; all well, one failing for good, a Cancel.
func SmallScope() []Scene {
	var all []Scene
	for _, s := range Scenes() {
		base := s.Base
		s.Base = func(p Point) int {
			switch {
			case p.Site == "world" && p.Subject == "instances":
				return 1
			case p.Site == "world" && p.Subject == "disturbances":
				return 0
			}
			return base(p)
		}
		all = append(all, s)
	}
	return all
}
