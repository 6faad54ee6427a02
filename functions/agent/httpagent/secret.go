package httpagent

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// Secret is a text that may refer to variables, as in ${env:NAME}, and so hold a secret. Only its JSON contains the
// text, until the values of variables are filled in, so that the references can be stored.
type Secret struct {
	text   string
	filled bool
}

// UnmarshalYAML reads a text. With UnmarshalText alone, the library returns no helpful error for a list.
func (s *Secret) UnmarshalYAML(read func(any) error) error { return read(&s.text) }

// UnmarshalText sets the text.
func (s *Secret) UnmarshalText(text []byte) error {
	s.text = string(text)
	return nil
}

// IsZero reports whether the text is empty.
func (s Secret) IsZero() bool { return s.text == "" }

// String returns [hidden].
func (s Secret) String() string { return redact.Hidden }

// GoString returns [hidden].
func (s Secret) GoString() string { return redact.Hidden }

// LogValue returns [hidden].
func (s Secret) LogValue() slog.Value { return slog.StringValue(redact.Hidden) }

// MarshalText returns the text, or [hidden] after the values are filled in.
func (s Secret) MarshalText() ([]byte, error) {
	if s.filled {
		return []byte(redact.Hidden), nil
	}
	return []byte(s.text), nil
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// fill replaces references to variables by values from lookup, and returns these values.
func (s *Secret) fill(lookup func(string) (string, bool)) (values []string, err error) {
	s.text, values, err = Fill(s.text, lookup)
	s.filled = true
	return values, err
}

// Fill replaces references to variables, as in ${env:NAME}, by values from lookup, and returns these values too.
func Fill(text string, lookup func(string) (string, bool)) (filled string, values []string, err error) {
	filled = variable.ReplaceAllStringFunc(text, func(ref string) string {
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
		if strings.TrimRight(value, "\r\n") != value && !strings.HasPrefix(value, "-----BEGIN ") {
			err = fmt.Errorf("the value of %s ends with a line break; store it without one", name)
			return ""
		}
		values = append(values, value)
		return value
	})
	return filled, values, err
}

// secretsOfURL returns the secret parts of the variables' values in a URL. The scheme and host are not
// secret, because error texts may name them. If a value is a whole address, only the part after the
// host is secret.
func secretsOfURL(filled Secret, values []string) (secrets []string) {
	host := ""
	if u, err := url.Parse(filled.text); err == nil {
		host = u.Scheme + "://" + u.Host
	}
	for _, v := range values {
		if _, after, whole := strings.Cut(v, "://"); whole {
			_, path, _ := strings.Cut(after, "/")
			v = strings.Trim(path, "/")
		}
		if !strings.Contains(host, v) {
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
