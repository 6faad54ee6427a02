package protocol_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

func goingOn(s *core.StepDefinition) { s.OnFailure = core.OnFailureContinue }

// P42: the code of the failure is kept in full, except for characters that are escaped. It is never empty.
func TestTheCodeOfAFailureThatIsGoneOnAfter(t *testing.T) {
	for code, want := range map[string]string{
		"no-such-zone/eu.1": "no-such-zone/eu.1", "a b\"\n": "a-b--", "": "failed",
		strings.Repeat("x", 200): strings.Repeat("x", 128),
	} {
		d := newDesk(t, workflow(step("a", goingOn), step("b")))
		d.decide(core.Submitted{
			OrderID: orderID, Workflow: "test", ContentHash: "c0ffee",
			KnownHash: "c0ffee",
		})
		d.decide(coded(failed("a", 1), code))
		require.Equal(t, want, d.task.Steps[0].FailureCode, code)
	}
}

// P42: a step that was attempted may have had its effect, so an input that fails later leads to its undo as
// well.
func TestAnInputThatFailsAtAnotherAttempt(t *testing.T) {
	for name, again := range map[string]func(d *desk){
		"woken": func(d *desk) {
			d.wait(core.Minute)
			d.decide(core.Wake{Step: "a", Attempt: 1})
		},
		"resubmitted": func(d *desk) {
			d.decide(failed("b", 1))
			d.wait(core.Minute)
			d.decide(core.Command{Name: core.Resubmit, ID: "r1"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, workflow(step("a", goingOn), step("b", stopping)))
			broken := false
			d.def.Expr = &expressions{input: map[int]func(core.Environment) (json.RawMessage, error){
				0: func(core.Environment) (json.RawMessage, error) {
					if broken { // like the expression of a definition that the task was moved to
						return nil, errors.New("no such field")
					}
					return nil, nil
				},
			}}
			d.decide(core.Submitted{
				OrderID: orderID, Workflow: "test", ContentHash: "c0ffee",
				KnownHash: "c0ffee",
			})
			d.decide(later("a", 1))
			d.def.Steps[0].Undo.Input = json.RawMessage(`"template"`)
			broken = true
			again(d)
			a := d.task.Steps[0]
			require.Equal(t, core.Compensating, a.State)
			require.Equal(t, "expression", a.FailureCode)
			require.Equal(t, core.Processing, d.task.ProcessState)
		})
	}
}
