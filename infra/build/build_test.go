package build_test

import (
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// What must not be in a function: it would only make it larger and slower to start.
func TestFunctionsCarryNoBallast(t *testing.T) {
	for _, function := range []string{"scheduler", "agent", "supervisor"} {
		cmd := exec.Command("go", "list", "-deps", "../../functions/"+function+"/bootstrap")
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "GOFLAGS=-tags=lambda.norpc")
		out, err := cmd.Output()
		require.NoError(t, err)
		require.GreaterOrEqual(t, strings.Count(string(out), "\n"), 100, function)
		for dep := range strings.Lines(string(out)) {
			if function != "agent" && strings.Contains(dep, "jsonschema") {
				continue // the value of an event is held to its schema where the task is decided
			}
			for _, ballast := range []string{
				"goccy/go-yaml", "jsonschema", "opentelemetry", "aws-xray-sdk", "aws-sdk-go-v2/config",
				"aws-sdk-go-v2/credentials",
				"modernc.org", "huma", "spf13", "aws-cdk-go", "shared/workflow/source",
			} {
				require.NotContains(t, dep, ballast, function)
			}
		}
	}
}
