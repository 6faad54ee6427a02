package simulate

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Types of a simulation, for programs outside this folder.
type (
	// Scenario is the input of a run.
	Scenario = world.Scenario
	// Service describes the true behaviour of the remote service behind an agent.
	Service = world.Service
	// Services holds the services by agent.
	Services = world.Services
	// Begun is an order with a past at the beginning of a run.
	Begun = world.Begun
	// Options holds the options of a run.
	Options = world.Options
	// Result is the result of a run.
	Result = world.Result
	// Stats counts what a run did.
	Stats = world.Stats
	// Violation is a broken invariant.
	Violation = world.Violation
	// Explained is the meaning of a broken invariant for the author of the workflow, with the fix.
	Explained = world.Explained
	// Party names who can correct a finding.
	Party = world.Party
	// Line is one line of a run's story.
	Line = world.Line
	// Invariant is a condition that must hold after every step.
	Invariant = world.Invariant
	// Point names one choice of a run.
	Point = world.Point
	// Chooser makes the choices of a run.
	Chooser = world.Chooser
	// Plain chooses no fault at all.
	Plain = world.Plain
	// Choice is one choice other than the normal course.
	Choice = world.Choice
	// Fault is a kind of fault.
	Fault = world.Fault
)

// Persons who can correct a broken invariant, and the zero fault.
const (
	YourWorkflow = world.YourWorkflow
	ReportToUs   = world.ReportToUs
	NoFault      = world.NoFault
)

// Run simulates the scenario with the given choices.
func Run(sc Scenario, c Chooser, o Options) Result { return deployment.Run(sc, c, o) }

// NewSeeded returns the chooser of a seed.
func NewSeeded(seed uint64) *world.Seeded { return world.NewSeeded(seed) }

// NewPlayer returns the chooser of recorded choices.
func NewPlayer(choices []Choice) *world.Player { return world.NewPlayer(choices) }

// Faults lists all kinds of faults.
func Faults() []Fault { return world.Faults() }

// FaultNamed returns the fault with that name, or NoFault if there is none.
func FaultNamed(name string) Fault { return world.FaultNamed(name) }

// Invariants returns the invariants that every run must keep.
func Invariants() []Invariant { return world.Invariants() }

// Moved returns the scenario of an order that is moved to another version at a time.
func Moved(docs *view.Documents, hash string, to *core.Definition, at core.Time) (Scenario, error) {
	return deployment.Moved(docs, hash, to, at)
}
