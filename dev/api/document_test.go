package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/internal/reference"
)

// TestHTTPPage checks that docs/reference/http.md lists the operations of the OpenAPI document.
func TestHTTPPage(t *testing.T) {
	got := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/openapi.json", nil)
	api.New(api.Config{Backend: apitest.New()}).ServeHTTP(got, request)
	var doc struct {
		Paths map[string]map[string]struct{ Summary string }
	}
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &doc))
	var rows []string
	for path, operations := range doc.Paths {
		for method, o := range operations {
			rows = append(rows, fmt.Sprintf("- `%s %s`: %s\n", strings.ToUpper(method), path, o.Summary))
		}
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(pathOf(a)+a, pathOf(b)+b) })
	reference.Show(t, "../../docs/reference/http.md", "paths", strings.Join(rows, ""))
}

// pathOf returns the path of a row.
func pathOf(row string) string {
	_, path, _ := strings.Cut(row, " /")
	path, _, _ = strings.Cut(path, "`")
	return path
}
