package simulate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// serviceFile is the file format for services: by agent, times as "200ms".
type serviceFile struct {
	Services Services `yaml:"services"`
}

// readSpan reads a span of time as Go writes it.
func readSpan(d *core.Duration, data []byte) error {
	var text string
	if err := yaml.Unmarshal(data, &text); err != nil {
		return err
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 || v > longestTime {
		return fmt.Errorf("%.40q is no span of time of up to 366 days; write it like 200ms, 3s or 10m", text)
	}
	*d = core.DurationOf(v)
	return nil
}

// share reports whether f is from 0 to 1; what is not a number (NaN) is not.
func share(f float64) bool { return f >= 0 && f <= 1 }

// longestTime bounds the times of services: the simulator adds them up.
const longestTime = 366 * 24 * time.Hour

// maxServices bounds the text of services, in bytes.
const maxServices = 256 << 10

// ParseServices reads what the services behind the agents of a workflow truly offer, from a YAML file of at
// most 256 KiB and one document. The error names every problem.
func ParseServices(data []byte, def *core.Definition) (Services, error) {
	file, err := readServices(data)
	if err != nil {
		return nil, fmt.Errorf("the services cannot be read: %w", err)
	}
	var problems []error
	for name, s := range file.Services {
		if _, known := def.Agents[name]; !known {
			problems = append(problems, fmt.Errorf("services: the workflow %s has no agent %q", def.Name,
				name))
		}
		if !slices.Contains([]core.Grade{"", core.Fenced, core.Idempotent, core.Plain}, s.Grade) {
			problems = append(problems,
				fmt.Errorf("services: %s: grade %q must be fenced, idempotent or plain", name, s.Grade))
		}
		if !share(s.Failures) || !share(s.Refusals) {
			problems = append(problems,
				fmt.Errorf("services: %s: failures and refusals are shares of the calls, 0 to 1", name))
		}
	}
	slices.SortFunc(problems,
		func(a, b error) int { return bytes.Compare([]byte(a.Error()), []byte(b.Error())) })
	return file.Services, errors.Join(problems...)
}

func readServices(data []byte) (file serviceFile, err error) {
	if len(data) > maxServices {
		return file, fmt.Errorf("the file has %d bytes, and %d are allowed", len(data), maxServices)
	}
	data = source.WithoutMark(data)
	if err := source.CheckScalars(data); err != nil {
		return file, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict(), yaml.CustomUnmarshaler(readSpan))
	if err := d.Decode(&file); err != nil {
		return file, err
	}
	var second any
	if !errors.Is(d.Decode(&second), io.EOF) {
		return file, errors.New("the file holds a second document; keep all services in the first one")
	}
	return file, nil
}
