package source_test

import (
	"fmt"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// P11. The end of an undone order needs an alert only if the workflow asks for one.
func TestAlertOfAnUndoIsAskedFor(t *testing.T) {
	const text = "workflow: w\nnotify: [%s]\nsteps:\n  a: {agent: x, operation: o, timeout: 1s, " +
		"onFailure: undo, undo: none, grade: fenced}\n"
	for kind, want := range map[string]bool{"undone": true, "started": false} {
		def, problems := source.Parse("w.yaml", fmt.Appendf(nil, text, kind), source.Options{})
		if def == nil || def.AlertUndone != want {
			t.Errorf("%s: %+v %v", kind, def, problems)
		}
	}
}
