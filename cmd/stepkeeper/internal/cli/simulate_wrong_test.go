package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const wrong = "../../../../examples/wrong-workflows/"

// TestWrongWorkflows: with its default number of seeds, the command finds the fault of each wrong workflow
// among the examples, and describes the fault and the correction. The corrected workflow passes.
func TestWrongWorkflows(t *testing.T) {
	for name, tt := range map[string]struct {
		services bool
		code     failure.Code
		says     []string
	}{
		"forgets-keys": {
			true,
			failure.NotProcessed,
			[]string{
				"invariant 3 is broken", "your workflow: A service had forgotten the idempotency key",
				"Fix: let all attempts end while the key is remembered",
			},
		},
		"cannot-fence": {
			true,
			failure.NotProcessed,
			[]string{
				"invariant 11 is broken", "your workflow: A call landed after its undo", "leaves no fence",
				"Fix: declare the grade that the service earns",
			},
		},
		"impatient": {
			true,
			failure.NotProcessed,
			[]string{
				"your workflow: with nothing going wrong", "takes 4s, and the timeout of step reserve is 1s",
				"Fix: give step reserve a timeout",
			},
		},
		"asks-in-vain": {
			false,
			failure.OK,
			[]string{
				"advice: when one answer of the plain service behind carrier is lost", "asks again in vain",
				"Fix: give the agent carrier a check, or step book-parcel maxFailures: 1",
			},
		},
		"outlives-its-deadline": {
			false, failure.Usage,
			[]string{"longer than the deadline of 5m", "fix: lower maxFailures"},
		},
		"no-way-back": {
			false, failure.Usage,
			[]string{"step reserve declares no undo", "fix: write undo"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var more []string
			if tt.services {
				more = []string{"--services", wrong + "services/" + name + ".yaml"}
			}
			tape := filepath.Join(t.TempDir(), "tape.json")
			args := append([]string{"simulate", wrong + name + ".yaml", "--tape", tape}, more...)
			if tt.code == failure.OK { // nothing breaks: no seed will end it
				args = append(args, "--seeds", "300")
			}
			call{}.run(t, args...).want(t, tt.code, tt.says...)
			args = append([]string{
				"simulate", wrong + name + "-fixed.yaml", "--tape", tape,
				"--seeds", "100",
			}, more...)
			call{}.run(t, args...).want(t, failure.OK, "No violation in 100 seeds")
		})
	}
}

// A step that waits for people is not reported as a fault.
func TestASimulationGivesNoAnswers(t *testing.T) {
	folder := "../../../../examples/kyc/"
	call{}.run(t, "simulate", folder+"kyc.yaml", "--order", folder+"order.json", "--seeds", "1").want(t,
		failure.NotProcessed,
		"your workflow: with nothing going wrong", "step checked waits for an answer from outside",
		"Fix: give one that goes on: --answer 'checked=")
}

// An answer that the workflow refuses is the caller's, and no defect of Stepkeeper.
func TestASimulationWithARefusedAnswer(t *testing.T) {
	folder := "../../../../examples/expense/"
	call{}.run(t, "simulate", folder+"expense.yaml", "--order", folder+"order.json", "--answer", "approve=reject", "--seeds",
		"1").want(t, failure.NotProcessed, "your workflow: with nothing going wrong", `step approve failed: `, `answered "reject"`,
		"Fix: give an answer that goes on, with --answer, or sim.Answer in a test")
}

// The JSON report says the same as the text, in fields that stay.
func TestWrongWorkflowsForPrograms(t *testing.T) {
	type finding struct {
		Whose, Step, Agent, Fix string
		Advice                  bool
	}
	for name, want := range map[string]finding{
		"impatient":    {"your workflow", "reserve", "warehouse", "give step reserve a timeout", false},
		"forgets-keys": {"your workflow", "", "", "let all attempts end while the key", false},
	} {
		r := call{}.run(t, "simulate", wrong+name+".yaml", "--tape", filepath.Join(t.TempDir(), "tape"), "--output", "json",
			"--services", wrong+"services/"+name+".yaml")
		r.want(t, failure.NotProcessed, `"findings": [`)
		var got struct {
			Statement string
			Findings  []finding
			Violation struct {
				finding
				Invariant, Rule, Explanation string
			}
			Tape struct{ Choices []any }
		}
		require.NoError(t, json.Unmarshal([]byte(r.out), &got))
		if len(got.Findings) == 0 { // without faults nothing is wrong
			v := got.Violation
			require.Contains(t, got.Statement, "invariant 3")
			require.Equal(t, []string{"3", "at most one effect per idempotency key"}, []string{v.Invariant, v.Rule})
			require.Contains(t, v.Explanation, "A service had forgotten")
			require.NotEmpty(t, got.Tape.Choices)
			got.Findings = []finding{v.finding}
		}
		require.Contains(t, got.Findings[0].Fix, want.Fix)
		want.Fix = got.Findings[0].Fix
		require.Equal(t, []finding{want}, got.Findings)
	}
}
