package importrules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	promised = regexp.MustCompile(`(?s)\n- \*\*Go packages\*\*:(.*?)\n- `)
	quoted   = regexp.MustCompile("`([^`]+)`")
	imported = regexp.MustCompile(`"` + Module + `/([^"]+)"`)
)

// The changelog lists the packages that applications may import. Each exists, and a new project imports no other one.
func TestPublicPackages(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	list := promised.FindStringSubmatch(string(text))
	require.Len(t, list, 2)
	public := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(list[1], -1) {
		public[m[1]] = true
		files, err := filepath.Glob("../../" + m[1] + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, files, "there is no package %s", m[1])
	}
	found := 0
	templates := os.DirFS("../../cmd/stepkeeper/internal/scaffold/template")
	err = fs.WalkDir(templates, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go.tmpl") {
			return err
		}
		text, err := fs.ReadFile(templates, path)
		for _, m := range imported.FindAllStringSubmatch(string(text), -1) {
			found++
			require.True(t, public[m[1]], "%s imports %s", path, m[1])
		}
		return err
	})
	require.NoError(t, err)
	require.Positive(t, found)
}
