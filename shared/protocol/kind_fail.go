package protocol

// failKind is the kind of a step that fails for good when its turn comes (P50, a rule can fail the order).
// Such a step calls no agent and is never claimed, so it has nothing to undo.
type failKind struct{}

func (failKind) prepare(s step) (prepared, error) {
	return prepared{}, s.d.Fail
}

func (failKind) start(step, prepared) {}

func (failKind) resend(step) {}

func (failKind) goOn(step) {}
