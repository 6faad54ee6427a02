package source_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// The workflows that ship have no problems, not even warnings, and survive being stored.
func TestShippedWorkflows(t *testing.T) {
	files, err := source.LoadDir("../../../examples/order", source.Options{KnownAgents: []string{
		"inventory", "payment", "shipping", "notification", "accounts", "databases", "dns",
	}})
	if err != nil || len(files) != 2 {
		t.Fatalf("got %d files, want those of order and provision (%v)", len(files), err)
	}
	for _, f := range files {
		if len(f.Problems) > 0 {
			t.Fatal(f.Problems)
		}
		d := f.Definition
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
