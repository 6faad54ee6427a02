package state

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/golden"
)

// docs/document.md lists every member of a stored document, as the tables of this package have it.
func TestEveryMemberIsDocumented(t *testing.T) {
	const path = "../../docs/document.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- members: begin -->\n", "<!-- members: end -->"
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the members", path)
	}
	var b strings.Builder
	rows(&b, "The order", taskFields)
	rows(&b, "Each step in `Steps`", stepFields)
	rows(&b, "A step's `error`", errorFields)
	rows(&b, "A step's `corrected`", correctedFields)
	rows(&b, "Each attempt in `attempts`", attemptFields)
	want := head + begin + b.String() + "\n" + end + tail
	if want == string(text) {
		return
	}
	if !golden.FlagUpdate() {
		t.Fatalf("%s does not list the members that are stored: go test ./shared/state -run %s -update", path, t.Name())
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rows[T any](b *strings.Builder, title string, of *table[T]) {
	fmt.Fprintf(b, "\n## %s\n\n| member | says |\n|---|---|\n", title)
	for _, f := range of.fields {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.name, f.says)
	}
}
