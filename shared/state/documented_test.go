package state_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

const page = "../../docs/reference/document.md"

// docs/reference/document.md lists the members of each object, in the order of their fields, and no others.
func TestEveryMemberIsDocumented(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	got := map[string][]string{}
	object := ""
	for line := range strings.Lines(string(text)) {
		if heading, is := strings.CutPrefix(line, "### "); is {
			object = strings.TrimSpace(heading)
		}
		if names, is := strings.CutPrefix(line, "- `"); is && object != "" {
			names, _, _ = strings.Cut(names, ":")
			got[object] = append(got[object], strings.Split(strings.Trim(names, "`\n"), "`, `")...)
		}
	}
	want := map[string][]string{}
	for name, of := range map[string]any{
		"order": protocol.Task{}, "Steps": protocol.Step{}, "undelivered": core.Undelivered{},
		"attempts": protocol.Attempt{}, "earlier": protocol.Earlier{}, "reason": protocol.Reason{},
		"error": protocol.StepError{}, "corrected": protocol.Corrected{},
		"verdicts": protocol.Verdict{}, "closed": protocol.Closing{}, "erased": protocol.Erasure{},
		"parent": core.Parent{}, "resolved": core.Resolved{}, "progress": protocol.StepProgress{},
		"reminded": protocol.Reminded{},
		"answers":  protocol.Answers{}, "answers.votes": protocol.Vote{},
		"children": protocol.Children{}, "children.open": protocol.OpenChild{},
		"children.ends":    protocol.IterationEnd{},
		"children.results": protocol.Collected{}, "passing": protocol.Passing{}, "passing.answers": core.Passed{},
	} {
		want[name] = members(reflect.TypeOf(of))
	}
	want["order"] = append([]string{"Schema"}, want["order"]...)
	require.Equal(t, want, got)
}

// members returns the names of the members of an object. It skips what is not stored, and the unknown members.
func members(of reflect.Type) (names []string) {
	for f := range of.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case option == "embed" && f.Type.Kind() == reflect.Struct:
			names = append(names, members(f.Type)...)
		case option != "embed" && name != "-":
			names = append(names, name)
		}
	}
	return names
}
