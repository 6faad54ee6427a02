package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// The lines that it prints can be pasted into a shell, whatever the folder's name.
func TestInitQuotesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	call{}.run(t, "init", "my $HOME shop").want(t, failure.OK, "\n  cd 'my $HOME shop'\n\n")
	require.NotContains(t, call{}.run(t, "init").out, "  cd ", "init of the current folder changes the folder")
	call{}.run(t, "init", "--", "-x").want(t, failure.OK, "\n  cd ./-x\n")
	call{}.run(t, "agent", "new", "courier", "--dir", "it's").want(t, failure.OK, `  cd 'it'\''s'`+"\n")
}

func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	r := call{}.run(t, "init", "shop", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	require.Equal(t, "shop", d[0]["folder"])
	require.Equal(t, []any{
		".gitignore", "README.md", "agents.yaml", "booking_test.go", "go.mod", "go.sum", "order.json",
		"services/main.go", "workflows/booking.yaml",
	}, d[0]["files"])
	// files that the commands write into the folder may hold data of orders
	require.Subset(t, strings.Fields(read(t, "shop/.gitignore")), []string{
		"/data/", "/bulk-*.jsonl", "/dead-letters.jsonl",
	})
}

// A project that cannot be written whole leaves no files, so that the command can be repeated.
func TestInitLeavesNoHalfProject(t *testing.T) {
	t.Chdir(t.TempDir())
	overwrite(t, "services", "a file, not a folder")
	call{}.run(t, "init").want(t, failure.General, "cannot be written")
	require.NoError(t, os.Remove("services"))
	call{}.run(t, "init").want(t, failure.OK)
}

// Existing files are not changed, and nothing is written beside them.
func TestInitOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	overwrite(t, "order.json", "mine")
	call{}.run(t, "init").want(t, failure.Usage, "nothing was written: order.json is there already",
		"stepkeeper init DIR")
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "mine", read(t, "order.json"))
}
