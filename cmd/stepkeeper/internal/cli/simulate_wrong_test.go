package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

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
		"outlives-its-deadline": {false, failure.Usage,
			[]string{"longer than the deadline of 5m", "fix: lower maxFailures"}},
		"no-way-back": {false, failure.Usage,
			[]string{"step reserve declares no undo", "fix: write undo"}},
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
			args = append([]string{"simulate", filepath.Join(folder, name+"-fixed.yaml"), "--tape", tape,
				"--seeds", "100"}, more...)
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
		args := []string{"simulate", filepath.Join(folder, name+".yaml"), "--tape",
			filepath.Join(t.TempDir(), "tape.json"), "--output", "json"}
		got := call{}.run(t, append(args, more...)...)
		got.want(t, code, `"findings": [`)
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Workflow == "" {
			t.Fatalf("%v: %s", err, got.out)
		}
		return r
	}
	t.Run("what is wrong without any fault", func(t *testing.T) {
		r := of(t, failure.NotProcessed, "impatient", "--services",
			"../../../../examples/wrong-workflows/services/impatient.yaml")
		if len(r.Findings) != 1 || r.Seeds != 0 || r.Statement != "" || r.Violation != nil {
			t.Fatalf("%+v, want one finding and no search", r)
		}
		f := r.Findings[0]
		for _, field := range []struct {
			name      string
			got, want any
		}{
			{"f.Whose", f.Whose, "your workflow"},
			{"f.Step", f.Step, "reserve"},
			{"f.Agent", f.Agent, "warehouse"},
			{"f.Advice", f.Advice, false},
			{"f.Text has both durations",
				strings.Contains(f.Text, "takes 4s, and the timeout of step reserve is 1s"), true},
			{"f.Fix names what to give", strings.HasPrefix(f.Fix, "give step reserve a timeout"), true},
		} {
			if field.got != field.want {
				t.Errorf("%s is %v, want %v: finding %+v", field.name, field.got, field.want, f)
			}
		}
	})
	t.Run("advice", func(t *testing.T) {
		r := of(t, failure.OK, "asks-in-vain", "--seeds", "30")
		if len(r.Findings) != 1 || r.Seeds != 30 ||
			!strings.HasPrefix(r.Statement, "No violation in 30 seeds") || r.Violation != nil {
			t.Fatalf("%+v, want one finding and a search", r)
		}
		f := r.Findings[0]
		for _, field := range []struct {
			name      string
			got, want any
		}{
			{"f.Whose", f.Whose, "your workflow"},
			{"f.Step", f.Step, "book-parcel"},
			{"f.Agent", f.Agent, "carrier"},
			{"f.Advice", f.Advice, true},
			{"f.Fix names what to give", strings.HasPrefix(f.Fix, "give the agent carrier a check"), true},
		} {
			if field.got != field.want {
				t.Errorf("%s is %v, want %v: finding %+v", field.name, field.got, field.want, f)
			}
		}
	})
	t.Run("a broken invariant", func(t *testing.T) {
		r := of(t, failure.NotProcessed, "forgets-keys", "--services",
			"../../../../examples/wrong-workflows/services/forgets-keys.yaml")
		v := r.Violation
		if v == nil {
			t.Fatalf("violation %+v", v)
		}
		for _, field := range []struct {
			name      string
			got, want any
		}{
			{"v.Invariant", v.Invariant, "3"},
			{"v.Whose", v.Whose, "your workflow"},
			{"v.Text is empty", v.Text == "", false},
			{"v.Rule", v.Rule, "at most one effect per idempotency key"},
			{"v.Explanation", strings.HasPrefix(v.Explanation, "A service had forgotten"), true},
			{"v.Fix", strings.HasPrefix(v.Fix, "let all attempts end while the key"), true},
		} {
			if field.got != field.want {
				t.Errorf("%s is %v, want %v: violation %+v", field.name, field.got, field.want, v)
			}
		}
		if len(r.Findings) != 0 || r.Seeds == 0 || r.Tape == nil || len(r.Tape.Choices) == 0 {
			t.Errorf("report %+v", r)
		}
	})
}
