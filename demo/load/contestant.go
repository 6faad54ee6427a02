package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const most = 10_000_000

type response struct {
	Result
	Error string `json:"error,omitempty"`
}

// Serve reads one request from each line of its input and runs the measurement. It writes one line with the
// result. Serve returns at the end of the input, or after a line that is not a request. The function order
// runs the order with the given ID until the order has ended.
func Serve(in io.Reader, out io.Writer, order func(id string) error) error {
	lines := bufio.NewScanner(in)
	w := json.NewEncoder(out)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("line %q is no request: %w", lines.Text(), err)
		}
		if r.Orders < 1 || r.Orders > most || r.Concurrency < 1 || r.Concurrency > most {
			return fmt.Errorf("line %q: orders and concurrency are between 1 and %d", lines.Text(), most)
		}
		got, err := Run(context.Background(), r, func(i int) error { return order(r.ID(i)) })
		a := response{Result: got}
		if err != nil {
			a.Error = err.Error()
		}
		if err := w.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Contestant is a process that runs Serve.
type Contestant struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

var goSettings = []string{"GOGC=", "GOMEMLIMIT=", "GODEBUG=", "GOMAXPROCS="}

// Start starts a contestant. The process inherits the environment of this process, except for the variables
// in goSettings. Start adds the variables in env. Close ends the process. If ctx ends first, the process is
// killed.
func Start(ctx context.Context, env []string, program string, args ...string) (*Contestant, error) {
	//nolint:gosec // the program of the benchmark's own flags
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc(goSettings, func(s string) bool { return strings.HasPrefix(v, s) })
	}), env...)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 5 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &Contestant{cmd: cmd, in: in, out: bufio.NewScanner(out)}, nil
}

// Measure sends one request and blocks until the result arrives.
func (c *Contestant) Measure(r Request) (Result, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return Result{}, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return Result{}, fmt.Errorf("%s: %w", c.cmd.Path, err)
	}
	if !c.out.Scan() {
		return Result{}, fmt.Errorf("%s ended without a result: %w", c.cmd.Path,
			errors.Join(c.out.Err(), c.Close()))
	}
	var got response
	if err := json.Unmarshal(c.out.Bytes(), &got); err != nil {
		return Result{}, fmt.Errorf("%s wrote %q: %w", c.cmd.Path, c.out.Text(), err)
	}
	if got.Error != "" {
		return Result{}, fmt.Errorf("%s: %s", c.cmd.Path, got.Error)
	}
	return got.Result, nil
}

// PID returns the ID of the process.
func (c *Contestant) PID() int { return c.cmd.Process.Pid }

// Close closes the input of the process and waits until the process has ended. If the process takes too long,
// Close kills it.
func (c *Contestant) Close() error {
	_ = c.in.Close() // The process may have ended already.
	late := time.AfterFunc(30*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	return c.cmd.Wait()
}
