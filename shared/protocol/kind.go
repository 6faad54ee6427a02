package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// kind is the behaviour that differs between the sorts of steps. They share all other behaviour: order,
// conditions, hop budget, policies, reverse undo, ends, commands.
type kind interface {
	// prepare computes the values that a forward claim needs, and changes nothing (P20, what happens next is
	// computed). An error is a permanent failure of the step. r.err is set if the order is absent.
	prepare(r *deciding, i int) (prepared, error)
	// start claims the step, and ends it at once if p.atOnce is set.
	start(r *deciding, i int, p prepared)
	// resend emits the messages of a standing claim again (P12, effects are emitted again).
	resend(r *deciding, i int)
	// woken continues a step when its time has come. The task goes forward.
	woken(r *deciding, i int)
	// resume continues an attempted step when a Resubmit goes forward. It reports whether the step has to be
	// claimed.
	resume(r *deciding, i int) bool
	// validState reports whether the step may be in its state.
	validState(s *core.Step, d *core.StepDefinition) bool
}

// prepared is the data that a claim needs.
type prepared struct {
	input    json.RawMessage // input of a call
	wakeAt   core.Time       // end of a wait, or of the time for an answer
	answers  *core.Answers   // answers to a step that waits for them
	children int             // number of children to start
	atOnce   bool            // the step ends with its claim
}

// behaviours holds the behaviour of each kind. init fills it, because kinds use the functions that read it.
var behaviours map[core.Kind]kind

func init() {
	behaviours = map[core.Kind]kind{core.KindCall: callKind{}, core.KindWait: waitKind{},
		core.KindAnswer: answerKind{},
		core.KindFail:   failKind{}, core.KindEach: eachKind{}}
}

func (r *deciding) kind(i int) kind { return behaviours[r.def.Steps[i].Kind()] }
