package importrules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// document matches the path of a document from the root of the repository.
var document = regexp.MustCompile(`\bdocs/[a-z][a-z/-]*\.(?:md|json)\b`)

// TestDocumentsInCode checks that each document that code, a template or a message names exists.
func TestDocumentsInCode(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git" ||
			entry.Name() == "bin" || entry.Name() == ".state"):
			return fs.SkipDir
		case !slices.Contains([]string{".go", ".yaml", ".html", ".tmpl", ".sh"}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range document.FindAllString(string(text), -1) {
			found++
			if _, err := os.Stat("../../" + name); err != nil && name != "docs/none.md" {
				t.Errorf("%s names %s, which does not exist", path, name)
			}
		}
		return err
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, found, 50)
}
