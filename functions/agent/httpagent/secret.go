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

// Secret is a text that may hold a secret. Its methods never show the text.
type Secret string

const hidden = "[hidden]"

// String returns [hidden].
func (s Secret) String() string { return hidden }

// GoString returns [hidden].
func (s Secret) GoString() string { return hidden }

// LogValue returns [hidden].
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText returns [hidden].
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

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

// Lengths of the shortest values that a redactor removes. Shorter values occur in any text by chance.
// The limit is higher for outputs, because a removal changes the workflow's data.
const (
	minSecret       = 4
	minOutputSecret = 6
)

// redactor removes the values of secrets from a service's texts and outputs. Functions hold the
// values, because fmt would print values in unexported fields without a call of String.
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
	// Sort the longest value first, because one value may contain another value.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	inOutput := slices.DeleteFunc(slices.Clone(values),
		func(v string) bool { return len(v) < minOutputSecret })
	// An error of net/http may quote the service's bytes with the escapes of Go or JSON.
	var written []string
	for _, v := range values {
		quoted := strconv.Quote(v)
		escaped, _ := json.Marshal(v) // encoding a string cannot fail
		written = append(written, v, quoted[1:len(quoted)-1], string(escaped[1:len(escaped)-1]))
	}
	return redactor{
		text:   func(text string) string { return cut(text, written) },
		output: func(output json.RawMessage) json.RawMessage { return cutFromJSON(output, inOutput) },
	}
}

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

var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+`)

// cutFromJSON removes the values from all strings and keys of a valid JSON document, even if they are
// escaped. It replaces a number that equals a value. A document that contains no value stays unchanged.
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
		escaped, _ := json.Marshal(clean) // encoding a string cannot fail
		return escaped
	})
}

// secretsOfURL returns the secret parts of the variables' values in a URL. The scheme and host are not
// secret, because error texts may name them. If a value is a whole address, only the part after the
// host is secret.
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

// unsolicited is the beginning of the log line that net/http writes about bytes that came without a request.
// The line shows the bytes. net/http always uses the standard logger for this line.
const unsolicited = "Unsolicited response received on idle HTTP channel"

// standardLog is a log output that removes the service's bytes from lines that contain unsolicited.
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

func guardStandardLog() {
	if _, guarded := log.Writer().(standardLog); !guarded {
		log.SetOutput(standardLog{log.Writer()})
	}
}
