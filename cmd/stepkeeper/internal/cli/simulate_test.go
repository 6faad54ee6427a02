package cli

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

const transfer = "../../../../examples/simulate/transfer.yaml"

func TestSimulate(t *testing.T) {
	r := call{}.run(t, "simulate", transfer, "--seeds", "50")
	r.want(t, failure.OK, "transfer: 50 seeds", "faults injected: ", "No violation in 50 seeds", "fewer than 0.06")
}

func TestSimulateFindsAndReplays(t *testing.T) {
	tape := filepath.Join(t.TempDir(), "tape.json")
	services := filepath.Join(filepath.Dir(transfer), "forgetful.yaml")
	r := call{}.run(t, "simulate", transfer, "--services", services, "--tape", tape)
	r.want(t, failure.NotProcessed, "invariant 3 is broken", "sequenceDiagram", "stepkeeper simulate --replay "+tape)
	call{}.run(t, "simulate", "--replay", tape).want(t, failure.NotProcessed, "VIOLATION of 3", "at most one effect per idempotency key")
	r = call{}.run(t, "simulate", transfer, "--services", services, "--tape", tape, "--output", "json")
	var report struct {
		Violation struct{ Invariant string }
		Tape      struct{ Choices []any }
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || report.Violation.Invariant != "3" || len(report.Tape.Choices) == 0 {
		t.Errorf("%v: %s", err, r.out)
	}
}

func TestSimulateRefuses(t *testing.T) {
	for _, x := range []struct {
		args []string
		code failure.Code
		want string
	}{
		{[]string{"simulate"}, failure.Usage, "no workflow file"},
		{[]string{"simulate", transfer, "--faults", "rain"}, failure.Usage, "no fault \"rain\""},
		{[]string{"simulate", transfer, "--seeds", "-1"}, failure.Usage, "positive"},
		{[]string{"simulate", transfer, "--services", "nowhere.yaml"}, failure.NotFound, "services"},
		{[]string{"simulate", transfer, "--order", transfer}, failure.Usage, "not JSON"},
		{[]string{"simulate", "--replay", "nowhere.json"}, failure.NotFound, "nothing to replay"},
	} {
		call{}.run(t, x.args...).want(t, x.code, x.want)
	}
}
