package importrules

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// budgets holds the most lines of Go outside tests that each folder at the top may have: what it had on
// 2026-11-28, and 3 % more. Who raises one says why in the commit.
var budgets = map[string]int{
	"client":       5200,
	"cmd":          13300,
	"demo":         3810,
	"dev":          10760,
	"examples":     210,
	"functions":    10190,
	"infra":        5530,
	"internal":     3040,
	"localstack":   865,
	"shared":       27900,
	"simulate":     11980,
	"verify":       5190,
	"workflows":    10,
	"workflowtest": 1450,
}

// Bounds on a file, and on a package of the product.
const (
	maxFileLines    = 500
	maxPackageLines = 4000
)

func TestSize(t *testing.T) {
	folders, packages := map[string]int{}, map[string]int{}
	for _, path := range product(t) {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Count(src, []byte("\n"))
		path, _ = filepath.Rel("../..", path)
		folder, _, _ := strings.Cut(filepath.ToSlash(path), "/")
		folders[folder] += lines
		packages[filepath.Dir(path)] += lines
		if lines > maxFileLines {
			t.Errorf("%s has %d lines, and may have %d: split it by subject", path, lines, maxFileLines)
		}
	}
	all := 0
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		all += folders[folder]
		t.Logf("%-13s %6d lines, budget %6d", folder, folders[folder], budgets[folder])
		if folders[folder] > budgets[folder] {
			t.Errorf(
				"%s has %d lines of Go outside tests, and may have %d: remove some, or raise its budget "+
					"and say why", folder, folders[folder], budgets[folder])
		}
	}
	t.Logf("%-13s %6d lines", "all", all)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if lines := packages[name]; lines > maxPackageLines {
			t.Errorf("package %s has %d lines, and may have %d: split it by subject", name, lines,
				maxPackageLines)
		}
	}
}
