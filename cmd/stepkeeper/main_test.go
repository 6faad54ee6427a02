//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

const name = "stepkeeper"

// TestMain runs the program itself if the test binary is called by the program's name, so that the tests run
// it as a user does.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == name {
		main()
	}
	os.Exit(m.Run())
}

// terminal is a shell with the program in its PATH, in a folder of its own.
type terminal struct {
	dir string
	env []string
}

func open(t *testing.T) *terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, name)); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=",
		"GOWORK=off", "NO_COLOR=1")
	return &terminal{dir: t.TempDir(), env: append(env, "STEPKEEPER_SERVER=http://127.0.0.1:1")}
}

func (x *terminal) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = x.dir, x.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // `go run` leaves its child behind otherwise
	return cmd
}

// run executes a line and waits for its end.
func (x *terminal) run(t *testing.T, line string, wantCode int, want ...string) string {
	t.Helper()
	began := time.Now()
	out, err := x.command(line).CombinedOutput()
	t.Logf("%6.1f s %s", time.Since(began).Seconds(), line)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", line, err)
	}
	if code != wantCode {
		t.Fatalf("%s: exit code %d, want %d\n%s", line, code, wantCode, out)
	}
	for _, w := range want {
		if !strings.Contains(string(out), w) {
			t.Errorf("%s: %q is missing:\n%s", line, w, out)
		}
	}
	return string(out)
}

// leave starts a line, waits until a line of its output matches, and returns the match. The program continues
// to run.
func (x *terminal) leave(t *testing.T, line string, ready *regexp.Regexp) string {
	t.Helper()
	cmd := x.command(line)
	began := time.Now()
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			t.Logf("%6.1f s %s", time.Since(began).Seconds(), line)
			return m[1]
		}
	}
	_ = cmd.Wait()
	t.Fatalf("%s: it ended before it was ready:\n%s", line, messages.String())
	return ""
}

// lines returns the lines of the block of a document that begins with a text, without comments.
func lines(t *testing.T, file, first string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "\n    "+first)
	if !found {
		t.Fatalf("%s has no block that begins with %q", file, first)
	}
	block, _, _ = strings.Cut(first+block, "\n\n")
	var all []string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, " # ")
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

func (x *terminal) edit(t *testing.T, file, old, new string) {
	t.Helper()
	path := filepath.Join(x.dir, file)
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q: %v", file, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, new)), 0o600); err != nil {
		t.Fatal(err)
	}
}

var address = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

// TestFirstHour runs the lines of the first tutorial, and of the project that they make, one after the other.
// Only the ports and the wait before an undo differ.
func TestFirstHour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts processes")
	}
	x := open(t)
	steps := lines(t, "../../docs/tutorials/first-order.md", "stepkeeper init")
	if len(steps) != 5 {
		t.Fatalf("the tutorial has %d lines: %q", len(steps), steps)
	}
	x.run(t, steps[0]+" && pwd", 0, "wrote a project to shop")
	x.dir = filepath.Join(x.dir, "shop")
	x.run(t, "stepkeeper init", 2, "nothing was written", "is there already")
	x.edit(t, "agents.yaml", "127.0.0.1:9100", x.leave(t, steps[1]+" -listen 127.0.0.1:0", address))
	// The refund of a declined card waits until no charge can be under way; the test has no half a minute.
	x.edit(t, "workflows/booking.yaml", "steps:\n",
		"agents: {seats: {queueAllowance: 1s}, payments: {queueAllowance: 1s, clockSkew: 10ms}}\nsteps:\n")
	x.edit(t, "workflows/booking.yaml", "timeout: 5s", "timeout: 1s")
	x.env = append(x.env, "STEPKEEPER_SERVER=http://"+x.leave(t, steps[2]+" --listen 127.0.0.1:0", address))
	x.run(t, steps[3], 0, "o-1: accepted, Processed")
	x.run(t, steps[4], 0, "o-1  Processed", "reserve-seat", "charge-card")
	x.run(t, steps[3], 0, "o-1: already there, Processed")

	declined := lines(t, "../../examples/booking/README.md", "echo ")
	x.run(t, declined[0], 6, "o-2: Compensated", "card-declined")
	x.run(t, declined[1], 0, "o-2  Compensated")
	tests := lines(t, "../../examples/booking/README.md", "stepkeeper workflow validate")
	x.run(t, tests[0], 0, "valid, workflow booking")
	x.run(t, tests[1]+" --seeds 20", 0, "No violation")
	x.run(t, tests[2], 0, "ok")
	firstWorkflow(t, x)
	exitCodes(t, x)
	restore(t, x)
}

