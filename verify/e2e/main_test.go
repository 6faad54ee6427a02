package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the program under test: that of STEPKEEPER_PROGRAM, which make sets, or one that the tests build.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(journalVariable) != "" { // this process is to be an agent
		os.Exit(serveCourier())
	}
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	binary = os.Getenv("STEPKEEPER_PROGRAM")
	if binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "stepkeeper-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "stepkeeper")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/stepkeeper")
	build.Stdout = os.Stderr
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the program under test cannot be built:", err)
		return 1
	}
	return m.Run()
}
