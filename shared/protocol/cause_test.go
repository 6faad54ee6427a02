package protocol_test

import (
	"regexp"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// causeForms are the causes that P4 lists (docs/explanation/protocol-commits.md). They stand in stored tasks,
// so another form would make the redelivery of an event that an earlier version handled unrecognisable.
var causeForms = regexp.MustCompile(`^(submit|reply/[^/]+/\d+/(done|failed|retry-later)|overdue/[^/]+/\d+|` +
	`wake/[^/]*/\d+|deadline/\d+/\d+|late/[^/]+/\d+/\d+|cancel/\d+|(undo|resubmit|resolve|close|move|erase)/\d+|` +
	`child/[^/]+/\d+/\d+|parent/\d+/(start(/[0-9a-f]{16})?|cancel|undo)|answer/[^/]*/[0-9a-f]{16})$`)

// unknownCause returns a cause that a decision has stored and that P4 does not list, or "".
func unknownCause(before, after *protocol.Task) string {
	known := causesOf(orEmpty(before))
	for _, c := range causesOf(after) {
		if c != "" && !slices.Contains(known, c) && !causeForms.MatchString(c) {
			return c
		}
	}
	return ""
}

func causesOf(t *protocol.Task) []string {
	var all []string
	for i := range t.Steps {
		s := &t.Steps[i]
		all = append(all, s.Claim.Cause, s.Finish.Cause)
		if s.Children != nil {
			for _, o := range s.Children.Open {
				all = append(all, o.Cause)
			}
		}
	}
	return all
}
