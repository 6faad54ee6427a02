package simulate

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Types of a simulation for programs outside this folder.
type (
	// Scenario is the input of a run.
	Scenario = world.Scenario
	// Service describes the true behaviour of the remote service behind an agent.
	Service = world.Service
	// Services holds the services by agent.
	Services = world.Services
	// Result is the result of a run.
	Result = world.Result
	// Stats holds the counts of a run.
	Stats = world.Stats
	// Violation is a broken invariant.
	Violation = world.Violation
	// Explained describes a broken invariant for the author of the workflow. It also says how to correct the
	// problem.
	Explained = world.Explained
	// Party is the person who can correct a finding.
	Party = world.Party
	// Line is one line of a run's story.
	Line = world.Line
	// Point names one choice of a run.
	Point = world.Point
	// Chooser makes the choices of a run.
	Chooser = world.Chooser
	// Plain never chooses a fault.
	Plain = world.Plain
	// Choice is a recorded choice that differs from the normal course.
	Choice = world.Choice
	// Fault is a kind of fault.
	Fault = world.Fault
)

// Parties.
const (
	YourWorkflow = world.YourWorkflow
	ReportToUs   = world.ReportToUs
)

// Run simulates the scenario. The chooser makes the choices of the run.
func Run(sc Scenario, c Chooser) Result { return deployment.Played(sc, c, false).Result }

// Tell is like Run, and records the story of the run.
func Tell(sc Scenario, c Chooser) Result { return deployment.Played(sc, c, true).Result }

// NewSeeded returns a chooser that draws its choices with a seed.
func NewSeeded(seed uint64) *world.Seeded { return world.NewSeeded(seed) }

// NewPlayer returns a chooser that repeats recorded choices.
func NewPlayer(choices []Choice) *world.Player { return world.NewPlayer(choices) }

// Faults returns all kinds of faults.
func Faults() []Fault { return world.Faults() }

// Invariants returns the invariants that every run must keep.
func Invariants() []world.Invariant { return world.Invariants() }

// Moved returns the scenario of a stored order after a Move to the definition with the hash. The
// parameter at is the time of the Move.
func Moved(docs *view.Documents, hash string, at core.Time) (Scenario, error) {
	return deployment.Moved(docs, hash, at)
}
