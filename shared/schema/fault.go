package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// faultsOf returns the mismatches of a value, each with its position. The result is sorted, because the
// library visits the fields of an object in random order.
func faultsOf(e *jsonschema.ValidationError) []string {
	faults := appendFaults(nil, e)
	slices.Sort(faults)
	return slices.Compact(faults)
}

func appendFaults(faults []string, e *jsonschema.ValidationError) []string {
	switch k := e.ErrorKind.(type) {
	case *kind.PropertyNames: // no position, because the library reuses the memory of InstanceLocation
		return append(faults, fmt.Sprintf("the name %s of a field does not match propertyNames",
			name(k.Property)))
	case *kind.AnyOf, *kind.OneOf: // only the alternative with the fewest mismatches is reported
		if len(e.Causes) == 0 {
			break
		}
		var nearest []string
		for _, form := range e.Causes {
			if f := faultsOf(form); nearest == nil || len(f) < len(nearest) {
				nearest = f
			}
		}
		return append(faults, nearest...)
	}
	for _, cause := range e.Causes {
		faults = appendFaults(faults, cause)
	}
	if len(e.Causes) > 0 {
		return faults
	}
	return append(faults, place(e.InstanceLocation)+" "+reason(e.ErrorKind))
}

func place(path []string) string {
	if len(path) == 0 {
		return "at the top"
	}
	var b strings.Builder
	for _, key := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
	}
	return "at " + printable(b.String(), 120)
}

// printable returns the first n bytes of a text. It replaces unprintable characters, because the text may
// come from outside.
func printable(text string, n int) string {
	short := strings.ToValidUTF8(text[:min(n, len(text))], "")
	if len(text) > n {
		short += "…"
	}
	return strings.Map(func(c rune) rune {
		if core.Unprintable(c) {
			return '\ufffd'
		}
		return c
	}, short)
}

func name(text string) string { return `"` + printable(text, 40) + `"` }

func names(all []string) string {
	var shown []string
	for _, n := range all[:min(3, len(all))] {
		shown = append(shown, name(n))
	}
	if len(all) > 3 {
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}

// reason describes a mismatch. It may quote the schema and the names of fields, but never a field's value.
func reason(of jsonschema.ErrorKind) string {
	switch k := of.(type) {
	case *kind.Type:
		return fmt.Sprintf("it is %s, not %s", Kind(k.Got), Kinds(k.Want))
	case *kind.Required:
		return "it lacks " + names(k.Missing)
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		return "it has the unknown field " + names(k.Properties)
	case *kind.FalseSchema:
		return "it is not allowed"
	case *kind.Enum:
		return "it is not one of " + printable(strings.Trim(literal(k.Want), "[]"), 120)
	case *kind.Const:
		return "it is not " + printable(literal(k.Want), 60)
	case *kind.Pattern:
		return "it does not match the pattern " + printable(k.Want, 80)
	case *kind.Minimum:
		return "it is less than " + printable(k.Want.RatString(), 40)
	case *kind.Maximum:
		return "it is more than " + printable(k.Want.RatString(), 40)
	case *kind.MinLength:
		return fmt.Sprintf("it has %d characters, the least is %d", k.Got, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("it has %d characters, the limit is %d", k.Got, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf("it has %d elements, the least is %d", k.Got, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("it has %d elements, the limit is %d", k.Got, k.Want)
	}
	return "it does not match " + strings.Join(of.KeywordPath(), "/")
}

func literal(v any) string {
	text, _ := json.Marshal(v) // cannot fail, because the value comes from JSON
	return string(text)
}

// Kind returns the word that workflow authors use for a JSON type.
func Kind(kind string) string {
	switch kind {
	case "null":
		return "empty"
	case "object":
		return "a mapping"
	case "array":
		return "a list"
	case "string":
		return "a text"
	case "integer":
		return "a whole number"
	}
	return "a " + kind
}

// Kinds returns the words of several JSON types, joined with "or".
func Kinds(kinds []string) string {
	words := make([]string, len(kinds))
	for i, k := range kinds {
		words[i] = Kind(k)
	}
	return strings.Join(words, " or ")
}
