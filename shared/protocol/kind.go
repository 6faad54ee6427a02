package protocol

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// kind is the behaviour that differs between kinds of steps. All kinds share the order, conditions, hop
// budget, policies, undo, ends and commands.
type kind interface {
	// prepare computes the values for a forward claim, and changes nothing (P20, what happens next is
	// computed). An error is a permanent failure of the step. If the order is needed and absent, prepare
	// sets s.err.
	prepare(s step) (prepared, error)
	// start claims the step. A step that is then Waiting goes on at once.
	start(s step, p prepared)
	// resend emits the messages of the step's claim again (P12, effects are emitted again).
	resend(s step)
	// goOn continues a Waiting or Settling step in a task that goes forward. It ends the step, or sets the time of the
	// next Wake if that time has come. After a claim, a Resubmit or a Move, CompleteBy is zero, and the step has no
	// Wake.
	goOn(s step)
}

type prepared struct {
	input    json.RawMessage // input of a call
	wakeAt   core.Time       // end of the wait, or of the time for an answer
	answers  *Answers        // record of answers, for a step that waits for an answer
	children int             // number of children to start
	enough   int             // number of children that must end well, or 0
	lateAt   core.Time       // absolute deadline, at the first claim
	atOnce   bool            // true if the step ends with its claim
}

// behaviours holds the behaviour of each kind. A literal would be an initialization cycle, because the kinds
// call functions that read the map. So init fills the map.
var behaviours map[core.Kind]kind

func init() {
	behaviours = map[core.Kind]kind{
		core.KindCall: callKind{}, core.KindWait: waitKind{},
		core.KindAnswer: answerKind{},
		core.KindFail:   failKind{}, core.KindEach: eachKind{}, core.KindAny: anyKind{},
	}
}

func (s step) kind() kind { return behaviours[s.d.Kind()] }

// failKind is the kind of a step that fails for good when its turn comes (P50, a rule can fail the order).
// Such a step calls no agent and is never claimed, so it has nothing to undo.
type failKind struct{}

func (failKind) prepare(s step) (prepared, error) {
	return prepared{}, s.d.Fail
}

func (failKind) start(step, prepared) {}

func (failKind) resend(step) {}

func (failKind) goOn(step) {}