// firstWorkflow runs the lines of the second tutorial in the project and on the server of the first one. It
// leaves out lines that need a stopped order, a counterexample or another folder.
func firstWorkflow(t *testing.T, x *terminal) {
	t.Helper()
	const page = "../../docs/tutorials/first-workflow.md"
	authors := lines(t, page, "stepkeeper workflow validate")
	for i, want := range []string{"valid, workflow booking", "flowchart", "json-schema.org"} {
		x.run(t, authors[i], 0, want)
	}
	served := lines(t, page, "stepkeeper dev   ")
	x.run(t, served[1]+" && "+served[2], 0, "o-7: accepted")
	x.run(t, served[3], 0)
	x.run(t, lines(t, page, "stepkeeper simulate")[0]+" --seeds 20", 0, "No violation")
}

// restore runs the lines of docs/how-to/back-up.md that make a backup of the running server and start a
// server on it.
func restore(t *testing.T, x *terminal) {
	t.Helper()
	steps := lines(t, "../../docs/how-to/back-up.md", "stepkeeper backup")
	if len(steps) != 5 {
		t.Fatalf("docs/how-to/back-up.md has %d lines: %q", len(steps), steps)
	}
	x.run(t, steps[0], 0, "monday.db: ", "complete and checked", "keep data/token-keys.json too")
	x.run(t, steps[0], 2, "monday.db is there already")
	x.run(t, strings.Join(steps[1:4], " && "), 0)
	want := x.run(t, "stepkeeper list --output json", 0, "o-1", "o-2")
	server := x.leave(t, steps[4]+" --listen 127.0.0.1:0", address)
	if got := x.run(t, "stepkeeper list --output json --server http://"+server, 0); got != want {
		t.Errorf("the restored orders are\n%swant\n%s", got, want)
	}
}

// exitCodes checks that the process returns the exit codes of docs/reference/command-line.md. A server with
// the two orders above runs.
func exitCodes(t *testing.T, x *terminal) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct {
		line string
		want int
	}{
		{"stepkeeper version", 0},
		{"stepkeeper dev --data other --listen " + taken.Addr().String(), 1},
		{"stepkeeper show", 2},
		{"stepkeeper shwo o-1", 2},
		{"stepkeeper resubmit o-1", 3},
		{"stepkeeper show o-3", 4},
		{"stepkeeper show o-1 --server http://127.0.0.1:1", 5},
		// If there are several reasons, the first of the codes 1, 5, 2, 3, 4, 6 counts, wherever it occurs.
		{"stepkeeper resubmit o-3 o-1", 3},
		{"stepkeeper resubmit o-1 o-3", 3},
		{`printf '{"seat":"1","card":"declined","price":1}\nnonsense\n' | stepkeeper submit --workflow booking --wait -`, 2},
		{`printf '%s\n' '{"schema":1,"orderId":"o-4","workflow":"booking","order":{"seat":"2","card":"declined","price":1}}' ` +
			`'{"schema":1,"orderId":"o-5","workflow":"unknown","order":{}}' | stepkeeper submit --wait -`, 3},
	} {
		x.run(t, c.line, c.want)
	}
	unwritten(t, x)
}

// unwritten checks that the program fails, as scripts expect, if its output is full or has no reader.
func unwritten(t *testing.T, x *terminal) {
	t.Helper()
	for _, command := range []string{"version", "show o-1", "help", "list --output json"} {
		x.run(t, "{ sleep 0.3; stepkeeper "+command+" || echo failed >&2; } | true", 0, "failed")
		if _, err := os.Stat("/dev/full"); err == nil {
			x.run(t, "stepkeeper "+command+" >/dev/full", 1, "the output could not be written")
		}
	}
}

// TestSignal runs the command of the README. SIGTERM ends the runtime without an error, within the time that
// the document promises.
func TestSignal(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	x := open(t)
	cmd := x.command("exec " + lines(t, "../../README.md", "make install")[1] + " --listen 127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := bufio.NewScanner(out)
	if !ready.Scan() || !strings.HasPrefix(ready.Text(), "stepkeeper dev ready on http://127.0.0.1:") ||
		!ready.Scan() {
		t.Errorf("%q", ready.Text())
	}
	_, orders, _ := strings.Cut(ready.Text(), "submit --wait ")
	if info, err := os.Stat(orders); err != nil || info.Size() == 0 {
		t.Errorf("%s: %v", ready.Text(), err)
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("it ended after %v: %v", time.Since(began), err)
	}
	if _, err := os.Stat(filepath.Dir(orders)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the example's folder is left: %v", err)
	}
}
