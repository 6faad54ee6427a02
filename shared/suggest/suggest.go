// Package suggest finds the known name that a mistyped one was probably meant to be.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known name that takes the fewest edits to reach, or "" if none is near. A near name
// differs in at most two edits and at most every second letter, ignoring letter case and the kind of dash. Of
// equally near names it returns the first.
func Nearest(word string, known []string) string {
	best, least := "", min(2, len([]rune(word))/2)+1
	for _, name := range known {
		if d := levenshtein.ComputeDistance(folded(word), folded(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// DidYouMean returns "did you mean NAME? " before the rest of an advice, and the rest alone if no known name
// is near.
func DidYouMean(word string, known []string, rest string) string {
	name := Nearest(word, known)
	switch {
	case name == "":
		return rest
	case rest == "":
		return "did you mean " + name + "?"
	}
	return "did you mean " + name + "? " + rest
}
