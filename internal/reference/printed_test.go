package reference

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// TestPrinted checks what counts as a difference, with the flag -update as well.
func TestPrinted(t *testing.T) {
	if golden.FlagUpdate() {
		t.Skip("the test compares")
	}
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# Page\n\n    list\n    show x\n\n```text\nORDER  TOOK\no-1    11ms\n...\nend\n```\n\nMore.\n"
	require.NoError(t, os.WriteFile(page, []byte(text), 0o600))
	for name, c := range map[string]struct {
		output string
		same   bool
	}{
		"as it is":           {"ORDER  TOOK\no-1    11ms\nend", true},
		"other times":        {"ORDER  TOOK\no-1    1m3s\nend", true},
		"lines between them": {"ORDER  TOOK\no-1    11ms\no-2    1s\no-3    2s\nend", true},
		"another order":      {"ORDER  TOOK\no-7    11ms\nend", false},
		"a line is missing":  {"ORDER  TOOK\nend", false},
	} {
		shown, _ := fenced("```text\nORDER  TOOK\no-1    11ms\n...\nend\n```\n")
		_, same := compared(c.output, shown)
		require.Equal(t, c.same, same == "", name)
	}
	Printed(t, page, "list", "ORDER  TOOK\no-1    12ms\no-2    9ms\nend\n")
}
