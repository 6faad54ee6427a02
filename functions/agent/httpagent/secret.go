package httpagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Secret is a text that may hold a secret. Its methods never show it.
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

// fill replaces ${env:NAME} by the values of the environment, and returns those values.
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

// Shorter values are not removed, because they occur in any text by chance. The limit is higher for outputs,
// which are data of the workflow.
const (
	minSecret       = 4
	minOutputSecret = 6
)

// redactor removes the values of secrets from a service's texts. Its fields are functions, because fmt prints
// unexported fields and bypasses their methods.
type redactor struct {
	text   func(text string) string
	output func(output json.RawMessage) json.RawMessage
}

func newRedactor(secrets []Secret) redactor {
	var values []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			values = append(values, string(s))
		}
	}
	// Sort the longest first, because one value may contain another.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	inOutput := slices.DeleteFunc(slices.Clone(values),
		func(v string) bool { return len(v) < minOutputSecret })
	// An error of net/http quotes the service's bytes, with the escapes of Go or of JSON.
	var written []string
	for _, v := range values {
		quoted := strconv.Quote(v)
		escaped, _ := json.Marshal(v) // a text is always JSON
		written = append(written, v, quoted[1:len(quoted)-1], string(escaped[1:len(escaped)-1]))
	}
	return redactor{
		text:   func(text string) string { return cut(text, written) },
		output: func(output json.RawMessage) json.RawMessage { return cutFromJSON(output, inOutput) },
	}
}

// and returns a redactor that removes one more secret.
func (r *redactor) and(s Secret) *redactor {
	one := newRedactor([]Secret{s})
	return &redactor{
		text:   func(text string) string { return one.text(r.text(text)) },
		output: func(output json.RawMessage) json.RawMessage { return one.output(r.output(output)) },
	}
}

func cut(text string, values []string) string {
	for _, v := range values {
		text = strings.ReplaceAll(text, v, hidden)
	}
	return text
}

// jsonToken is a string, or a word outside of strings: a number, true, false, null.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+`)

// cutFromJSON removes the values from every string of a valid document, keys included, however its characters
// are escaped. It replaces a number that equals a value. A document without a match stays the same byte for
// byte.
func cutFromJSON(document json.RawMessage, values []string) json.RawMessage {
	written := func(v string) bool { return bytes.Contains(document, []byte(v)) }
	if len(values) == 0 || !written(`\`) && !slices.ContainsFunc(values, written) {
		return document
	}
	return jsonToken.ReplaceAllFunc(document, func(token []byte) []byte {
		text := string(token)
		if token[0] == '"' && json.Unmarshal(token, &text) != nil {
			return token
		}
		clean := cut(text, values)
		if clean == text || token[0] != '"' && clean != hidden {
			return token
		}
		escaped, _ := json.Marshal(clean) // a text is always JSON
		return escaped
	})
}

// secretsOfURL returns the values that may be secret. Messages may name a URL's scheme and host. So if a
// value is a whole address, secretsOfURL returns only the part after the host.
func secretsOfURL(filled Secret, values []Secret) (secrets []Secret) {
	host := ""
	if u, err := url.Parse(string(filled)); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	for _, v := range values {
		if _, after, whole := strings.Cut(string(v), "://"); whole {
			_, path, _ := strings.Cut(after, "/")
			v = Secret(strings.Trim(path, "/"))
		}
		if !strings.Contains(host, string(v)) {
			secrets = append(secrets, v)
		}
	}
	return secrets
}

// unsolicited is the beginning of net/http's log line about bytes that a service sent without a request. The
// line shows the bytes, and a Transport has no logger of its own.
const unsolicited = "Unsolicited response received on idle HTTP channel"

// standardLog is a log output that removes the service's bytes from lines with the text unsolicited.
type standardLog struct{ next io.Writer }

// Write writes one line.
func (l standardLog) Write(line []byte) (int, error) {
	before, _, found := bytes.Cut(line, []byte(unsolicited))
	if !found {
		return l.next.Write(line)
	}
	_, err := l.next.Write(slices.Concat(before, []byte(unsolicited+"; its content is not shown\n")))
	return len(line), err
}

// guardStandardLog puts standardLog before the present output of the standard logger, such as a file or
// slog's default handler.
func guardStandardLog() {
	if _, guarded := log.Writer().(standardLog); !guarded {
		log.SetOutput(standardLog{log.Writer()})
	}
}
