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

// Variables are the variables that references in the settings stand for.
type Variables struct {
	Lookup func(name string) (string, bool)
	// Unknown reports whether a variable gets its value later. An address with such a variable becomes an example, so
	// that the rest of the settings can be checked. Unknown may be nil.
	Unknown func(name string) bool
	// Secrets means that the unknown variables are secrets. They cannot name a resource of AWS, because the agent's
	// permissions name it.
	Secrets bool
}

// unknown stands for a value that comes later. An error may show it.
const unknown = "a value that is not known yet"

func (s *Secret) fill(v Variables, example string) (values []string, err error) {
	s.text, values, err = v.Fill(s.text, example)
	s.filled = true
	return values, err
}

// Fill replaces references to variables, as in ${env:NAME}, by their values, and returns these values too. If a value
// is unknown, it returns the example, unless that is "".
func (v Variables) Fill(text, example string) (filled string, values []string, err error) {
	filled = variable.ReplaceAllStringFunc(text, func(ref string) string {
		name, isEnv := strings.CutPrefix(ref[2:len(ref)-1], "env:")
		if !isEnv || name == "" {
			err = fmt.Errorf("%s is not known; write ${env:NAME}", ref)
			return ""
		}
		value := unknown
		set := v.Unknown != nil && v.Unknown(name)
		if !set {
			value, set = v.Lookup(name)
		}
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
	if slices.Contains(values, unknown) && example != "" {
		filled = example
	}
	return filled, values, err
}

// References returns the names of the variables in texts with references.
func References(text string) (names []string) {
	for _, ref := range variable.FindAllStringSubmatch(text, -1) {
		if name, isEnv := strings.CutPrefix(ref[1], "env:"); isEnv {
			names = append(names, name)
		}
	}
	return names
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
