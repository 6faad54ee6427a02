package scaffold

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

const modulePath = "github.com/stepkeeper/stepkeeper"

// builtFrom is the working copy that the program was built from. The Makefile links it in, because -trimpath
// removes it from all other places.
var builtFrom string

// ErrNoModule means that no Stepkeeper was found that generated Go code could use.
var ErrNoModule = errors.New("the path of this program's module is not known")

// Module is the Stepkeeper that generated Go code builds against: a working copy, or a release. The zero
// value means no module.
type Module struct {
	Dir     string // folder of a working copy; "" for a release
	Version string // version of a release
}

// Known reports whether the module is not the zero value.
func (m Module) Known() bool { return m != Module{} }

// Fetch reports whether the go command has to fetch the module. `go mod tidy` does that.
func (m Module) Fetch() bool { return m.Known() && m.Dir == "" }

// FindModule returns the working copy at dir. If dir is "", it returns the release of this program, or else
// the working copy that it was built from or is started in. It returns ErrNoModule if it finds none of these.
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
	// Only a module that the go command has downloaded has a sum. The version of a build from a working copy
	// is derived from its commit, and may not exist elsewhere.
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

// candidates returns the folders that may be inside the working copy: where the program was built, where it
// is stored, and where it runs.
func candidates() []string {
	all := []string{builtFrom}
	if _, file, _, ok := runtime.Caller(0); ok {
		all = append(all, filepath.Dir(file))
	}
	if executable, err := os.Executable(); err == nil {
		if executable, err = filepath.EvalSymlinks(executable); err == nil {
			all = append(all, filepath.Dir(executable))
		}
	}
	if dir, err := os.Getwd(); err == nil {
		all = append(all, dir)
	}
	absolute := all[:0]
	for _, dir := range all {
		if filepath.IsAbs(dir) { // -trimpath makes the names of source files relative
			absolute = append(absolute, dir)
		}
	}
	return absolute
}

func isModule(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(text) == modulePath
}

// Modules of the packages that a new agent and a new project import through Stepkeeper, one per line.
var (
	//go:embed agent.modules
	agentModules string
	//go:embed project.modules
	projectModules string
)

// files returns go.mod and, for a working copy, go.sum of a new module in the folder dir. It requires the
// given modules in the versions of the working copy, so that the go command needs no network and changes
// nothing. An empty modules means all modules that the working copy requires.
func (m Module) files(dir, path, release, modules string) (map[string][]byte, error) {
	f := new(modfile.File)
	if err := errors.Join(f.AddModuleStmt(path), f.AddGoStmt(release)); err != nil {
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
	requires[0].Mod.Path, requires[0].Mod.Version = modulePath, "v0.0.0"
	for _, r := range own.Require {
		if len(modules) == 0 || slices.Contains(modules, r.Mod.Path) {
			r.Indirect, r.Syntax = true, nil
			requires = append(requires, r)
		}
	}
	f.SetRequireSeparateIndirect(requires)
	return f.AddReplace(modulePath, "", filepath.ToSlash(relative(dir, m.Dir)), "")
}

// relative returns the path from the folder dir to another one, so that both can be moved together. It
// returns the absolute path if there is no relative one, as between two drives.
func relative(dir, to string) string {
	from, errDir := filepath.EvalSymlinks(dir)
	if errors.Is(errDir, fs.ErrNotExist) { // dir is made later, in a folder that exists
		from, errDir = filepath.EvalSymlinks(filepath.Dir(dir))
		from = filepath.Join(from, filepath.Base(dir))
	}
	from, errFrom := filepath.Abs(from)
	target, errTo := filepath.EvalSymlinks(to)
	path, err := filepath.Rel(from, target)
	if errors.Join(errDir, errFrom, errTo, err) != nil {
		return to
	}
	if !strings.HasPrefix(path, "..") {
		path = "./" + path
	}
	return path
}
