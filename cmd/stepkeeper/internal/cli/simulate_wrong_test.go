package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

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
			folder := "../../../../examples/wrong-workflows"
			var more []string
			if tt.services {
				more = []string{"--services", filepath.Join(folder, "services", name+".yaml")}
			}
			tape := filepath.Join(t.TempDir(), "tape.json")
			args := append([]string{"simulate", filepath.Join(folder, name+".yaml"), "--tape", tape}, more...)
			if tt.code == failure.OK { // nothing breaks: no seed will end it
				args = append(args, "--seeds", "300")
			}
			call{}.run(t, args...).want(t, tt.code, tt.says...)
			args = append([]string{
				"simulate", filepath.Join(folder, name+"-fixed.yaml"), "--tape", tape,
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

// Child orders are simulated with their parent.
func TestSimulationOfChildOrders(t *testing.T) {
	folder := "../../../../examples/shipments/"
	call{}.run(t, "simulate", folder+"shipments.yaml", "--order", folder+"order.json", "--seeds",
		"50").want(t, 0, "No violation in 50 seeds")
}

// TestWrongWorkflowsForPrograms: the JSON report says the same as the text, in fields that stay.
func TestWrongWorkflowsForPrograms(t *testing.T) {
	type finding struct {
		Whose, Text, Fix, Step, Agent string
		Advice                        bool
	}
	type report struct {
		Workflow, Statement string
		Seeds               int
		Findings            []finding
		Violation           *struct{ Invariant, Text, Rule, Whose, Explanation, Fix string }
		Tape                *struct{ Choices []any }
	}
	of := func(t *testing.T, code failure.Code, name string, more ...string) (r report) {
		t.Helper()
		folder := "../../../../examples/wrong-workflows"
		args := []string{
			"simulate", filepath.Join(folder, name+".yaml"), "--tape",
			filepath.Join(t.TempDir(), "tape.json"), "--output", "json",
		}
		got := call{}.run(t, append(args, more...)...)
		got.want(t, code, `"findings": [`)
		require.NoError(t, json.Unmarshal([]byte(got.out), &r))
		require.NotEmpty(t, r.Workflow)
		return r
	}
	t.Run("what is wrong without any fault", func(t *testing.T) {
		r := of(t, failure.NotProcessed, "impatient", "--services",
			"../../../../examples/wrong-workflows/services/impatient.yaml")
		require.Len(t, r.Findings, 1)
		require.Equal(t, 0, r.Seeds)
		require.Empty(t, r.Statement)
		require.Nil(t, r.Violation)
		f := r.Findings[0]
		require.Equal(t, "your workflow", f.Whose)
		require.Equal(t, "reserve", f.Step)
		require.Equal(t, "warehouse", f.Agent)
		require.False(t, f.Advice)
		require.Contains(t, f.Text, "takes 4s, and the timeout of step reserve is 1s")
		require.True(t, strings.HasPrefix(f.Fix, "give step reserve a timeout"), "f.Fix names what to give: %s", f.Fix)
	})
	t.Run("advice", func(t *testing.T) {
		r := of(t, failure.OK, "asks-in-vain", "--seeds", "30")
		require.Len(t, r.Findings, 1)
		require.Equal(t, 30, r.Seeds)
		require.True(t, strings.HasPrefix(r.Statement, "No violation in 30 seeds"), r.Statement)
		require.Nil(t, r.Violation)
		f := r.Findings[0]
		require.Equal(t, "your workflow", f.Whose)
		require.Equal(t, "book-parcel", f.Step)
		require.Equal(t, "carrier", f.Agent)
		require.True(t, f.Advice)
		require.True(t, strings.HasPrefix(f.Fix, "give the agent carrier a check"), "f.Fix names what to give: %s", f.Fix)
	})
	t.Run("a broken invariant", func(t *testing.T) {
		r := of(t, failure.NotProcessed, "forgets-keys", "--services",
			"../../../../examples/wrong-workflows/services/forgets-keys.yaml")
		v := r.Violation
		require.NotNil(t, v)
		require.Equal(t, "3", v.Invariant)
		require.Equal(t, "your workflow", v.Whose)
		require.NotEmpty(t, v.Text)
		require.Equal(t, "at most one effect per idempotency key", v.Rule)
		require.True(t, strings.HasPrefix(v.Explanation, "A service had forgotten"), "v.Explanation: %s", v.Explanation)
		require.True(t, strings.HasPrefix(v.Fix, "let all attempts end while the key"), "v.Fix: %s", v.Fix)
		require.Empty(t, r.Findings)
		require.NotEqual(t, 0, r.Seeds)
		require.NotNil(t, r.Tape)
		require.NotEmpty(t, r.Tape.Choices)
	})
}
