package importrules

import (
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/reference"
)

// namedRule matches the heading of a rule.
var namedRule = regexp.MustCompile(`(?m)^## (P([0-9]+)(a?)) (.*)$`)

// protocolRule is a rule of the protocol, with the page that states it.
type protocolRule struct{ number, name, page string }

// protocolRules returns the rules by a key that sorts them.
func protocolRules(t *testing.T) map[string]protocolRule {
	t.Helper()
	pages, err := filepath.Glob("../../docs/explanation/protocol-*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]protocolRule{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedRule.FindAllStringSubmatch(string(text), -1) {
			key := fmt.Sprintf("%3s%s", m[2], m[3])
			if other, twice := all[key]; twice {
				t.Errorf("%s stands in %s and in %s", m[1], other.page, page)
			}
			all[key] = protocolRule{m[1], m[4], filepath.Base(page)}
		}
	}
	if len(all) < 40 {
		t.Fatalf("the pages %v have only %d rules", pages, len(all))
	}
	return all
}

// TestRulesByNumber checks that docs/explanation/protocol.md lists every rule with its page.
func TestRulesByNumber(t *testing.T) {
	const columns = 8
	b := strings.Repeat("| ", columns) + "|\n" + strings.Repeat("|---", columns) + "|"
	rules := protocolRules(t)
	for i, key := range slices.Sorted(maps.Keys(rules)) {
		r := rules[key]
		heading := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(r.number+" "+r.name), "")
		if i%columns == 0 {
			b += "\n|"
		}
		b += fmt.Sprintf(" [%s](%s#%s) |", r.number, r.page, strings.ReplaceAll(heading, " ", "-"))
	}
	reference.Show(t, "../../docs/explanation/protocol.md", "rules", b)
}

var (
	// citation matches a rule in a comment, but not one in quotes, which is the name of a mutant.
	citation = regexp.MustCompile(`(?:^|[^\w"])(P[0-9]+a?)\b`)
	// commentBreak matches the spaces, or the end of a line, between two words of a comment.
	commentBreak = regexp.MustCompile(`\s+(?://\s*)?`)
)

// TestRulesAreNamed checks that each file of the product that cites a rule in comments names it once, so that
// nobody needs the protocol's index to read it. The name stands behind the number, as in "P17, a cancel is
// kept" or "P17 (a cancel is kept)", or is part of the sentence, as in "a cancel is kept (P17)".
func TestRulesAreNamed(t *testing.T) {
	names := map[string]string{}
	for _, r := range protocolRules(t) {
		names[r.number] = strings.ToLower(r.name)
	}
	cited := 0
	for _, path := range product(t) {
		text := commentsOf(t, path)
		missing := unnamed(names, text)
		cited += len(citation.FindAllString(text, -1))
		for _, number := range slices.Sorted(maps.Keys(missing)) {
			t.Errorf("%s: name %s where it is cited first: (%s, %s)", path, number, number, missing[number])
		}
	}
	if cited < 700 {
		t.Errorf("only %d citations were found", cited)
	}
}

// commentsOf returns the comments of a file.
func commentsOf(t *testing.T, path string) (all string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			all += c.Text + "\n"
		}
	}
	return all
}

// unnamed returns the names of the rules that the comments cite only by number.
func unnamed(names map[string]string, comments string) map[string]string {
	missing := map[string]string{}
	text := strings.ToLower(commentBreak.ReplaceAllString(comments, " "))
	for _, m := range citation.FindAllStringSubmatch(comments, -1) {
		name, known := names[m[1]]
		number := strings.ToLower(m[1])
		named := regexp.MustCompile(`\b` + number + `(, | \()` + regexp.QuoteMeta(name) + `|` +
			regexp.QuoteMeta(name) + ` \(([^()]*[ ,;])?` + number + `\b`)
		if known && !named.MatchString(text) {
			missing[m[1]] = name
		}
	}
	return missing
}

func TestUnnamedRulesAreFound(t *testing.T) {
	names := map[string]string{"P1": "every claim is new", "P2": "keys are shared", "P22": "no undo"}
	for comments, want := range map[string]string{
		"// f does it (P1, every\n// claim is new; P2, keys are shared).": "",
		"// Every claim is new (P1). f applies P2 (keys are shared).":     "",
		"// f does it (P1, P2).\n":                                        "P1 P2",
		"// f does it (P22, no undo; P2).\n":                              "P2",
		"// f does it (P2, no undo).\n":                                   "P2",
		"// \"P1-keys\" is a mutant; P99 is a measure.\n":                 "",
	} {
		got := strings.Join(slices.Sorted(maps.Keys(unnamed(names, comments))), " ")
		if got != want {
			t.Errorf("%q: %q is found, not %q", comments, got, want)
		}
	}
}
