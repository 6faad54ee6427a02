package importrules

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// promise is the sentence of what others may build on: packages, and packages of which they export types.
	promise = regexp.MustCompile(`(?s)What others may build on: (.*?); of (.*?)\sthose types`)
	named   = regexp.MustCompile("`([\\w/]+)`")
)

// promised are the packages of the promise, and those of which they export types under names of their own.
func promised(t *testing.T, text string) (packages, typesOf []string) {
	t.Helper()
	m := promise.FindStringSubmatch(text)
	if m == nil {
		t.Fatal("docs/explanation/architecture.md does not say what others may build on")
	}
	for i, list := range []*[]string{&packages, &typesOf} {
		for _, name := range named.FindAllStringSubmatch(m[i+1], -1) {
			*list = append(*list, name[1])
		}
	}
	return packages, typesOf
}

// TestPromisedAliases: what a promised package exports by another name is promised too, and no more is said
// to be.
func TestPromisedAliases(t *testing.T) {
	text, err := os.ReadFile("../../docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, typesOf := promised(t, string(text))
	used := map[string]bool{}
	for _, p := range packages {
		files, err := filepath.Glob(filepath.Join("../..", p, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %d files, %v", p, len(files), err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for name, of := range aliases(t, file, source) {
				if used[of] = true; !slices.Contains(typesOf, of) && !slices.Contains(packages, of) {
					t.Errorf("%s.%s is a type of %s, which architecture.md does not promise", p, name,
						of)
				}
			}
		}
	}
	for _, p := range typesOf {
		if !used[p] {
			t.Errorf(
				"docs/explanation/architecture.md says that types of %s are promised, but no promised "+
					"package exports one", p)
		}
	}
}

// TestPromisedPackagesHaveExamples checks that the documentation of each promised package has an example. The
// exception is shared/port, whose suites are the example of an adapter.
func TestPromisedPackagesHaveExamples(t *testing.T) {
	text, err := os.ReadFile("../../docs/explanation/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	packages, _ := promised(t, string(text))
	for _, p := range packages {
		tests, err := filepath.Glob(filepath.Join("../..", p, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var files []*ast.File
		for _, name := range tests {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if p != "shared/port" && len(doc.Examples(files...)) == 0 {
			t.Errorf("%s has no example: write one in examples_test.go", p)
		}
	}
}

func TestAliasesAreFound(t *testing.T) {
	const text = "package p\nimport (\n\t\"io\"\n\t\"" + Module + "/shared/view\"\n\tk \"" + Module +
		"/shared/core\"\n)\ntype (\n\tTask = view.Task\n\tState = k.State\n\tOwn struct{ T view.Task " +
		"}\n\tR = io.Reader\n\thidden = view.Step\n)\n"
	if got := fmt.Sprint(aliases(t, "p.go", []byte(text))); got != "map[State:shared/core Task:shared/view]" {
		t.Error(got)
	}
	if packages, typesOf := promised(t,
		"What others may build on: `a`, `b/c` with\n`b/d`; of `e` those types"); fmt.Sprint(packages,
		typesOf) != "[a b/c b/d] [e]" {
		t.Error(packages, typesOf)
	}
}

// aliases are the exported types of a file that are types of another package of the module, with its folder.
func aliases(t *testing.T, name string, text []byte) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]string{}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		local := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			local = i.Name.Name
		}
		if room, own := strings.CutPrefix(path, Module+"/"); own {
			imports[local] = room
		}
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Assign.IsValid() || !spec.Name.IsExported() {
			return true
		}
		if s, ok := spec.Type.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok && imports[p.Name] != "" {
				found[spec.Name.Name] = imports[p.Name]
			}
		}
		return true
	})
	return found
}
