package core

// failKind fails for good in its turn, by a rule of the workflow, and calls no agent (P50). It is never
// claimed: nothing is attempted, so there is nothing to undo of it.
type failKind struct{}

// Error makes a rule that came true the error of its claim.
func (f *Fail) Error() string { return f.Message }

func (failKind) prepare(r *deciding, i int) (prepared, error) {
	return prepared{}, r.def.Steps[i].Fail
}

func (failKind) start(*deciding, int, prepared) {}
func (failKind) resend(*deciding, int)          {}
func (failKind) woken(*deciding, int)           {}
func (failKind) resume(*deciding, int) bool     { return false }

func (failKind) validState(s *Step, _ *StepDefinition) bool {
	return !s.Attempted() && (s.State == Pending || s.State == Skipped || s.State == Failed)
}
