package source_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// The workflows that ship have no problems, not even warnings, and survive being stored.
func TestShippedWorkflows(t *testing.T) {
	definitions, problems := source.LoadDir("../../../workflows", source.Options{KnownAgents: []string{
		"inventory", "payment", "shipping", "notification", "accounts", "databases", "dns",
	}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(definitions) != 2 {
		t.Fatalf("got %d definitions, want order and provision", len(definitions))
	}
	for _, d := range definitions {
		data, err := workflow.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := workflow.Decode(d.Hash, data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := workflow.Encode(stored)
		if err != nil || string(again) != string(data) || stored.Expr == nil {
			t.Errorf("%s changed by being stored: %v\n%s\n%s", d.Name, err, data, again)
		}
	}
}
