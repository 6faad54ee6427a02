package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that has no module version writes a project that needs no module.
func TestProjectWithoutModule(t *testing.T) {
	dir := t.TempDir()
	files, err := Project{Path: "example.com/shop"}.Write(dir)
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		if name == "go.mod" || strings.HasSuffix(name, ".go") {
			require.NotContains(t, string(text), modulePath, name)
		}
		require.NotEqual(t, bookingTest, name)
		require.NotContains(t, string(text), bookingTest, name)
		require.NotContains(t, string(text), "go test", name)
		if name == "README.md" {
			require.Contains(t, string(text), "| `order.json` |")
			require.Contains(t, string(text), "stepkeeper simulate workflows/booking.yaml")
		}
	}
}

func TestModules(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	for _, m := range []func() (Module, error){
		func() (Module, error) { return FindModule(root) },
		func() (Module, error) { return FindModule("") }, // it was built there
	} {
		m, err := m()
		require.NoError(t, err)
		require.Equal(t, (Module{Dir: root}), m)
		require.False(t, m.Fetch())
	}
	_, err = FindModule(".")
	require.ErrorIs(t, err, ErrNoModule)
	// A path that go.mod must quote.
	odd := filepath.Join(t.TempDir(), "a folder (1)")
	require.NoError(t, os.CopyFS(odd, os.DirFS(filepath.Join(root, "cmd/stepkeeper/internal/streams"))))
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(odd, name), text, 0o600))
	}
	files, err := Module{Dir: odd}.files(filepath.Dir(odd), "example.com/shop", agentModules)
	require.NoError(t, err)
	require.Contains(t, string(files["go.mod"]), `=> "./a folder (1)"`)
	require.NotEmpty(t, files["go.sum"])
	files, err = Module{Version: "v1.2.3"}.files(".", "example.com/shop", agentModules)
	require.NoError(t, err)
	require.Contains(t, string(files["go.mod"]), "require "+modulePath+" v1.2.3")
	require.Empty(t, files["go.sum"])
}

func TestGoRelease(t *testing.T) {
	for version, want := range map[string]string{
		"go1.26.8": "1.26.0", "go1.27rc1": "1.27.0",
		"devel go1.28-abc": "1.26.0", "go1.30": "1.30.0",
	} {
		require.Equal(t, want, goRelease(version), version)
	}
}
