package importrules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fragment matches a trailing comment that begins with a preposition or a relative pronoun.
var fragment = regexp.MustCompile(
	`\S.*\s// (of|for|by|in|what|who|whose|where|that|at|on|to|from|as|until|since|with|without) `)

// TestTrailingComments fails for a comment behind code that does not name what it is about: "of a reply" says
// less than "sender of a reply".
func TestTrailingComments(t *testing.T) {
	for _, file := range product(t) {
		room := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line, s := range fragments(string(text)) {
			t.Errorf("%s:%d: begin %q with the noun that it is about, or make it a sentence", room, line, s)
		}
	}
}

// fragments returns the lines with such a comment by their numbers.
func fragments(text string) map[int]string {
	found := map[int]string{}
	for i, line := range strings.Split(text, "\n") {
		if fragment.MatchString(line) {
			found[i+1] = strings.TrimSpace(line)
		}
	}
	return found
}

func TestFragmentsAreFound(t *testing.T) {
	const text = "a int // of b\n// of a whole line\nb int // sender of c\nfunc f() { // what it does\n"
	if got := fragments(text); len(got) != 2 || got[1] == "" || got[4] == "" {
		t.Errorf("%v", got)
	}
}
