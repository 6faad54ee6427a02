package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
)

const (
	readyPatience = 15 * time.Second
	drainPatience = 8 * time.Second // SIGTERM ends it within 5 s
)

// stack is `stepkeeper dev` as a process of its own.
type stack struct {
	binary string
	args   []string
	log    string // file that takes its output

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when the present process has ended
	api    *client.Client
}

// Calls are repeated a few times only: whoever makes them looks again soon, at a process that may
// be another one by then.
const (
	callAttempts = 3
	callPatience = 2 * time.Second
)

var address = regexp.MustCompile(`https?://[0-9A-Za-z.:\[\]-]+`)

// start runs the process and waits until it says that it is ready. It answers how long that took.
func (s *stack) start(ctx context.Context) (time.Duration, error) {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	cmd := exec.Command(s.binary, s.args...) // not CommandContext: stop ends it, in order
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		_ = log.Close()
		return 0, fmt.Errorf("%w: start %s: %w", ErrStack, s.binary, err)
	}
	ready, exited := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(exited)
		follow(io.TeeReader(stdout, log), ready)
		_ = cmd.Wait() // it is killed, as a rule
		_ = log.Close()
	}()
	s.mu.Lock()
	s.cmd, s.exited = cmd, exited
	s.mu.Unlock()
	return s.await(ctx, began, ready, exited)
}

func (s *stack) await(ctx context.Context, began time.Time, ready <-chan string, exited <-chan struct{}) (time.Duration, error) {
	patience := time.NewTimer(readyPatience)
	defer patience.Stop()
	select {
	case url := <-ready:
		up := time.Since(began)
		api, err := client.New(url, client.WithRetry(callAttempts, callPatience))
		if err != nil {
			return 0, errors.Join(fmt.Errorf("%w: its address: %w", ErrStack, err), s.kill())
		}
		s.mu.Lock()
		s.api = api
		s.mu.Unlock()
		return up, nil
	case <-exited:
		return 0, fmt.Errorf("%w: it ended before it was ready; it said:\n%s", ErrStack, s.lastWords())
	case <-patience.C:
		return 0, errors.Join(fmt.Errorf("%w: not ready after %s; it said:\n%s", ErrStack, readyPatience, s.lastWords()), s.kill())
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// follow reads the output to its end; the first line with an address in it says "ready".
func follow(stdout io.Reader, ready chan<- string) {
	lines := bufio.NewScanner(stdout)
	for found := false; lines.Scan(); {
		if url := address.FindString(lines.Text()); url != "" && !found {
			found = true
			ready <- url
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // a line too long must not block the process
}

// client talks to the present process; each has an address of its own.
func (s *stack) client() *client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.api
}

// running is closed when the present process has ended.
func (s *stack) running() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exited
}

// kill ends the process as a power cut would (SIGKILL), and waits until it is gone.
func (s *stack) kill() error {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("%w: kill: %w", ErrStack, err)
	}
	<-exited
	return nil
}

// stop asks the process to end (SIGTERM) and kills it if it does not.
func (s *stack) stop() error {
	s.mu.Lock()
	cmd, exited := s.cmd, s.exited
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return s.kill()
	}
	patience := time.NewTimer(drainPatience)
	defer patience.Stop()
	select {
	case <-exited:
		return nil
	case <-patience.C:
		return errors.Join(fmt.Errorf("%w: still running %s after SIGTERM", ErrStack, drainPatience), s.kill())
	}
}

// lastWords is the end of the log, for an error.
func (s *stack) lastWords() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}
