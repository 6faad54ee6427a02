package source_test

import (
	"fmt"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Older code leaves orders alone whose definition has a schema that it does not know.
func TestDefinitionsWithAnswersHaveSchemaTwo(t *testing.T) {
	def := &core.Definition{Name: "approval", Steps: []core.StepDefinition{{Name: "a"}}}
	for _, want := range []int{1, 2} {
		if err := workflow.Seal(def); err != nil || def.Schema != want {
			t.Errorf("schema %d, want %d: %v", def.Schema, want, err)
		}
		def.Steps[0].Answer = &core.Answer{Values: []string{"yes"}}
	}
}

func TestDefinitionsThatGoOnHaveSchemaTwo(t *testing.T) {
	def := &core.Definition{Name: "goes-on", Steps: []core.StepDefinition{{Name: "a", OnFailure: core.OnFailureContinue}}}
	if err := workflow.Seal(def); err != nil || def.Schema != 2 {
		t.Errorf("schema %d, want 2: %v", def.Schema, err)
	}
}

// P11. Older code would settle such an end without its alert.
func TestDefinitionsThatAlertOfAnUndoHaveSchemaTwo(t *testing.T) {
	const text = "workflow: w\nnotify: [%s]\nsteps:\n  a: {agent: x, operation: o, timeout: 1s, onFailure: undo, undo: none, grade: fenced}\n"
	for kind, want := range map[string]int{"undone": 2, "started": 1} {
		def, problems := source.Parse("w.yaml", fmt.Appendf(nil, text, kind), source.Options{})
		if def == nil || def.AlertUndone != (want == 2) || def.Schema != want {
			t.Errorf("%s: %+v %v", kind, def, problems)
		}
	}
}

// P45. Older code would count each not-yet as a failure.
func TestDefinitionsThatPollHaveSchemaTwo(t *testing.T) {
	def := &core.Definition{Name: "polls", Steps: []core.StepDefinition{{Name: "a", PollFor: core.Hour}}}
	if err := workflow.Seal(def); err != nil || def.Schema != 2 {
		t.Errorf("schema %d, want 2: %v", def.Schema, err)
	}
}
