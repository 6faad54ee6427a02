package build_test

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

// Rule 18: the same bytes from another folder, at another time.
func TestBuildsAreReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	copySources(t, root, elsewhere)
	sum := func(folder string) string {
		out := filepath.Join(t.TempDir(), "bootstrap")
		require.NoError(t, build.Go(build.Binary{Package: folder, Out: out}))
		data, err := os.ReadFile(out)
		require.NoError(t, err)
		f, err := elf.Open(out)
		require.NoError(t, err)
		defer f.Close()
		require.Equal(t, elf.EM_AARCH64, f.Machine)
		require.LessOrEqual(t, len(data), 14_600_000)
		return fmt.Sprintf("%x", sha256.Sum256(data))
	}
	const function = "functions/scheduler/bootstrap"
	first := sum(filepath.Join(root, function))
	second := sum(filepath.Join(elsewhere, function))
	require.Equal(t, second, first)
}

// copySources copies what the functions are built from.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum", "functions", "shared"} {
		require.NoError(t, os.MkdirAll(to, 0o755))
		_, err := exec.Command("cp", "-r", filepath.Join(from, name), to).CombinedOutput()
		require.NoError(t, err)
	}
}
