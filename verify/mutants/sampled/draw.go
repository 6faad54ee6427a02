package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

type sampled struct {
	mutants.Mutant
	Room     string `json:"room"`
	Operator string `json:"operator"`
	Line     int    `json:"line"`
	Before   string `json:"before"` // changed lines, joined into one line
	After    string `json:"after"`
}

type sources struct {
	exports  map[string]string // path of the export data by import path
	packages map[string]*source
	importer types.Importer
	fset     *token.FileSet
}

type source struct {
	path  string
	name  string
	texts map[string][]byte // text by the path of the file from the root
	files map[string]*ast.File
	info  *types.Info
}

func load(root string, folders []string) (*sources, error) {
	patterns := []string{"-deps", "-export"}
	for _, f := range folders {
		patterns = append(patterns, "./"+f)
	}
	all, err := mutants.List(root, patterns...)
	if err != nil {
		return nil, err
	}
	s := &sources{exports: map[string]string{}, packages: map[string]*source{}, fset: token.NewFileSet()}
	s.importer = importer.ForCompiler(s.fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(s.exports[path]) })
	for _, l := range all {
		s.exports[l.ImportPath] = l.Export
	}
	for _, l := range all {
		folder, err := filepath.Rel(root, l.Dir)
		if err != nil || !slices.Contains(folders, filepath.ToSlash(folder)) {
			continue
		}
		if s.packages[filepath.ToSlash(folder)], err = s.read(l, filepath.ToSlash(folder)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *sources) read(l mutants.Listed, folder string) (*source, error) {
	p := &source{path: l.ImportPath, name: l.Name, texts: map[string][]byte{}, files: map[string]*ast.File{},
		info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range l.GoFiles {
		text, err := os.ReadFile(filepath.Join(l.Dir, name))
		if err != nil {
			return nil, err
		}
		at := path.Join(folder, name)
		p.texts[at] = text
		if p.files[at], err = parser.ParseFile(s.fset, at, text, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return p, s.check(p, p.files, p.info)
}

func (s *sources) check(p *source, files map[string]*ast.File, info *types.Info) error {
	var all []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = append(all, files[name])
	}
	config := types.Config{Importer: s.importer}
	_, err := config.Check(p.path, s.fset, all, info)
	return err
}

// fits returns an error if the package does not compile with the mutant.
func (s *sources) fits(p *source, m mutants.Mutant) error {
	text, _, err := mutants.Patched(m.File, p.texts[m.File], []mutants.Mutant{m})
	if err != nil {
		return err
	}
	files := map[string]*ast.File{}
	maps.Copy(files, p.files)
	for name, text := range map[string][]byte{m.File: text,
		"mutant_switch.go": mutants.Switch(p.name, []mutants.Mutant{m})} {
		if files[name], err = parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	return s.check(p, files, nil)
}

type candidate struct {
	site
	pkg  *source
	file string
}

// families maps operators to the names of their families. An operator that is not in the map is a family of
// its own. Each family is drawn with the same probability, whatever its number of places.
var families = map[string]string{"boundary": "condition", "logic": "condition", "arithmetic": "constant"}

// draw draws n mutants of the room. For each mutant it first chooses a family of operators and then a place.
// If the mutant does not compile, it draws again. The same seed and sources always give the same mutants,
// independently of other rooms. A room with too few places gives fewer mutants.
func (s *sources) draw(r mutants.Room, n int, seed uint64) []sampled {
	pool := map[string][]candidate{}
	for _, folder := range r.Packages {
		p := s.packages[folder]
		for _, file := range slices.Sorted(maps.Keys(p.files)) {
			for _, at := range sitesOf(s.fset, p.files[file], p.texts[file], p.info) {
				family := cmp.Or(families[at.operator], at.operator)
				pool[family] = append(pool[family], candidate{at, p, file})
			}
		}
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(r.Name)) // Write never returns an error
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	var drawn []sampled
	for len(drawn) < n && len(pool) > 0 {
		names := slices.Sorted(maps.Keys(pool))
		family := names[random.IntN(len(names))]
		i := random.IntN(len(pool[family]))
		c := pool[family][i]
		if pool[family] = slices.Delete(pool[family], i, i+1); len(pool[family]) == 0 {
			delete(pool, family)
		}
		if m := s.sample(r, c); s.fits(c.pkg, m.Mutant) == nil {
			drawn = append(drawn, m)
		}
	}
	return drawn
}

func (s *sources) sample(r mutants.Room, c candidate) sampled {
	text := string(c.pkg.texts[c.file])
	at := s.position(c, c.at)
	from := strings.LastIndexByte(text[:c.at], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[c.end:], '\n'); i >= 0 {
		to = c.end + i
	}
	m := sampled{Room: r.Name, Operator: c.operator, Line: at.Line,
		Before: oneLine(text[from:to]), After: oneLine(text[from:c.at] + c.text + text[c.end:to])}
	m.Mutant = mutants.Mutant{Name: fmt.Sprintf("%s:%d:%d %s %s", c.file, at.Line, at.Column, c.operator,
		oneLine(c.text)), File: c.file,
		Func: c.fun, Old: text[c.at:c.end], New: c.text, At: c.at}
	for _, e := range equivalents {
		if e.Package == m.Package() && e.Func == m.Func && e.Before == m.Before && e.After == m.After {
			m.Equivalent = e.Why
		}
	}
	return m
}

func (s *sources) position(c candidate, offset int) token.Position {
	file := s.fset.File(c.pkg.files[c.file].Package)
	return file.Position(file.Pos(offset))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
