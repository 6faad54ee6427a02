package simulate

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Report is the result of a search.
type Report struct {
	Workflow string `json:"workflow"`
	Seeds    int    `json:"seeds"`
	Stats
	Seconds    float64    `json:"seconds"`
	OrdersPerS float64    `json:"ordersPerS"` // orders per second and worker
	CellCount  int        `json:"cellsInAll"` // number of possible pairs of a fault and a site
	Findings   []Finding  `json:"findings"`   // problems that Examine has found without random faults
	Violation  *Violation `json:"violation,omitempty"`
	Seed       uint64     `json:"seed,omitempty"` // seed that found the violation
	Tape       *Tape      `json:"tape,omitempty"` // tape of the shrunk run
	Story      []Line     `json:"-"`
}

// Wrong reports whether a finding is more than advice.
func (r *Report) Wrong() bool { return slices.ContainsFunc(r.Findings, Finding.wrong) }

// Statement returns the conclusion that the result permits.
func (r *Report) Statement() string {
	if r.Violation != nil {
		return fmt.Sprintf("invariant %s is broken: %s", r.Violation.Invariant, r.Violation.Text)
	}
	if r.Seeds == 0 {
		return "nothing was run, so that nothing can be said"
	}
	if r.Seeds < 30 {
		return fmt.Sprintf("No violation in %d seeds; that is too few to say anything of the next one.",
			r.Seeds)
	}
	return fmt.Sprintf(
		"No violation in %d seeds. With 95 %% confidence fewer than %.2g of such seeds would show one "+
			"(rule of three, 3/%d): "+
			"this says something of the faults that were injected, at the rates at which they were, and "+
			"nothing of others.", r.Seeds, 3/float64(r.Seeds), r.Seeds)
}

// Search configures a search.
type Search struct {
	Seeds    int           // largest number of seeds; 0 means no limit except Time
	First    uint64        // first seed
	Time     time.Duration // longest duration of the search; 0 means no limit except Seeds
	Workers  int           // number of workers; 0 means one for each core
	Progress func(seeds, orders int)
	Stop     func() bool // called before each run; if it returns true, the search ends; may be nil
}

// Examine looks for problems without random faults (Diagnose, Overstated). If one of Diagnose is more than advice, that
// is all. Otherwise it searches like Find.
func Examine(sc Scenario, s Search) *Report {
	findings := Diagnose(sc)
	if slices.ContainsFunc(findings, Finding.wrong) {
		s.Stop = func() bool { return true }
	} else {
		findings = append(findings, Overstated(sc)...)
	}
	r := Find(sc, s)
	r.Findings = append(r.Findings, findings...)
	return r
}

// Find runs simulations with one seed after another. It ends if a run breaks an invariant, or if a limit of
// the search is reached.
func Find(sc Scenario, s Search) *Report {
	sc.Prepare()
	if s.Workers == 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	cells, _ := Cells(sc.Only)
	f := &finding{sc: sc, search: s, began: time.Now(), report: &Report{
		Workflow: sc.Definition.Name, Stats: NewStats(), CellCount: len(cells), Findings: []Finding{},
	}}
	f.next.Store(s.First)
	var all sync.WaitGroup
	var panicked atomic.Pointer[error]
	for range s.Workers {
		all.Go(func() {
			if err := port.Guard(nil, "a simulation", func() error { f.work(); return nil }); err != nil {
				panicked.Store(&err)
			}
		})
	}
	all.Wait()
	if err := panicked.Load(); err != nil {
		panic(*err) // the caller can recover a panic in this goroutine
	}
	r := f.report
	r.Seconds = time.Since(f.began).Seconds()
	r.OrdersPerS = float64(r.Orders) / r.Seconds / float64(s.Workers)
	if f.found != nil {
		f.conclude()
	}
	return r
}

type finding struct {
	sc     Scenario
	search Search
	began  time.Time
	next   atomic.Uint64
	stop   atomic.Bool

	mu     sync.Mutex
	report *Report
	found  []Choice
}

func (f *finding) work() {
	for !f.stop.Load() && (f.search.Stop == nil || !f.search.Stop()) {
		seed := f.next.Add(1) - 1
		//nolint:gosec // positive
		if f.search.Seeds > 0 && seed >= f.search.First+uint64(f.search.Seeds) || f.search.Time > 0 &&
			time.Since(f.began) > f.search.Time {
			return
		}
		r := Run(f.sc, NewSeeded(seed))
		f.mu.Lock()
		f.report.Seeds++
		f.report.Add(r.Stats)
		if r.Violation != nil && (f.found == nil || seed < f.report.Seed) {
			f.report.Violation = r.Violation
			f.report.Seed = seed
			f.found = r.Choices
			f.stop.Store(true)
		}
		seeds := f.report.Seeds
		orders := f.report.Orders
		f.mu.Unlock()
		if f.search.Progress != nil {
			f.search.Progress(seeds, orders)
		}
	}
}

func (f *finding) conclude() {
	choices, result := shrink(f.sc, f.found, f.search.Stop)
	if result.Violation != nil {
		f.report.Violation = result.Violation
	}
	f.report.Tape = NewTape(f.sc, choices, f.report.Violation)
	f.report.Story = Tell(f.sc, NewPlayer(choices)).Story
}

// Spacious makes the garbage collector run a quarter as often until the returned function is called. A
// simulation then becomes a fifth faster and needs some tens of MB more, because it allocates much memory and
// retains little. Call Spacious only in programs whose main work is simulation. Spacious does nothing if the
// environment variable GOGC is set.
func Spacious() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}
