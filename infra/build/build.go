// Package build builds the functions. It does not import the CDK, so that it runs with Go alone.
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

// module is the module that contains the functions.
const module = "github.com/stepkeeper/stepkeeper"

// Main packages of the functions that ship.
const (
	Scheduler  = module + "/functions/scheduler/bootstrap"
	Supervisor = module + "/functions/supervisor/bootstrap"
	HTTPAgent  = module + "/functions/agent/bootstrap"
)

// Binary is a function to build.
type Binary struct {
	Package string // import path of a shipped function, or a folder, absolute or beginning with a dot
	X86     bool
	Out     string // file to write
}

// Builder builds a function for Linux.
type Builder func(b Binary) error

// Go builds with the Go toolchain, with the same bytes each time (rule 18). It builds shipped functions in
// this module, with the tested versions of its dependencies, whatever the app requires.
func Go(b Binary) error {
	dir, target := b.Package, "."
	if strings.HasPrefix(b.Package, module+"/") {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		dir, target = root, b.Package
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
	// a workspace, or flags, of the app must not change the build
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM64=", "GOAMD64=",
		"GOFLAGS=-mod=readonly")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s in %s: %w\n%s", target, dir, err, text)
	}
	return nil
}

// moduleRoot returns the folder with the module's sources: the checkout, or the cache of modules.
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
