package source_test

import (
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const withTokens = `workflow: w
agents: {mail: {queueAllowance: 1s, clockSkew: 1s}}
steps:
  approve:
    ask: {agent: mail, operation: ask, input: {link: '${ token("approve", order.to) }'}}
    approval: {question: Pay?, answers: ["yes"], who: [ann], timeout: 1d, onTimeout: undo}
  paid:
    event: {name: paid, timeout: 1d, onTimeout: undo}
    after: [approve]
`

// P39: a token can be used in the input of a call. It names a step that waits for an answer, and a person if
// that step asks particular people.
func TestTokensStandWhereTheyCan(t *testing.T) {
	def, problems := source.Parse("w.yaml", []byte(withTokens), source.Options{})
	if def == nil || !def.Tokens {
		t.Fatalf("%+v, %v", def, problems)
	}
	for change, want := range map[string]string{
		`"approve", order.to`: "",
		`"paid"`:              "",
		`"paid", "ann"`:       "",
		`"approve"`:           "names no person",
		`"pay", "ann"`:        "no approval or event",
		`"approve-ask"`:       "no approval or event",
		`order.step, "ann"`:   "is computed",
		`"a", "b", "c"`:       "takes 1 to 2",
	} {
		_, problems := source.Parse("w.yaml",
			[]byte(strings.Replace(withTokens, `"approve", order.to`, change, 1)), source.Options{})
		if text := problems.Error(); want == "" && problems.Err() != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %q", change, text, want)
		}
	}
	for place, with := range map[string]string{
		"after: [approve]": "after: [approve]\n    when: token('paid') == 'x'",
		"[ann]":            "['${ token(\"paid\") }']",
		"timeout: 1d, onTimeout: undo}\n    after": "refuse: token('paid') == 'x', timeout: 1d, " +
			"onTimeout: undo}\n    after",
		"steps:": "output: '${ token(\"paid\") }'\nsteps:",
	} {
		_, problems := source.Parse("w.yaml", []byte(strings.Replace(withTokens, place, with, 1)),
			source.Options{})
		if text := problems.Error(); !strings.Contains(text, "input of a call only") {
			t.Errorf("%s: %s", with, text)
		}
	}
}
