package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// function is the deployed name of a function, by the start of its ID in the template.
func (s *site) function(t *testing.T, id string) string {
	t.Helper()
	// Names are <stack>-<ID>-<random>; the ID ends in a hash of the CDK's.
	out, err := s.lambdaNames(t.Context())
	require.NoError(t, err)
	for _, name := range out {
		if strings.HasPrefix(name, s.assembly.Stack+"-Engine"+id) {
			return name
		}
	}
	t.Fatalf("no function %s among %v", id, out)
	return ""
}

// kill ends all processes of a function by SIGKILL: in mid-call, with no time to say anything. It
// answers how many there were.
func kill(function string) (int, error) {
	killed := 0
	places, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return 0, err
	}
	for _, place := range places {
		data, err := os.ReadFile(place)
		if err != nil || !strings.Contains("\x00"+string(data), "\x00AWS_LAMBDA_FUNCTION_NAME="+function+
			"\x00") {
			continue // another's process, or one that has just ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(place)))
		if err != nil {
			return killed, err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if killed > 0 {
		return killed, nil
	}
	return killContainers(function)
}

// killedInMidCall submits the order and kills the processes of a function while the first call of the step is
// inside its service, which answers at release. It answers how many processes there were.
func (o *order) killedInMidCall(step, function string) (killed int, release func()) {
	o.t.Helper()
	inside := make(chan struct{})
	released := make(chan struct{})
	o.s.remote.on(o.id, step, "do", func(n int, _ call) (int, string) {
		if n == 1 {
			close(inside)
			<-released
		}
		return done()
	})
	o.submit()
	select {
	case <-inside:
	case <-time.After(rescued): // the first order of a deployment starts its functions
		close(released)
		o.t.Fatal("the service was not called")
	}
	killed, err := kill(o.s.function(o.t, function))
	if err != nil {
		close(released)
		o.t.Fatal(err)
	}
	return killed, func() { close(released) }
}

// killContainers does the same where LocalStack runs in Docker: it names a function's containers
// after the function.
func killContainers(function string) (int, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return 0, fmt.Errorf("function %s has no process on this machine", function)
	}
	out, err := exec.Command("docker", "ps", "--quiet", "--filter",
		"name="+strings.ToLower(function)).Output()
	ids := strings.Fields(string(out))
	if err != nil || len(ids) == 0 {
		return 0, fmt.Errorf("function %s has neither a process nor a container: %w", function, err)
	}
	return len(ids), exec.Command("docker", append([]string{"kill"}, ids...)...).Run()
}
