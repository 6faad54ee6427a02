// Package reference keeps the generated parts of documents consistent with the code.
package reference

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/golden"
)

// Show checks that a page contains the text between the lines `<!-- name: begin -->` and `<!-- name: end
// -->`. With the flag -update, Show writes the text into the page.
func Show(t *testing.T, page, name, text string) {
	t.Helper()
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- " + name + ": begin -->\n"
	end := "<!-- " + name + ": end -->\n"
	head, rest, found := strings.Cut(string(old), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks the lines %s and %s", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	want := head + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + tail
	if want == string(old) {
		return
	}
	if !golden.FlagUpdate() {
		t.Errorf("%s differs from the code; run this test with -update (-run %s)", page, t.Name())
		return
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil { //nolint:gosec // a document
		t.Fatal(err)
	}
}
