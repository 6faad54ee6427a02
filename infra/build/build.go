// Package build builds the code of the Lambda functions. It does not import the CDK, so that it needs no
// Node.js.
package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const module = "github.com/stepkeeper/stepkeeper"

// Main packages of Stepkeeper's own functions.
const (
	Scheduler  = module + "/functions/scheduler/bootstrap"
	Supervisor = module + "/functions/supervisor/bootstrap"
	HTTPAgent  = module + "/functions/agent/bootstrap"
)

// Binary is a function to build.
type Binary struct {
	Package string // Scheduler, Supervisor, HTTPAgent, or a folder that is absolute or begins with a dot
	X86     bool
	Out     string // file to write
}

// Builder builds a function for Linux, and writes the program to b.Out.
type Builder func(b Binary) error

// Go builds a function with the Go toolchain. Each build of the same sources has the same bytes (rule 18 of
// docs/reference/aws-rules.md). For Stepkeeper's own functions, Go uses the dependencies that this module
// requires, even if the app requires other versions.
func Go(b Binary) error {
	dir := b.Package
	target := "."
	if strings.HasPrefix(b.Package, module+"/") {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		dir = root
		target = b.Package
	}
	out, err := filepath.Abs(b.Out)
	if err != nil {
		return fmt.Errorf("build %s: %w", b.Package, err)
	}
	arch := "arm64"
	if b.X86 {
		arch = "amd64"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "lambda.norpc",
		"-ldflags=-s -w", "-o", out, target)
	cmd.Dir = dir
	// The app's GOFLAGS must not change the build.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM64=", "GOAMD64=",
		"GOFLAGS=-mod=readonly")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", target, dir, err, text)
	}
	return nil
}

var moduleRoot = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		var stderr []byte
		if e := (*exec.ExitError)(nil); errors.As(err, &e) {
			stderr = e.Stderr
		}
		return "",
			fmt.Errorf(
				"looking for the sources of the functions; run the app inside its own module, with the Go "+
					"toolchain installed: %w\n%s", err, stderr)
	}
	return strings.TrimSpace(string(out)), nil
})
