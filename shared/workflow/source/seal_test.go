package source_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
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

// P45. Older code would count each not-yet as a failure.
func TestDefinitionsThatPollHaveSchemaTwo(t *testing.T) {
	def := &core.Definition{Name: "polls", Steps: []core.StepDefinition{{Name: "a", PollFor: core.Hour}}}
	if err := workflow.Seal(def); err != nil || def.Schema != 2 {
		t.Errorf("schema %d, want 2: %v", def.Schema, err)
	}
}
