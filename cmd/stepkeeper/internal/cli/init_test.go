package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

func TestInit(t *testing.T) {
	t.Chdir(t.TempDir())
	r := call{}.run(t, "init", "shop", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, "shop", d[0]["folder"])
	for _, name := range []string{
		".gitignore", "README.md", "agents.yaml", "booking_test.go", "go.mod",
		"go.sum", "order.json", "services/main.go", "workflows/booking.yaml",
	} {
		text, err := os.ReadFile(filepath.Join("shop", name))
		require.NoError(t, err)
		require.NotEmpty(t, text, name)
		require.Contains(t, d[0]["files"].([]any), any(name))
	}
	// files that the commands write into the folder may hold data of orders
	ignored, err := os.ReadFile("shop/.gitignore")
	for _, line := range []string{"/data/", "/bulk-*.jsonl", "/dead-letters.jsonl"} {
		require.NoError(t, err)
		require.Contains(t, strings.Fields(string(ignored)), line)
	}
	call{}.run(t, "workflow", "validate", "shop/workflows", "--agents", "shop/agents.yaml").want(t,
		failure.OK, "valid, workflow booking")
}

// The lines that it prints can be pasted into a shell, whatever the folder's name.
func TestInitQuotesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	call{}.run(t, "init", "my $HOME shop").want(t, failure.OK, "  cd 'my $HOME shop'\n")
	call{}.run(t, "agent", "new", "courier", "--dir", "it's").want(t, failure.OK, `  cd 'it'\''s'`+"\n")
}

// Existing files are not changed, and nothing is written beside them.
func TestInitOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("order.json", []byte("mine"), 0o600))
	call{}.run(t, "init").want(t, failure.Usage, "nothing was written: order.json is there already",
		"stepkeeper init DIR")
	entries, err := os.ReadDir(".")
	text, _ := os.ReadFile("order.json")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "mine", string(text))
	call{}.run(t, "init", "order.json").want(t, failure.General, "cannot be written to order.json")
	call{}.run(t, "init", "a", "b").want(t, failure.Usage, "one folder at most")
	call{}.run(t, "init", "shop", "--module", "a b").want(t, failure.Usage, "is not a module path")
	call{}.run(t, "init", "shop", "--module-dir", ".").want(t, failure.Usage, "is not a clone",
		"--module-dir FOLDER")
	require.NoDirExists(t, "shop")
}

// TestInitNamesTheFolder: the commands that init prints begin with a change of folder only if it wrote into
// another one.
func TestInitNamesTheFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	call{}.run(t, "init", "shop").want(t, failure.OK, "\n  cd shop\n  go run ./services\n")
	t.Chdir(t.TempDir())
	r := call{}.run(t, "init")
	r.want(t, failure.OK)
	require.NotContains(t, r.out, "  cd ", "init of the current folder changes the folder")
}
