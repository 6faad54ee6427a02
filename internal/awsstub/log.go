package awsstub

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Log collects the log lines of a function, in the format of Lambda's logs.
type Log struct {
	*slog.Logger
	t   *testing.T
	mu  sync.Mutex
	out bytes.Buffer
}

// NewLog returns a log for the test.
func NewLog(t *testing.T) *Log {
	l := &Log{t: t}
	l.Logger = slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{ReplaceAttr: lambdacontext.ReplaceAttr}))
	return l
}

// Write adds a line to the log.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

// Lines returns the lines since the last call of Lines, oldest first. It reports a test error for a line that
// is not JSON. It also reports a repeated key, because JSON readers keep only one of the values.
func (l *Log) Lines() []map[string]any {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []map[string]any
	for line := range strings.Lines(l.out.String()) {
		values := map[string]any{}
		d := json.NewDecoder(strings.NewReader(line))
		_, err := d.Token()
		for err == nil && d.More() {
			var key json.Token
			var value any
			key, err = d.Token()
			if err == nil {
				err = d.Decode(&value)
			}
			name, _ := key.(string)
			if _, twice := values[name]; twice {
				l.t.Errorf("the key %s stands twice in the line %s", name, line)
			}
			values[name] = value
		}
		if err != nil {
			l.t.Errorf("%v: %s", err, line)
		}
		lines = append(lines, values)
	}
	l.out.Reset()
	return lines
}

// About returns the only line whose message contains the text. The test fails if there is no such line or
// more than one.
func About(t *testing.T, lines []map[string]any, text string) map[string]any {
	t.Helper()
	var found []map[string]any
	for _, line := range lines {
		if message, _ := line["message"].(string); strings.Contains(message, text) {
			found = append(found, line)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d lines say %q: %v", len(found), text, lines)
	}
	return found[0]
}
