package httpagent

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// Config is the file of agents.
type Config struct {
	Agents map[string]Agent `yaml:"agents"`
}

// Agent is one remote service and how it is called. See the package comment.
type Agent struct {
	URL         Secret               `yaml:"url"`
	External    bool                 `yaml:"external"`
	Concurrency int                  `yaml:"concurrency"`
	Batch       int                  `yaml:"batch"`
	Timeout     time.Duration        `yaml:"timeout"`
	MaxResponse Size                 `yaml:"maxResponse"`
	Insecure    bool                 `yaml:"insecure"`
	Headers     map[string]Secret    `yaml:"headers"`
	Operations  map[string]Operation `yaml:"operations"`
	Allow       Allow                `yaml:"allow"`
	Retry       Retry                `yaml:"retry"`
	Breaker     Breaker              `yaml:"breaker"`

	// redact cuts the values from the environment out of a text. A function, because fmt prints
	// unexported fields past all their methods.
	redact func(text string) string
}

// Operation is how one operation is called.
type Operation struct {
	Method string `yaml:"method"` // default POST
	Path   string `yaml:"path"`   // default /{operation}
	Output string `yaml:"output"` // "json" (default): the answer must be JSON, or empty; "ignore": whatever it is
	Check  *Check `yaml:"check"`
}

// Check is how the service is asked whether an operation has happened.
type Check struct {
	Method string `yaml:"method"` // default GET
	Path   string `yaml:"path"`
}

// Allow says which addresses may be called.
type Allow struct {
	Hosts            []string `yaml:"hosts"` // names of the url's host; none: any
	Loopback         bool     `yaml:"loopback"`
	PrivateAddresses bool     `yaml:"privateAddresses"`
}

// Retry is worker.Retry in the file.
type Retry struct {
	Tries   int           `yaml:"tries"`
	Initial time.Duration `yaml:"initial"`
	Max     time.Duration `yaml:"max"`
	Jitter  float64       `yaml:"jitter"`
}

// Breaker is worker.Breaker in the file.
type Breaker struct {
	Off      bool          `yaml:"off"`
	Failures int           `yaml:"failures"`
	Window   int           `yaml:"window"`
	Delay    time.Duration `yaml:"delay"`
	Probes   int           `yaml:"probes"`
}

// WorkerRetry is what a worker.Config takes.
func (a Agent) WorkerRetry() worker.Retry { return worker.Retry(a.Retry) }

// WorkerBreaker is what a worker.Config takes.
func (a Agent) WorkerBreaker() worker.Breaker { return worker.Breaker(a.Breaker) }

// Size is a number of bytes, written like "64KiB", "1MiB" or 4096.
type Size int64

// UnmarshalYAML reads a size.
func (s *Size) UnmarshalYAML(text []byte) error {
	word := strings.Trim(strings.TrimSpace(string(text)), `"'`)
	number, unit := word, int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if cut, found := strings.CutSuffix(word, suffix); found {
			number, unit = strings.TrimSpace(cut), bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%.40q is no size; write one like 64KiB or 65536", word)
	}
	*s = Size(n * unit)
	return nil
}
