package source_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// The workflows that ship have no problems, not even warnings, and survive being stored.
func TestShippedWorkflows(t *testing.T) {
	files, err := source.LoadDir("../../../examples/order", source.Options{KnownAgents: []string{
		"inventory", "payment", "shipping", "notification", "accounts", "databases", "dns",
	}})
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		require.Empty(t, f.Problems)
		d := f.Definition
		data, err := workflow.Encode(d)
		require.NoError(t, err)
		stored, err := workflow.Decode(d.Hash, data)
		require.NoError(t, err)
		again, err := workflow.Encode(stored)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
		require.NotNil(t, stored.Expr, "%s changed by being stored: %v\n%s\n%s", d.Name, err, data, again)
	}
}
