package httpagent

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// Agent configures the calls of one service. The package comment describes the fields.
type Agent struct {
	URL         Secret            `yaml:"url" json:"url,omitzero"`
	Concurrency int               `yaml:"concurrency" json:"concurrency,omitzero"`
	Timeout     time.Duration     `yaml:"timeout" json:"timeout,omitzero"`
	MaxResponse Size              `yaml:"maxResponse" json:"maxResponse,omitzero"`
	Insecure    bool              `yaml:"insecure" json:"insecure,omitzero"`
	Headers     map[string]Secret `yaml:"headers" json:"headers,omitzero"`
	Allow       Allow             `yaml:"allow" json:"allow,omitzero"`
	Auth        *Auth             `yaml:"auth" json:"auth,omitzero"`
	// address of the proxy; "" means no proxy, even if the environment names a proxy
	Proxy Secret `yaml:"proxy" json:"proxy,omitzero"`
	// classes of statuses, for all operations
	Classify Classify `yaml:"classify" json:"classify,omitempty"`

	redact *redact.Redactor // nil until the values of variables are filled in
}

// Operation configures the calls of one operation.
type Operation struct {
	Method string `yaml:"method" json:"method,omitzero"` // default POST
	Path   string `yaml:"path" json:"path,omitzero"`     // default /{operation}
	// "json" (default): the response must be JSON or empty; "ignore": any response
	Output string `yaml:"output" json:"output,omitzero"`
	Check  *Check `yaml:"check" json:"check,omitzero"`

	Classify Classify `yaml:"classify" json:"classify,omitempty"` // takes precedence over Agent.Classify
}

// Check configures the request that asks the service whether an operation has happened.
type Check struct {
	Method string `yaml:"method" json:"method,omitzero"` // default GET
	Path   string `yaml:"path" json:"path,omitzero"`
}

// Allow sets which addresses the agent may call.
type Allow struct {
	// allowed hosts of the URL; empty means any
	Hosts            []string `yaml:"hosts" json:"hosts,omitzero"`
	Loopback         bool     `yaml:"loopback" json:"loopback,omitzero"`
	PrivateAddresses bool     `yaml:"privateAddresses" json:"privateAddresses,omitzero"`
}

// Size is a number of bytes, written like "64KiB", "1MiB" or 4096.
type Size int64

// UnmarshalYAML reads a size.
func (s *Size) UnmarshalYAML(read func(any) error) error {
	var word string
	if err := read(&word); err != nil {
		return err
	}
	number := word
	unit := int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if cut, found := strings.CutSuffix(word, suffix); found {
			number = strings.TrimSpace(cut)
			unit = bytes
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%.40q is no size; write one like 64KiB or 65536", word)
	}
	*s = Size(n * unit)
	return nil
}
