// Package process runs a program of the project as a separate process.
package process

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
)

const (
	readyPatience = 15 * time.Second
	drainTimeout  = 8 * time.Second // maximum time from SIGTERM to the end; the program needs at most 5 s
)

// ErrProcess means that the process did not start or did not stop.
var ErrProcess = errors.New("process")

// Process is a program that can be started repeatedly. The program prints a line with its address when it is
// ready.
type Process struct {
	Name   string // name for errors, such as "stepkeeper dev"
	Binary string
	Args   []string
	Env    []string // additional environment variables
	Log    string   // file for the output of the program
	// Patience is how long Start waits for the process to be ready; 0 means 15 s.
	Patience time.Duration

	present atomic.Pointer[started]
}

// started is the present process. Until the process is ready, api and url belong to the previous process.
type started struct {
	cmd    *exec.Cmd
	exited chan struct{} // channel that is closed after the process has ended
	api    *client.Client
	url    string
}

func (s *Process) now() started {
	if now := s.present.Load(); now != nil {
		return *now
	}
	return started{}
}

// Limits of the client's retries. They are low, because the caller soon tries again, perhaps with a new
// process.
const (
	callAttempts = 3
	callPatience = 2 * time.Second
)

var address = regexp.MustCompile(`https?://[0-9A-Za-z.:\[\]-]+`)

// Start starts the process and blocks until the process is ready. It returns the time that the process
// needed.
func (s *Process) Start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	// exec.CommandContext would kill the process at the end of ctx. Stop sends SIGTERM first.
	cmd := exec.Command(s.Binary, s.Args...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), s.Env...)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return 0, fmt.Errorf("%w: start %s: %w", s.err(), s.Binary, err)
	}
	ready := make(chan string, 1)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		follow(io.TeeReader(stdout, log), ready)
		_ = cmd.Wait() // A killed process leads to an error, which is expected.
		_ = log.Close()
	}()
	now := s.now()
	now.cmd = cmd
	now.exited = exited
	s.present.Store(&now)
	return s.await(ctx, began, ready, now)
}

func (s *Process) await(ctx context.Context, began time.Time, ready <-chan string, now started) (time.Duration, error) {
	limit := cmp.Or(s.Patience, readyPatience)
	select {
	case url := <-ready:
		up := time.Since(began)
		api, err := client.New(url, client.WithRetry(callAttempts, callPatience))
		if err != nil {
			return 0, errors.Join(fmt.Errorf("%w: its address: %w", s.err(), err), s.Kill())
		}
		now.api = api
		now.url = url
		s.present.Store(&now)
		return up, nil
	case <-now.exited:
		return 0, fmt.Errorf("%w: it ended before it was ready; it said:\n%s", s.err(), s.LogTail())
	case <-time.After(limit):
		return 0, errors.Join(fmt.Errorf("%w: not ready after %s; it said:\n%s", s.err(), limit, s.LogTail()),
			s.Kill())
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// follow reads the output to its end. It sends the first address in the output to ready.
func follow(stdout io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(stdout)
	for found := false; lines.Scan(); {
		if url := address.FindString(lines.Text()); url != "" && !found {
			found = true
			ready <- url
		}
	}
	// A line that is too long ends the loop. Read the rest, so that a full pipe does not block the process.
	_, _ = io.Copy(io.Discard, stdout)
}

func (s *Process) err() error { return fmt.Errorf("%w %s", ErrProcess, s.Name) }

// Pid returns the ID of the present process. It returns 0 before the first start.
func (s *Process) Pid() int {
	if cmd := s.now().cmd; cmd != nil {
		return cmd.Process.Pid
	}
	return 0
}

// URL returns the address of the present process.
func (s *Process) URL() string { return s.now().url }

// Client returns a client for the present process. The address, and so the client, changes with each start.
func (s *Process) Client() *client.Client { return s.now().api }

// Running returns a channel that is closed when the present process has ended.
func (s *Process) Running() <-chan struct{} { return s.now().exited }

// Kill kills the process with SIGKILL and waits until the process has ended.
func (s *Process) Kill() error {
	now := s.now()
	if err := now.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%w: kill: %w", s.err(), err)
	}
	<-now.exited
	return nil
}

// Stop sends SIGTERM to the process. If the process does not end in time, Stop kills it. It returns an error then, and
// if the process ends with another exit code than 0.
func (s *Process) Stop() error {
	now := s.now()
	if now.cmd == nil {
		return nil
	}
	if err := now.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return s.Kill()
	}
	select {
	case <-now.exited:
		if code := now.cmd.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("%w: ended with the exit code %d after SIGTERM", s.err(), code)
		}
		return nil
	case <-time.After(drainTimeout):
		return errors.Join(fmt.Errorf("%w: still running %s after SIGTERM", s.err(), drainTimeout), s.Kill())
	}
}

// LogTail returns the end of the log, for use in an error.
func (s *Process) LogTail() string {
	text, err := os.ReadFile(s.Log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
