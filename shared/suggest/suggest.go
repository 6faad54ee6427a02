// Package suggest finds the known name that a mistyped name was probably meant to be.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known name that needs the fewest edits to become word, or "" if no name is near. A near
// name needs at most two edits, and at most half as many edits as word has letters. The comparison ignores
// letter case, and treats "_" and "-" as equal. If several names are equally near, Nearest returns the first
// of them.
func Nearest(word string, known []string) string {
	best := ""
	least := min(2, len([]rune(word))/2) + 1
	for _, name := range known {
		if d := levenshtein.ComputeDistance(folded(word), folded(name)); d < least {
			best = name
			least = d
		}
	}
	return best
}

func folded(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// DidYouMean returns "did you mean NAME? " followed by the text rest. If no known name is near, it returns
// only rest.
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
