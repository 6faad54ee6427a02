// Package stage contains the parts that the demo and the soak test share. These are the remote services,
// Stepkeeper as a process, the application's record of its orders, the operator, and the audit of the services'
// ledgers.
package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
)

// Stage holds the remote services (Fleet) and the Stepkeeper process (Engine) of one run.
type Stage struct {
	Dir    string
	Fleet  *services.Fleet
	Engine *process.Process

	mu       sync.Mutex
	killed   bool
	restarts []Restart
	waiting  time.Time // end of the last restart; zero after the next call of a service
}

// Restart holds the durations of a restart after a kill, in milliseconds.
type Restart struct {
	Ready int64 `json:"ready"` // time that the start took
	// AtWork is the time from the end of the start to the first call of a service. It is nil if there was no
	// call.
	AtWork *int64 `json:"atWork,omitempty"`
}

// New starts the services and prepares the engine. The engine runs `stepkeeper dev` with the workflows and the
// file agents.yaml. The caller must write agents.yaml to the folder before Start.
func New(ctx context.Context, dir, binary, workflows string, o services.Options) (*Stage, error) {
	s := &Stage{Dir: dir}
	s.Engine = &process.Process{
		Name: "stepkeeper dev", Binary: binary, Log: s.File("stepkeeper.log"),
		Args: []string{
			"dev", "--data", s.File("data"), "--listen", "127.0.0.1:0",
			"--workflows", workflows, "--agents", s.File("agents.yaml"),
		},
	}
	o.Dir = s.File("services")
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.Fleet, err = services.Start(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("is the folder %s left from another run? %w", dir, err)
	}
	return s, nil
}

// File returns the path of a file in the folder of the run.
func (s *Stage) File(name string) string { return filepath.Join(s.Dir, name) }

// Start starts the engine and returns the time that the start took.
func (s *Stage) Start(ctx context.Context) (time.Duration, error) {
	up, err := s.Engine.Start(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.killed {
		s.restarts = append(s.restarts, Restart{Ready: up.Milliseconds()})
		s.killed = false
		s.waiting = time.Now()
	}
	return up, err
}

// Kill kills the engine. The next Start then counts as a restart.
func (s *Stage) Kill() error {
	if err := s.Engine.Kill(); err != nil {
		return err
	}
	s.Fleet.Mark()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	return nil
}

// AtWork reports whether the engine has called a service since the last restart. It also records the time
// from the restart to the first call.
func (s *Stage) AtWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.Fleet.FirstCall(); ok && !s.waiting.IsZero() {
		ms := max(0, first.Sub(s.waiting).Milliseconds())
		s.restarts[len(s.restarts)-1].AtWork = &ms
		s.waiting = time.Time{}
	}
	return s.waiting.IsZero()
}

// Restarts returns all restarts after a kill.
func (s *Stage) Restarts() []Restart {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Restart{}, s.restarts...)
}

// Audit waits until the last calls of the services have ended, and then audits the ledgers.
func (s *Stage) Audit(ctx context.Context, orders []audit.Order) (audit.Result, error) {
	if err := s.Fleet.Drain(ctx); err != nil {
		return audit.Result{}, fmt.Errorf("wait for the last calls at the services: %w", err)
	}
	result, err := audit.Run(s.Fleet.Ledger, orders)
	if err != nil {
		return result, fmt.Errorf("audit: %w", err)
	}
	return result, nil
}

// Folder returns the folder for a run, and a function that removes a temporary folder. If the parameter
// given is "", the folder is temporary.
func Folder(given, prefix string) (dir string, remove func() error, err error) {
	if given != "" {
		return given, func() error { return nil }, os.MkdirAll(given, 0o755)
	}
	dir, err = os.MkdirTemp("", prefix)
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// Write writes a report to a file as JSON.
func Write(path string, report any) error {
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
