package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/reference"
)

// TestEveryMemberIsDocumented checks that docs/reference/document.md lists every member of a stored document,
// as the tables of this package have it, and shows a whole one.
func TestEveryMemberIsDocumented(t *testing.T) {
	const page = "../../docs/reference/document.md"
	var b strings.Builder
	rows(&b, "The order", taskFields)
	rows(&b, "Each step in `Steps`", stepFields)
	rows(&b, "A step's `error`", errorFields)
	rows(&b, "A step's `corrected`", correctedFields)
	rows(&b, "Each attempt in `attempts`", attemptFields)
	reference.Show(t, page, "members", b.String())

	recorded, err := os.ReadFile("testdata/schema1/goes-well-end.txt")
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := bytes.Cut(recorded, []byte("\n\n"))
	var example bytes.Buffer
	if err := json.Indent(&example, document, "    ", "  "); err != nil {
		t.Fatal(err)
	}
	reference.Show(t, page, "example", "```json\n"+example.String()+"\n```")
}

func rows[T any](b *strings.Builder, title string, of *table[T]) {
	fmt.Fprintf(b, "\n## %s\n\n| member | says |\n|---|---|\n", title)
	for _, f := range of.fields {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.name, f.says)
	}
}
