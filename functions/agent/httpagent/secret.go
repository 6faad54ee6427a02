package httpagent

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// Secret is a text that may hold a secret; it never shows itself.
type Secret string

const hidden = "[hidden]"

// String hides the value.
func (s Secret) String() string { return hidden }

// GoString hides the value.
func (s Secret) GoString() string { return hidden }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// fill puts the values of the environment in place of ${env:NAME}, and answers those values.
func (s Secret) fill(lookup func(string) (string, bool)) (filled Secret, values []Secret, err error) {
	text := variable.ReplaceAllStringFunc(string(s), func(ref string) string {
		name, isEnv := strings.CutPrefix(ref[2:len(ref)-1], "env:")
		if !isEnv || name == "" {
			err = fmt.Errorf("%s is not known; write ${env:NAME}", ref)
			return ""
		}
		value, set := lookup(name)
		if !set || value == "" {
			err = fmt.Errorf("the environment variable %s is not set; set it before the start", name)
			return ""
		}
		values = append(values, Secret(value))
		return value
	})
	return Secret(text), values, err
}

// minSecret is the shortest value worth cutting out: shorter ones stand in any text by chance.
const minSecret = 4

// redactor cuts the secrets out of texts.
func redactor(secrets []Secret) func(text string) string {
	return func(text string) string {
		for _, s := range secrets {
			if len(s) >= minSecret {
				text = strings.ReplaceAll(text, string(s), hidden)
			}
		}
		return text
	}
}
