package cli

import (
	"path/filepath"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// TestWrongWorkflows: the command finds each wrong workflow that ships as an example, with the number of
// seeds that it runs by itself, says what is wrong in words, and how it is mended; the mended one passes.
func TestWrongWorkflows(t *testing.T) {
	for name, tt := range map[string]struct {
		services bool
		code     failure.Code
		says     []string
	}{
		"forgets-keys":          {false, failure.NotProcessed, []string{"invariant 3 is broken", "had forgotten the idempotency key", "Mend: let all attempts end while the key is remembered"}},
		"cannot-fence":          {true, failure.NotProcessed, []string{"invariant 11 is broken", "leaves no fence", "Mend: declare the grade that the service earns"}},
		"impatient":             {true, failure.NotProcessed, []string{"takes 4s, and the timeout of step reserve is 1s", "Mend: give step reserve a timeout"}},
		"asks-in-vain":          {false, failure.OK, []string{"advice: when one answer of the plain service behind carrier is lost", "asks again in vain", "Mend: give the agent carrier a check, or step book-parcel maxFailures: 1"}},
		"outlives-its-deadline": {false, failure.Usage, []string{"longer than the deadline of 5m", "mend: lower maxFailures"}},
		"no-way-back":           {false, failure.Usage, []string{"step reserve declares no undo (P22)", "mend: write undo"}},
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
			args = append([]string{"simulate", filepath.Join(folder, name+"-mended.yaml"), "--tape", tape, "--seeds", "500"}, more...)
			call{}.run(t, args...).want(t, failure.OK, "No violation in 500 seeds")
		})
	}
}
