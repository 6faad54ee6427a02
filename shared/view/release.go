package view

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Release is the version of a program, with the highest schemas that the program can read. The program
// returns messages with a newer schema to their queue. It does not change tasks with a newer schema.
type Release struct {
	Version  string `json:"version"`  // version of the module; "(devel)" for a working copy
	Tasks    int    `json:"tasks"`    // highest schema of stored tasks
	Messages int    `json:"messages"` // highest schema of messages
}

const module = "github.com/stepkeeper/stepkeeper"

// Built returns the release of the running program. The program may be a user's program that imports the
// module.
func Built() Release {
	r := Release{Tasks: state.TaskSchema, Messages: message.Schema}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module {
				r.Version = m.Version
			}
		}
	}
	r.Version = cmp.Or(r.Version, "(devel)")
	return r
}

// String returns the release on one line, in the form that ReadRelease parses.
func (r Release) String() string {
	return fmt.Sprintf("%s tasks=%d messages=%d", r.Version, r.Tasks, r.Messages)
}

// ReadRelease parses the result of String. It returns the zero Release for any other text.
func ReadRelease(text string) (r Release) {
	if _, err := fmt.Sscanf(text, "%s tasks=%d messages=%d", &r.Version, &r.Tasks, &r.Messages); err != nil {
		return Release{}
	}
	return r
}
