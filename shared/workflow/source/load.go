package source

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/regularfile"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// File is a workflow file in a folder. Definition is nil if the file has errors.
type File struct {
	Name       string // name of the file in the folder
	Workflow   string // name of the workflow, even if the file has errors; "" if the file has no name
	Definition *core.Definition
	Problems   Problems
}

// LoadDir reads all *.yaml and *.yml files of a folder, sorted by name. If one of these entries is not a
// regular file, LoadDir reports a problem. If two files define the same workflow, LoadDir reports a problem
// for the later file. It returns an error only if it cannot read the folder.
func LoadDir(dir string, opts Options) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("workflows: %w", err)
	}
	defer func() { _ = root.Close() }() // the folder was only read, so Close cannot lose data
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("workflows: %w", err)
	}
	f := &folder{
		dir: dir, names: workflowsOf(entries), opts: opts, files: map[string]*File{},
		read: func(name string) ([]byte, error) { return regularfile.ReadIn(root, name, MaxFile+1) },
	}
	files := make([]File, len(f.names))
	first := map[string]string{}
	for i, name := range f.names {
		files[i] = *f.load(name)
		def := files[i].Definition
		switch {
		case def == nil:
		case first[def.Name] == "":
			first[def.Name] = name
		default:
			files[i].Definition = nil
			r := &report{file: filepath.ToSlash(filepath.Join(dir, name))}
			r.error(position{}, "workflow %s is defined in %s already", def.Name, first[def.Name]).
				fix("give one of them another name")
			files[i].Problems = r.problems
		}
	}
	return files, nil
}

// folder holds the workflow files of a folder. It loads the child workflows of a file from the same folder.
type folder struct {
	dir   string
	names []string
	opts  Options
	read  func(name string) ([]byte, error)
	files map[string]*File  // loaded files by name, including the files in trail
	named map[string]string // file names by workflow; nil before the first use
	trail []string          // files that are being loaded; each file is the parent of the next one
}

// load reads a file of the folder. It parses each file only once.
func (d *folder) load(name string) *File {
	if f := d.files[name]; f != nil {
		return f
	}
	data, err := d.read(name)
	f := &File{Name: name, Workflow: nameIn(data)}
	d.files[name] = f
	d.trail = append(d.trail, name)
	opts := d.opts
	opts.child = d.child
	opts.beside = d.beside
	f.Definition, f.Problems = parsed(filepath.Join(d.dir, name), data, err, opts)
	d.trail = d.trail[:len(d.trail)-1]
	return f
}

// beside reads a schema file in the folder. It follows a link only if the target is in the folder too.
func (d *folder) beside(name string) ([]byte, error) {
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // the folder was only read, so Close cannot lose data
	return regularfile.ReadIn(root, name, maxSchemaFile+1)
}

// child returns the definition of a workflow in the folder, or a problem and its fix.
func (d *folder) child(workflow string) (def *core.Definition, problem, fix string) {
	if d.named == nil {
		d.named = map[string]string{}
		for _, name := range d.names {
			data, err := d.read(name)
			if workflow := nameIn(data); err == nil && workflow != "" && d.named[workflow] == "" {
				d.named[workflow] = name
			}
		}
	}
	name, known := d.named[workflow]
	if !known {
		return nil, "there is no workflow " + workflow + " in " + filepath.ToSlash(d.dir),
			suggest.DidYouMean(workflow, slices.Sorted(maps.Keys(d.named)), "put its file beside this one")
	}
	if slices.Contains(d.trail, name) {
		return nil, "the workflow " + workflow + " would be a child of itself",
			"take it out of the circle; a workflow that starts again is an order of its own"
	}
	f := d.load(name)
	if f.Definition == nil {
		return nil, "the workflow " + workflow + " has problems of its own, see " +
			filepath.ToSlash(filepath.Join(d.dir, name)), "correct that file first"
	}
	return f.Definition, "", ""
}

func workflowsOf(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); (ext == ".yaml" || ext == ".yml") &&
			!strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// Files returns the paths of the workflow files in a folder, sorted by name. If place is not a folder, Files
// returns place itself.
func Files(place string) ([]string, error) {
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		return []string{place}, err
	}
	entries, err := os.ReadDir(place)
	files := workflowsOf(entries)
	for i := range files {
		files[i] = filepath.Join(place, files[i])
	}
	return files, err
}

// declared matches the usual form of the field with the workflow's name.
var declared = regexp.MustCompile(`(?m)^workflow:[ \t]*["']?([a-z][a-z0-9-]{0,63})\b`)

// nameIn returns the name of the workflow in a file, or "". It finds a name in the usual form even if the file is not
// valid YAML.
func nameIn(data []byte) string {
	if m := declared.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	if name := read(data, &report{}).get("workflow"); name != nil {
		return name.text
	}
	return ""
}

// LoadFile reads a workflow file, and its child workflows from the same folder. The file must be a regular
// file or a link to one.
func LoadFile(file string, opts Options) (*core.Definition, Problems) {
	d := &folder{
		dir: filepath.Dir(file), opts: opts, files: map[string]*File{},
		read: func(name string) ([]byte, error) {
			return regularfile.Read(filepath.Join(filepath.Dir(file), name), MaxFile+1)
		},
	} // MaxFile+1 bytes are enough to detect a file over the limit
	if entries, err := os.ReadDir(d.dir); err == nil {
		d.names = workflowsOf(entries)
	}
	f := d.load(filepath.Base(file))
	return f.Definition, f.Problems
}

func parsed(file string, data []byte, err error, opts Options) (*core.Definition, Problems) {
	r := &report{file: filepath.ToSlash(file)}
	switch {
	case errors.Is(err, regularfile.ErrNotRegular), errors.Is(err, regularfile.ErrOutside):
		r.error(position{}, "it is not read: %s", err).
			fix("put the file itself here, or rename this entry so that it does not end in .yaml or .yml")
	case err != nil:
		r.error(position{}, "%s", reason(err)).fix("check its name and that it may be read")
	default:
		return Parse(file, data, opts)
	}
	return nil, r.problems
}

// reason returns the text of a read error without the path, because the problem already shows the path.
func reason(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		return "it cannot be read: " + e.Err.Error()
	}
	return "it cannot be read: " + err.Error()
}
