package simulate

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/simulate/internal/deployment"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Scenario is the input of a run. The other types are its chooser and its result.
type (
	Scenario  = world.Scenario
	Service   = world.Service
	Services  = world.Services
	Begun     = world.Begun
	Options   = world.Options
	Result    = world.Result
	Stats     = world.Stats
	Violation = world.Violation
	Explained = world.Explained
	Whose     = world.Whose
	Line      = world.Line
	Invariant = world.Invariant
	Point     = world.Point
	Chooser   = world.Chooser
	Plain     = world.Plain
	Choice    = world.Choice
	Fault     = world.Fault
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

// Drawn returns the workflow of a seed: small, valid, and with the elements that the protocol distinguishes.
func Drawn(seed uint64) *core.Definition { return workflows.Drawn(seed) }
