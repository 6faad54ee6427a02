package explore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/simulate"
)

// TestTapes plays runs that seeds meet too rarely. Each is named after the rule that it needs, and ends with a
// violation if the rule is taken out.
func TestTapes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tape, err := simulate.ReadTape(file)
			require.NoError(t, err)
			run, err := tape.Play(simulate.Options{})
			require.NoError(t, err)
			require.Nil(t, run.Violation)
		})
	}
}
