package core

import "strings"

// MaxInput is the largest input that an operator may give to a step, in bytes.
const MaxInput = 32 << 10

// MaxNote is the longest note of a Progress that a task keeps, in bytes.
const MaxNote = 200

// ShortNote shortens a note to at most MaxNote bytes. It does not split a character.
func ShortNote(note string) string {
	return strings.ToValidUTF8(note[:min(len(note), MaxNote)], "")
}

// MaxOutput is the largest output of a step, in bytes, because a reply must fit into one message. An
// attempt with a larger output ends as a permanent failure with `output-too-large`. It is not called again.
const MaxOutput = 48 << 10

// Bounds of parts of a stored task.
const (
	MaxCode = 128 // longest code of a failure, in bytes
	MaxName = 32  // longest name of an instance, in bytes
)

// Failure codes of an operation that was done, and whose output cannot be kept.
const (
	CodeOutput         = "output"           // programs would read the output differently, or cannot read it
	CodeOutputTooLarge = "output-too-large" // the output did not fit
)
