package source_test

import (
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// A step must end before its agent is ended; on Lambda that is two seconds before the function's
// own timeout.
func TestMaxTimeout(t *testing.T) {
	const file = `workflow: test
steps:
  long: {agent: slow, operation: run, timeout: 61s, grade: fenced, onFailure: undo, undo: back}
  fits: {agent: slow, operation: run, timeout: 58s, grade: fenced, onFailure: undo, undo: {operation: back, timeout: 59s}}
  free: {agent: other, operation: run, timeout: 2h, grade: fenced, onFailure: undo, undo: none}
`
	most := func(agent string) core.Duration {
		if agent == "slow" {
			return 58 * core.Second
		}
		return 0
	}
	if d, problems := source.Parse("t.yaml", []byte(file), source.Options{}); d == nil {
		t.Fatalf("without a limit: %v", problems)
	}
	d, problems := source.Parse("t.yaml", []byte(file), source.Options{MaxTimeout: most})
	want := `t.yaml:3:48: the timeout of step long, 1m1s, is longer than agent slow can work at a time, 58s; fix: shorten it, or deploy the agent with a longer timeout
t.yaml:4:118: the timeout of the undo of step fits, 59s, is longer than agent slow can work at a time, 58s; fix: shorten it, or deploy the agent with a longer timeout`
	if d != nil || problems.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", problems.Error(), want)
	}
	// A plain service's step keeps two seconds for the ledger, before the call and after it (P31).
	plain := `workflow: test
steps:
  call: {agent: slow, operation: run, timeout: TIMEOUT, grade: plain, onFailure: undo, undo: {operation: back, timeout: 1s}}
`
	for timeout, good := range map[string]bool{"56s": true, "57s": false} {
		d, problems := source.Parse("t.yaml", []byte(strings.ReplaceAll(plain, "TIMEOUT", timeout)),
			source.Options{MaxTimeout: most})
		if (d != nil) != good || !good &&
			!strings.Contains(problems.Error(),
				"longer than agent slow can work at a time, 56s (2s of its time are kept for the ledger "+
					"of a plain service)") {
			t.Errorf("%s: %v", timeout, problems)
		}
	}
	// So does a point of no return, whatever its grade (P22a).
	pivot := strings.NewReplacer("plain", "idempotent, pointOfNoReturn: true",
		", undo: {operation: back, timeout: 1s}", "").Replace(plain)
	for timeout, good := range map[string]bool{"56s": true, "57s": false} {
		d, problems := source.Parse("t.yaml", []byte(strings.ReplaceAll(pivot, "TIMEOUT", timeout)),
			source.Options{MaxTimeout: most})
		if (d != nil) != good || !good &&
			!strings.Contains(problems.Error(),
				"longer than agent slow can work at a time, 56s (2s of its time are kept for the ledger "+
					"of a point of no return)") {
			t.Errorf("%s: %v", timeout, problems)
		}
	}
	// Of several agents the one with the least time counts; long work that an agent's time does not hold is
	// only a warning (P43).
	several := `workflow: test
steps:
  call: {agents: [other, slow], operation: run, timeout: TIMEOUT, maxDuration: 5m, grade: fenced, onFailure: undo, undo: {operation: back, timeout: 1s}}
`
	for timeout, good := range map[string]bool{"58s": true, "59s": false} {
		d, problems := source.Parse("t.yaml", []byte(strings.ReplaceAll(several, "TIMEOUT", timeout)),
			source.Options{MaxTimeout: most})
		if (d != nil) != good || !strings.Contains(problems.Error(),
			"t.yaml:3:76: warning: agent slow can work for 58s at a time, and the maxDuration of step "+
				"call is 5m") ||
			!good && !strings.Contains(problems.Error(), "longer than agent slow can work at a time, 58s;") {
			t.Errorf("%s: %v", timeout, problems)
		}
	}
	if d, problems := source.Parse("t.yaml",
		[]byte(strings.NewReplacer("61s", "58s", "59s", "58s").Replace(file)),
		source.Options{MaxTimeout: most}); d == nil {
		t.Errorf("at the limit: %v", problems)
	}
}
