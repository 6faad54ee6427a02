package importrules

import (
	"fmt"
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
