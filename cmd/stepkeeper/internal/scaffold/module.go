package scaffold

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const modulePath = "github.com/stepkeeper/stepkeeper"

// ErrNoModule means that no module of Stepkeeper was found for the generated Go code.
var ErrNoModule = errors.New("the path of this program's module is not known")

// Module is the module of Stepkeeper in the go.mod of generated code: a working copy or a release. The zero
// value means no module.
type Module struct {
	Dir     string // folder of the working copy; "" for a release
	Version string // version of the release; "" for a working copy
}

// Known reports whether m is not the zero value.
func (m Module) Known() bool { return m != Module{} }

// Fetch reports whether `go mod tidy` must fetch the module.
func (m Module) Fetch() bool { return m.Known() && m.Dir == "" }

// FindModule returns the first of these modules of Stepkeeper:
//
//   - the working copy at dir, if dir is set
//   - the release from which the program was built
//   - the working copy in which the program was built, is stored, or runs
//
// It returns ErrNoModule if dir is not a working copy, or if no module is found.
func FindModule(dir string) (Module, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return Module{}, err
		}
		if !isModule(abs) {
			return Module{}, fmt.Errorf("%w: %s is not a clone of %s", ErrNoModule, dir, modulePath)
		}
		return Module{Dir: abs}, nil
	}
	// Only a module that the go command has downloaded has a checksum (Main.Sum). For a build from a working
	// copy, the go command derives the version from the commit. It is possible that this version is not
	// published.
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == modulePath && info.Main.Sum != "" {
		return Module{Version: info.Main.Version}, nil
	}
	for _, start := range candidates() {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isModule(dir) {
				return Module{Dir: dir}, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return Module{}, ErrNoModule
}

// candidates returns the folders that may be inside a working copy: the folder of this source file, the folder
// of the executable, and the working directory.
func candidates() []string {
	var all []string
	if _, file, _, ok := runtime.Caller(0); ok {
		all = append(all, filepath.Dir(file))
	}
	if executable, err := os.Executable(); err == nil {
		executable, err = filepath.EvalSymlinks(executable)
		if err == nil {
			all = append(all, filepath.Dir(executable))
		}
	}
	if dir, err := os.Getwd(); err == nil {
		all = append(all, dir)
	}
	absolute := all[:0]
	for _, dir := range all {
		if filepath.IsAbs(dir) { // With -trimpath, the names of source files are relative.
			absolute = append(absolute, dir)
		}
	}
	return absolute
}

func isModule(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(text) == modulePath
}

// Indirect dependencies of a new agent and of a new project, one module per line.
var (
	//go:embed agent.modules
	agentModules string
	//go:embed project.modules
	projectModules string
)

// files returns the go.mod file of a new module in the folder dir. modules lists the required modules. An
// empty list means all requirements of the working copy.
//
// If m is a working copy, go.mod requires the same versions as the working copy, and the result also contains
// go.sum. The go command then needs no network.
func (m Module) files(dir, path, modules string) (map[string][]byte, error) {
	f := new(modfile.File)
	if err := errors.Join(f.AddModuleStmt(path), f.AddGoStmt(goRelease(runtime.Version()))); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	switch {
	case m.Dir != "":
		if err := m.replace(f, dir, strings.Fields(modules)); err != nil {
			return nil, err
		}
		sums, err := os.ReadFile(filepath.Join(m.Dir, "go.sum"))
		if err != nil {
			return nil, err
		}
		files["go.sum"] = sums
	case m.Version != "":
		if err := f.AddRequire(modulePath, m.Version); err != nil {
			return nil, err
		}
	}
	text, err := f.Format()
	files["go.mod"] = text
	return files, err
}

func (m Module) replace(f *modfile.File, dir string, modules []string) error {
	text, err := os.ReadFile(filepath.Join(m.Dir, "go.mod"))
	if err != nil {
		return err
	}
	own, err := modfile.ParseLax(filepath.Join(m.Dir, "go.mod"), text, nil)
	if err != nil {
		return err
	}
	requires := []*modfile.Require{{}}
	requires[0].Mod.Path = modulePath
	requires[0].Mod.Version = "v0.0.0"
	for _, r := range own.Require {
		if len(modules) == 0 || slices.Contains(modules, r.Mod.Path) {
			r.Indirect = true
			r.Syntax = nil
			requires = append(requires, r)
		}
	}
	f.SetRequireSeparateIndirect(requires)
	return f.AddReplace(modulePath, "", filepath.ToSlash(relative(dir, m.Dir)), "")
}

// relative returns the path of folder relative to dir. With a relative path, the user can move dir and folder
// together. If there is no relative path, relative returns folder unchanged.
func relative(dir, folder string) string {
	from, errDir := filepath.EvalSymlinks(dir)
	if errors.Is(errDir, fs.ErrNotExist) { // The folder dir is created later, in an existing folder.
		from, errDir = filepath.EvalSymlinks(filepath.Dir(dir))
		from = filepath.Join(from, filepath.Base(dir))
	}
	from, errFrom := filepath.Abs(from)
	target, errTo := filepath.EvalSymlinks(folder)
	path, err := filepath.Rel(from, target)
	if errors.Join(errDir, errFrom, errTo, err) != nil {
		return folder
	}
	if !strings.HasPrefix(path, "..") {
		path = "./" + path
	}
	return path
}

var release = regexp.MustCompile(`^go(\d+\.\d+)`)

// goRelease returns the Go version for a new go.mod file. For example, it returns "1.26.0" for "go1.26.8".
func goRelease(version string) string {
	if m := release.FindStringSubmatch(version); m != nil {
		return m[1] + ".0"
	}
	// A development version of Go has no release number. Use the version that Stepkeeper requires.
	return "1.26.0"
}
