package integration

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var build = sync.OnceValues(func() (string, error) {
	program := os.Getenv("STEPKEEPER_PROGRAM")
	if program != "" { // make has built it
		return program, nil
	}
	file := filepath.Join(deployed.dir, "stepkeeper")
	out, err := exec.Command("go", "build", "-o", file, "../../cmd/stepkeeper").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return file, nil
})

// program runs the program against the deployed stack. It returns the exit code and all that was printed.
func (s *site) program(t *testing.T, in string, args []string) (int, string) {
	t.Helper()
	program, err := build()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), rescued)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append(args, "--stack", s.assembly.Stack, "--region",
		s.config.Region)...)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+*s.config.BaseEndpoint)
	cmd.Stdin = strings.NewReader(in)
	out, _ := cmd.CombinedOutput() // the exit code is returned
	return cmd.ProcessState.ExitCode(), string(out)
}

// cli runs the program against the deployed stack, and checks its exit code and what it says.
func (s *site) cli(t *testing.T, in string, code int, args []string, wants ...string) {
	t.Helper()
	var got int
	var out string
	waitFor(t, "stepkeeper "+args[0], func() bool {
		got, out = s.program(t, in, args)
		// Another test may have looked at a dead letter since the list was read, which hides it for a while.
		return got == code || !strings.Contains(out, "another one looks at it")
	})
	require.Equal(t, code, got)
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("stepkeeper %s does not say %q:\n%s", strings.Join(args, " "), want, out)
		}
	}
}

func (o *order) line() string { return strings.ReplaceAll(o.body, "\n", " ") + "\n" }

// The exit codes that docs/reference/command-line.md promises.
const (
	ok           = 0
	refusedByIt  = 3
	notFound     = 4
	notProcessed = 6
)

// The commands of the command line, each one with an order of its own.
func TestCommandLine(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	submit := []string{"submit", "--wait", "-"}
	for name, test := range map[string]func(t *testing.T){
		"submit": func(t *testing.T) {
			// Its services know keys: a call to a plain one that this machine is slow to answer stays in doubt.
			o := s.newOrder(t, "calm")
			s.cli(t, o.line(), ok, submit, o.id+": accepted, Processed")
			s.cli(t, o.line(), ok, submit, "Processed") // again is harmless
			s.cli(t, strings.Replace(o.line(), "MUG-01", "MUG-02", 1), refusedByIt, submit, "other content")
			s.cli(t, "", ok, []string{"show", o.id}, "link-2", "Processed")
			s.cli(t, "", ok, []string{"watch", o.id}, "Processed")
			s.cli(t, "", notFound, []string{"show", "tpyo"}, "there is no order tpyo")
			s.cli(t, "", refusedByIt, []string{"cancel", o.id}, "cancel refused")
		},
		"resubmit": func(t *testing.T) {
			o := s.newOrder(t, "stopping")
			s.remote.on(o.id, "settle", "do", func(n int, _ call) (int, string) {
				if n == 1 {
					return refused()
				}
				return done()
			})
			s.cli(t, o.line(), notProcessed, submit, o.id+": accepted, Error")
			// it is listed once its end has been reported
			waitFor(t, "order in the list of those in Error", func() bool {
				_, out := s.program(t, "", []string{"list", "--where", "state=Error"})
				return strings.Contains(out, o.id)
			})
			s.cli(t, "", ok, []string{"resubmit", o.id}, "resubmit accepted")
			s.cli(t, "", ok, []string{"watch", o.id}, "Processed")
		},
		"cancel": func(t *testing.T) {
			o := s.newOrder(t, "stopping")
			s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return down() })
			s.cli(t, o.line(), ok, []string{"submit", "-"}, "accepted (queued)")
			o.until(soon, "call", func() bool { return len(s.remote.of(o.id, "")) > 0 })
			s.cli(t, "", ok, []string{"cancel", o.id}, "cancel accepted")
			s.cli(t, "", notProcessed, []string{"watch", o.id}, "Cancelled")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
