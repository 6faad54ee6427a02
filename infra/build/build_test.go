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
		if f.Machine != elf.EM_AARCH64 {
			t.Errorf("built for %s", f.Machine)
		}
		if len(data) > 14_600_000 {
			t.Errorf("the binary of %s has %d bytes, the limit is 14.6 MB", folder, len(data))
		}
		return fmt.Sprintf("%x", sha256.Sum256(data))
	}
	const function = "functions/scheduler/bootstrap"
	first := sum(filepath.Join(root, function))
	second := sum(filepath.Join(elsewhere, function))
	if first != second {
		t.Errorf("built in two folders, the Scheduler has the hashes %s and %s", first, second)
	}
}

// copySources copies what the functions are built from.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum", "functions", "shared"} {
		require.NoError(t, os.MkdirAll(to, 0o755))
		if out, err := exec.Command("cp", "-r", filepath.Join(from, name), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
}

// What must not be in a function: it would only make it larger and slower to start.
func TestFunctionsCarryNoBallast(t *testing.T) {
	for _, function := range []string{"scheduler", "agent", "supervisor"} {
		cmd := exec.Command("go", "list", "-deps", "../../functions/"+function+"/bootstrap")
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "GOFLAGS=-tags=lambda.norpc")
		out, err := cmd.Output()
		require.NoError(t, err)
		if n := strings.Count(string(out), "\n"); n < 100 {
			t.Fatalf("%s: only %d packages were looked at", function, n)
		}
		for dep := range strings.Lines(string(out)) {
			if function != "agent" && strings.Contains(dep, "jsonschema") {
				continue // the value of an event is held to its schema where the task is decided
			}
			for _, ballast := range []string{
				"goccy/go-yaml", "jsonschema", "opentelemetry", "aws-xray-sdk", "aws-sdk-go-v2/config",
				"aws-sdk-go-v2/credentials",
				"modernc.org", "huma", "spf13", "aws-cdk-go", "shared/workflow/source",
			} {
				if strings.Contains(dep, ballast) {
					t.Errorf("the %s function carries %s", function, strings.TrimSpace(dep))
				}
			}
		}
	}
}
