package deployment

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Lookup returns the value of an environment variable, as os.LookupEnv does.
type Lookup func(name string) (value string, set bool)

// reader reads environment variables and collects all problems.
type reader struct {
	lookup   Lookup
	process  bool // true if a user sets the variables; false if the deployment sets them
	problems []error
}

func (r *reader) wrong(name, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s "+format, append([]any{name}, args...)...))
}

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	if r.process {
		return fmt.Errorf("the environment does not say where the agent belongs; set:\n%w",
			errors.Join(r.problems...))
	}
	return fmt.Errorf("the environment is not as the deployment writes it; deploy again, or set:\n%w",
		errors.Join(r.problems...))
}

func (r *reader) optional(name string) string {
	value, _ := r.lookup(name)
	return strings.TrimSpace(value)
}

func (r *reader) required(name string) string {
	value := r.optional(name)
	if value == "" {
		r.wrong(name, "is not set")
	}
	return value
}

func (r *reader) whole(name string, least, most int) int {
	text := r.required(name)
	if text == "" {
		return least
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		r.wrong(name, "is %.40q; it must be a whole number from %d to %d", text, least, most)
		return least
	}
	return n
}

func (r *reader) duration(name string, least, most time.Duration) time.Duration {
	text := r.optional(name)
	if text == "" {
		return 0
	}
	parsed, ok := core.ParseDuration(text)
	d := parsed.Std()
	if !ok || d < least || d > most {
		r.wrong(name, "is %.40q; it must be a time from %s to %s", text, least, most)
		return 0
	}
	return d
}

func (r *reader) truth(name string) bool {
	switch text := r.optional(name); text {
	case "", "false":
	case "true":
		return true
	default:
		r.wrong(name, "is %.40q; it must be true or false", text)
	}
	return false
}

func (r *reader) object(name string, required bool, into any) {
	text := r.optional(name)
	if text == "" {
		if required {
			r.wrong(name, "is not set")
		}
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.wrong(name, "is no JSON object of the form expected: %v", err)
	}
}

// urls reads a JSON object that maps logical names to queues, and returns the queue URLs. The logical names
// in needed must be present. A value of the object is the URL or the name of a queue. A queue given by name
// belongs to the account and Region of the queue with the URL beside. If beside is "", urls uses the intake
// queue instead.
func (r *reader) urls(name string, required bool, beside string, needed ...string) map[string]string {
	urls := map[string]string{}
	before := len(r.problems)
	r.object(name, required, &urls)
	if len(r.problems) > before {
		return urls
	}
	for _, logical := range needed {
		if urls[logical] == "" {
			r.wrong(name, "lacks the queue %q", logical)
		}
	}
	for _, logical := range slices.Sorted(maps.Keys(urls)) {
		if urls[logical] != "" {
			urls[logical] = r.place(name, logical, urls[logical], cmp.Or(beside, urls[port.Intake]))
		}
	}
	return urls
}

// place returns the URL of a queue. The parameter given is the URL or the name of the queue. A queue given by
// name belongs to the account and Region of the queue with the URL beside. For VarReplyTo, the parameter
// given may also be the ARN of an event bus, which place returns unchanged.
func (r *reader) place(variable, logical, given, beside string) string {
	bus := strings.HasPrefix(given, "arn:") && strings.Contains(given, ":event-bus/")
	switch {
	case isURL(given), bus && variable == VarReplyTo:
		return given
	case queueName.MatchString(given) && isURL(beside):
		return beside[:strings.LastIndexByte(beside, '/')+1] + given
	}
	r.wrong(variable, "has %.200q for the queue %q; it must be the URL of a queue, or for a reply-to the ARN of an "+
		"event bus", given, logical)
	return given
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

func isURL(text string) bool {
	return (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) &&
		!strings.HasSuffix(text, "/")
}

func (r *reader) ledger() string {
	table := r.optional(VarLedger)
	if strings.ContainsAny(table, `/\`) && !strings.HasPrefix(table, "arn:") {
		r.wrong(VarLedger, "is %.200q; it must be the name of a DynamoDB table; for a folder on this "+
			"machine set %s", table, VarLedgerFolder)
	}
	return table
}

// beside returns the path in a variable. If the variable is not set, the result is the file or folder named
// place in the folder of the Lambda function.
func (r *reader) beside(name, place string) string {
	if value := r.optional(name); value != "" {
		return value
	}
	root := r.optional(varRoot)
	if root == "" {
		r.wrong(name, "is not set, and neither is %s, where Lambda puts the function", varRoot)
	}
	return filepath.Join(root, place)
}

// instance returns a short name of this process. A claimed step stores this name in the field LockedBy. The
// name is the end of the log stream's name, so that an operator can find the log of the process.
func (r *reader) instance() string {
	stream := r.optional(varStream)
	if stream == "" {
		return "local"
	}
	return stream[max(0, len(stream)-instanceLength):]
}

// instanceLength is the maximum length of a process name. It is short, because every step in flight stores
// the name.
const instanceLength = 8
