package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Variable is the name of an environment variable. A changed program runs the mutant that the variable names.
// If the variable is absent or empty, the program runs without a mutant.
const Variable = "STEPKEEPER_MUTANT"

// ReachedVariable is the name of an environment variable that holds the path of a file. If the variable is
// set, a changed program appends names of mutants to the file. It appends a name when it calls the function
// of the mutant.
const ReachedVariable = "STEPKEEPER_MUTANTS_REACHED"

// Weave writes changed copies of the sources under root into the folder. It also writes a file for `go test
// -overlay`, and returns the path of this file. If any mutant does not match its source, Weave returns an
// error. The copies do not depend on the order of the mutants, so that Go's build cache can reuse them.
func Weave(root, folder string, all []Mutant) (overlay string, err error) {
	all = slices.SortedFunc(slices.Values(all),
		func(a, b Mutant) int { return strings.Compare(a.Name, b.Name) })
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(at string, text []byte) error {
		copied := filepath.Join(folder, strings.ReplaceAll(at, "/", "__"))
		replace[filepath.Join(root, filepath.FromSlash(at))] = copied
		return os.WriteFile(copied, text, 0o600)
	}
	packages := map[string]string{} // package name by folder
	var problems []error
	for _, file := range filesOf(all) {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", err
		}
		text, name, err := Patched(file, source, all)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		packages[filepath.ToSlash(filepath.Dir(file))] = name
		if err := put(file, text); err != nil {
			return "", err
		}
	}
	if err := errors.Join(problems...); err != nil {
		return "", err
	}
	for dir, name := range packages {
		if err := put(dir+"/mutant_switch.go", Switch(name, all)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

func filesOf(all []Mutant) []string {
	var files []string
	for i := range all {
		files = append(files, all[i].File)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Patched returns the source of one file with all mutants of the file, and the name of its package.
func Patched(file string, source []byte, all []Mutant) (text []byte, name string, err error) {
	p, err := newPatch(file, source)
	if err == nil {
		err = p.mutate(all)
	}
	if err != nil {
		return nil, "", err
	}
	return p.text(), p.file.Name.Name, nil
}

// Switch returns the source of a file that selects the mutant in one package. The changed program reads the
// environment variables once. If STEPKEEPER_MUTANT names an unknown mutant, the program panics. Otherwise the
// tests would run without a mutant, and the mutant would seem to survive.
func Switch(name string, all []Mutant) []byte {
	var names strings.Builder
	for n := range all {
		fmt.Fprintf(&names, "\t%q,\n", all[n].Name)
	}
	return fmt.Appendf(nil, switchSource, name, names.String(), len(all), Variable, ReachedVariable)
}

const switchSource = `package %s

import (
	"os"
	"sync/atomic"
)

var mutantNames = [...]string{
%s}

var mutantSeen [%d]atomic.Bool

var mutantOn = func() int {
	name := os.Getenv(%q)
	if name == "" {
		return -1
	}
	for n := range mutantNames {
		if mutantNames[n] == name {
			return n
		}
	}
	panic("no such mutant: " + name)
}()

var mutantReached = func() *os.File {
	name := os.Getenv(%q)
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	return file
}()

// mutantAt returns the number of the selected mutant, or -1. all lists the mutants of the calling function.
func mutantAt(all ...int) int {
	if mutantReached != nil {
		for _, n := range all {
			if !mutantSeen[n].Swap(true) {
				if _, err := mutantReached.WriteString(mutantNames[n] + "\n"); err != nil {
					panic(err)
				}
			}
		}
	}
	return mutantOn
}
`

type patch struct {
	path   string
	source string
	fset   *token.FileSet
	file   *ast.File
	edits  []edit
	copies []string
}

type place struct{ from, to int }

type edit struct {
	place
	text string
}

func newPatch(path string, source []byte) (*patch, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
	return &patch{path: path, source: string(source), fset: fset, file: file}, err
}

func (p *patch) offset(at token.Pos) int { return p.fset.Position(at).Offset }

func (p *patch) between(from, to token.Pos) string { return p.source[p.offset(from):p.offset(to)] }

// mutate adds a changed copy of the function for each mutant. At the beginning of the original function, it
// adds a switch that calls the copies.
func (p *patch) mutate(all []Mutant) error {
	ways, numbers := map[*ast.FuncDecl][]string{}, map[*ast.FuncDecl][]string{}
	var problems []error
	for n := range all {
		m := &all[n]
		if m.File != p.path {
			continue
		}
		f, at, err := p.find(m)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		name := fmt.Sprintf("%s_mutant%d", f.Name.Name, n)
		body := p.source[p.offset(f.Body.Pos()):at.from] + m.New + p.source[at.to:p.offset(f.Body.End())]
		p.copies = append(p.copies, fmt.Sprintf("// %s\n%s%s%s%s\n", m.Name, p.between(f.Pos(), f.Name.Pos()),
			name, p.between(f.Name.End(), f.Body.Pos()), body))
		ways[f] = append(ways[f], fmt.Sprintf("case %d: %s", n, p.call(f, name)))
		numbers[f] = append(numbers[f], strconv.Itoa(n))
	}
	for f, cases := range ways {
		at := p.offset(f.Body.Lbrace) + 1
		p.edits = append(p.edits, edit{place{at, at}, " switch mutantAt(" + strings.Join(numbers[f], ", ") +
			") { " + strings.Join(cases, "; ") + " };"})
		p.nameArguments(f)
	}
	return errors.Join(problems...)
}

// find returns the function that a mutant changes, and the place of the old text in the file. If the mutant
// has a position, the old text must be at this position. Otherwise it must occur exactly once in the
// function.
func (p *patch) find(m *Mutant) (f *ast.FuncDecl, at place, err error) {
	for _, d := range p.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || NameOf(f) != m.Func {
			continue
		}
		begin, end := p.offset(f.Body.Pos()), p.offset(f.Body.End())
		if m.At > 0 {
			if m.At < begin || m.At+len(m.Old) > end {
				continue // a file may have several functions with the name init
			}
			if p.source[m.At:m.At+len(m.Old)] != m.Old {
				return nil, place{},
					fmt.Errorf(
						"mutant %s: its old text does not stand at byte %d of %s; draw the mutant again",
						m.Name, m.At, m.File)
			}
			return f, place{m.At, m.At + len(m.Old)}, nil
		}
		found := occurrences(p.source[begin:end], m.Old)
		if len(found) != 1 {
			return nil, place{},
				fmt.Errorf("mutant %s: its old text occurs %d times in %s of %s, and must occur once; "+
					"the code has changed: change the mutant with it", m.Name, len(found), m.Func, m.File)
		}
		return f, place{begin + found[0].from, begin + found[0].to}, nil
	}
	return nil, place{}, fmt.Errorf("mutant %s: %s has no function %s", m.Name, m.File, m.Func)
}

// NameOf returns the name of a function in the form "function", or of a method in the form "Type.method".
func NameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + f.Name.Name
	}
	return ""
}

func (p *patch) call(f *ast.FuncDecl, name string) string {
	var args []string
	for i, field := range arguments(f) {
		arg := field.name
		if arg == "" || arg == "_" {
			arg = fmt.Sprintf("mutantArg%d", i)
		}
		if field.variadic {
			arg += "..."
		}
		args = append(args, arg)
	}
	if f.Recv != nil {
		receiver := "mutantReceiver"
		if names := f.Recv.List[0].Names; len(names) > 0 && names[0].Name != "_" {
			receiver = names[0].Name
		}
		name = receiver + "." + name
	}
	call := name + "(" + strings.Join(args, ", ") + ")"
	if f.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

type argument struct {
	name     string
	at       token.Pos
	end      token.Pos
	variadic bool
}

func arguments(f *ast.FuncDecl) []argument {
	var all []argument
	for _, field := range f.Type.Params.List {
		_, variadic := field.Type.(*ast.Ellipsis)
		if len(field.Names) == 0 {
			all = append(all, argument{at: field.Pos(), end: field.Pos(), variadic: variadic})
		}
		for _, name := range field.Names {
			all = append(all, argument{name.Name, name.Pos(), name.End(), variadic})
		}
	}
	return all
}

// nameArguments gives names to the arguments without names. The call of a copy can then pass these arguments.
func (p *patch) nameArguments(f *ast.FuncDecl) {
	for i, a := range arguments(f) {
		if a.name == "" || a.name == "_" {
			p.edits = append(p.edits,
				edit{place{p.offset(a.at), p.offset(a.end)}, fmt.Sprintf("mutantArg%d ", i)})
		}
	}
	if f.Recv == nil {
		return
	}
	switch names := f.Recv.List[0].Names; {
	case len(names) == 0:
		at := p.offset(f.Recv.List[0].Pos())
		p.edits = append(p.edits, edit{place{at, at}, "mutantReceiver "})
	case names[0].Name == "_":
		p.edits = append(p.edits, edit{place{p.offset(names[0].Pos()), p.offset(names[0].End())},
			"mutantReceiver"})
	}
}

func (p *patch) text() []byte {
	slices.SortFunc(p.edits, func(a, b edit) int { return b.from - a.from })
	text := p.source
	for _, e := range p.edits { // apply the last edit first, so that the earlier offsets stay valid
		text = text[:e.from] + e.text + text[e.to:]
	}
	return []byte(text + "\n" + strings.Join(p.copies, "\n"))
}
