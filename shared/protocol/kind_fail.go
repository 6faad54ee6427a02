package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// failKind is the kind of a step that fails for good when its turn comes, by a rule of the workflow, and
// calls no agent (P50, a rule can fail the order). It is never claimed. Nothing is attempted, so there is
// nothing to undo.
type failKind struct{}

func (failKind) prepare(r *deciding, i int) (prepared, error) {
	return prepared{}, r.def.Steps[i].Fail
}

func (failKind) start(*deciding, int, prepared) {}

func (failKind) resend(*deciding, int) {}

func (failKind) woken(*deciding, int) {}

func (failKind) resume(*deciding, int) bool { return false }

func (failKind) validState(s *core.Step, _ *core.StepDefinition) bool {
	return !s.Attempted() && (s.State == core.Pending || s.State == core.Skipped || s.State == core.Failed)
}
