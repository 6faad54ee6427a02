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
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	dir     string
	env     []string
	ran     []string // lines so far
	printed strings.Builder
}

func open(t *testing.T) *terminal {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, name)))
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=",
		"GOWORK=off", "NO_COLOR=1")
	return &terminal{dir: t.TempDir(), env: append(env, "STEPKEEPER_SERVER=http://127.0.0.1:1")}
}

func (x *terminal) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = x.dir
	cmd.Env = x.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // `go run` leaves its child behind otherwise
	return cmd
}

// run executes a line and waits for its end.
func (x *terminal) run(t *testing.T, line string, wantCode int, want ...string) string {
	t.Helper()
	began := time.Now()
	x.ran = append(x.ran, line)
	cmd := x.command(line)
	var printed bytes.Buffer
	cmd.Stdout = &printed
	cmd.Stderr = &printed
	err := cmd.Start()
	if err == nil {
		late := time.AfterFunc(
			2*time.Minute,
			func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) },
		)
		err = cmd.Wait()
		late.Stop()
	}
	out := printed.Bytes()
	x.printed.Write(out)
	t.Logf("%6.1f s %s", time.Since(began).Seconds(), line)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", line, err)
	}
	require.Equal(t, wantCode, code)
	for _, w := range want {
		require.Contains(t, string(out), w)
	}
	return string(out)
}

// leave starts a line, waits until a line of its output matches, and returns the match. The program continues
// to run.
func (x *terminal) leave(t *testing.T, line string, ready *regexp.Regexp) string {
	t.Helper()
	x.ran = append(x.ran, line)
	cmd := x.command(line)
	began := time.Now()
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	})
	late := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) })
	defer late.Stop()
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
	require.NoError(t, err)
	_, block, found := strings.Cut(string(text), "\n    "+first)
	require.True(t, found)
	block, _, _ = strings.Cut(first+block, "\n\n")
	var all []string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, " # ")
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

var (
	commandLine = regexp.MustCompile(
		`(?m)^    ((?:[A-Z_]+=\S+ )*(?:stepkeeper|go|make|cd|echo|npm|npx|aws) .*)$`,
	)
	quoted = regexp.MustCompile("prints `([^`]+)`")
	// varied are the parts of a line that a test may replace.
	varied = regexp.MustCompile(`127\.0\.0\.1:\d+|--for \d+m?s?| ORDER`)
)

// covers checks that each command of a page has run, or begins with one of the words in elsewhere, and that
// the commands printed what the page says they print.
func (x *terminal) covers(t *testing.T, page string, elsewhere ...string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	ran := varied.ReplaceAllString(strings.Join(x.ran, "\n"), "")
	found := commandLine.FindAllStringSubmatch(string(text), -1)
	for _, m := range found {
		line, _, _ := strings.Cut(m[1], " # ")
		line = varied.ReplaceAllString(strings.TrimSpace(line), "")
		if !strings.Contains(ran, line) {
			require.True(t, slices.ContainsFunc(elsewhere, func(word string) bool {
				return strings.HasPrefix(line, word)
			}), "%v", m)
		}
	}
	require.NotEmpty(t, found)
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		require.Contains(t, x.printed.String(), m[1])
	}
}

func (x *terminal) edit(t *testing.T, file, old, new string) {
	t.Helper()
	path := filepath.Join(x.dir, file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, new)), 0o600))
}

var address = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

const tutorials = "../../docs/tutorials/"

// TestFirstHour runs the lines of the first two tutorials, and of the project that they make, one after the
// other. Only the ports and the wait before an undo differ.
func TestFirstHour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts processes")
	}
	x := open(t)
	steps := lines(t, tutorials+"first-order.md", "stepkeeper init")
	require.Len(t, steps, 5)
	x.run(t, steps[0]+" && pwd", 0, "wrote a project to shop")
	x.dir = filepath.Join(x.dir, "shop")
	x.run(t, "stepkeeper init", 2, "nothing was written", "is there already")
	services := free(t)
	x.edit(t, "agents.yaml", "127.0.0.1:9100", services)
	// The refund of a declined card waits until no charge can still run; the test has no half a minute.
	x.edit(t, "workflows/booking.yaml", "steps:\n",
		"agents: {seats: {queueAllowance: 1s}, payments: {queueAllowance: 1s, clockSkew: 10ms}}\nsteps:\n")
	x.edit(t, "workflows/booking.yaml", "timeout: 5s", "timeout: 1s")
	x.env = append(x.env, "STEPKEEPER_SERVER=http://"+x.leave(t, steps[2]+" --listen 127.0.0.1:0", address))
	x.run(t, strings.Replace(steps[3], "o-1", "o-0", 1), 6,
		"o-0: accepted, Error: reserve-seat: ", "could not be reached")
	x.leave(t, steps[1]+" -listen "+services, address)
	x.run(t, steps[3], 0)
	x.run(t, steps[4], 0, "o-1  Processed", "reserve-seat", "charge-card")
	x.run(t, steps[3], 0, "o-1: already there, Processed")

	declined := lines(t, "../../examples/booking/README.md", "echo ")
	x.run(t, declined[0], 6, "o-2: accepted, Compensated", "card-declined")
	x.run(t, declined[1], 0, "o-2  Compensated", "Why it was undone", "card-declined",
		"seats.release")
	tests := lines(t, "../../examples/booking/README.md", "stepkeeper workflow validate")
	x.run(t, tests[0], 0, "valid, workflow booking")
	x.run(t, tests[1]+" --seeds 20", 0, "No violation")
	x.run(t, tests[2], 0, "ok")
	x.covers(t, "../../examples/booking/README.md")
	x.covers(t, tutorials+"first-order.md")
	exitCodes(t, x)
	restore(t, x)
	firstWorkflow(t, x)
	firstAgent(t, x, services)
	x.covers(t, tutorials+"first-workflow.md")
}

// untilListed returns a line that repeats a command until its output has a text.
func untilListed(text, command string) string {
	return "timeout 60 sh -c 'until stepkeeper " + command + " 2>/dev/null | grep -q " + text +
		"; do sleep 0.1; done'"
}

// free returns an address that nothing listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// firstWorkflow runs the lines of the second tutorial in the project and on the server of the first one.
func firstWorkflow(t *testing.T, x *terminal) {
	t.Helper()
	const page = tutorials + "first-workflow.md"
	authors := lines(t, page, "stepkeeper workflow validate")
	for i, want := range []string{"valid, workflow booking", "flowchart", "json-schema.org"} {
		x.run(t, authors[i], 0, want)
	}
	next := x.leave(t, lines(t, page, "stepkeeper dev --example")[0]+" --listen 127.0.0.1:0",
		regexp.MustCompile("in another terminal: (.*)"))
	x.run(t, next, 0, "carriers-1: accepted", "carriers-1  Processing")

	served := lines(t, page, "stepkeeper dev   ")
	x.run(t, served[1]+" && "+served[2], 0, "o-7: accepted")
	x.run(t, served[3], 0, "o-0")
	x.run(t, strings.Replace(served[4], "ORDER", "o-0", 1), 0, "o-0: resubmit accepted")

	approval := lines(t, page, "workflow: booking\n    steps:\n      approve:")
	x.edit(t, "workflows/booking.yaml", "after: [reserve-seat]", "after: [approve]")
	x.edit(t, "workflows/booking.yaml", "\n  charge-card:", "\n  approve:\n    after: [reserve-seat]\n"+
		"    approval: {"+strings.Join(approval[4:], ", ")+"}\n  charge-card:")
	changed := x.run(t, authors[0]+" --output json", 0)
	_, hash, _ := strings.Cut(changed, `"hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	x.run(t, untilListed(hash, "workflow list --output json"), 0) // the server has read the changed file
	answers := lines(t, page, `echo '{"seat"`)
	x.run(t, answers[0], 0, "o-8: accepted")
	x.run(t, untilListed("o-8", "approvals"), 0)
	x.run(t, answers[1], 0, "o-8", "approve, reject", "anyone", "Charge the card?")
	x.run(t, answers[2], 0, "o-8")
	x.run(t, "stepkeeper watch o-8", 0, "Processed")

	broken := lines(t, page, "stepkeeper simulate")
	x.run(t, broken[0]+" --seeds 20", 0, "No violation")
	x.run(t, strings.Replace(broken[1], "--for 10m", "--for 1200ms", 1), 0, "No violation")
	wrong, err := filepath.Abs("../../examples/wrong-workflows")
	require.NoError(t, err)
	x.run(
		t,
		"stepkeeper simulate "+wrong+"/forgets-keys.yaml --services "+wrong+"/services/forgets-keys.yaml",
		6,
		"replay: "+broken[2],
	)
	x.run(t, broken[2], 6, "VIOLATION", "your workflow")
}

// firstAgent runs the agent of the second tutorial beside a second server, for the service at an address.
func firstAgent(t *testing.T, x *terminal, services string) {
	t.Helper()
	const page = tutorials + "first-workflow.md"
	x.run(t, lines(t, page, "stepkeeper agent new")[0], 0, "wrote the agent seats")
	x.edit(t, "agents.yaml", "  seats:\n    url: http://"+services+"/seats\n    allow: {loopback: true}\n",
		"  seats: {external: true}\n")
	server := x.leave(t, "stepkeeper dev --data second --listen 127.0.0.1:0", address)
	line := strings.Replace(lines(t, page, "cd seats")[0], "127.0.0.1:8377", server, 1)
	line = strings.Replace(line, "127.0.0.1:9100", services, 1)
	x.leave(t, line+" 2>&1", regexp.MustCompile("(takes requests)"))
	order := lines(t, tutorials+"first-order.md", "stepkeeper init")[3]
	x.run(t, strings.Replace(order, " --wait", "", 1)+" --server http://"+server, 0)
	x.run(t, untilListed("o-1", "approvals --server http://"+server), 0)
}

// TestFirstDeployment runs those lines of the third tutorial that need neither an emulator nor an account.
// TestUsersProject of localstack/integration runs most others.
func TestFirstDeployment(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	const page = tutorials + "first-deployment.md"
	x := open(t)
	added := lines(t, page, "stepkeeper init")
	x.run(t, added[0], 0, "wrote a project to shop", "aws/main.go")
	x.run(t, "stepkeeper init other", 0)
	x.dir = filepath.Join(x.dir, "other")
	x.run(t, added[1], 0, "main.go")
	x.covers(t, page, "stepkeeper aws local", "npm ci", "npx cdk", "aws ", "stepkeeper --stack shop-dev",
		"make deploy", "make smoke")
}

// restore runs the lines of docs/how-to/back-up.md that make a backup of the running server and start a
// server on it.
func restore(t *testing.T, x *terminal) {
	t.Helper()
	steps := lines(t, "../../docs/how-to/back-up.md", "stepkeeper backup")
	require.Len(t, steps, 5)
	x.run(t, steps[0], 0, "monday.db: ", "complete and checked", "keep data/token-keys.json too")
	x.run(t, steps[0], 2, "monday.db exists already")
	x.run(t, strings.Join(steps[1:4], " && "), 0)
	want := x.run(t, "stepkeeper list --output json", 0, "o-1", "o-2")
	server := x.leave(t, steps[4]+" --listen 127.0.0.1:0", address)
	require.Equal(t, want, x.run(t, "stepkeeper list --output json --server http://"+server, 0), "the restored orders are")
}

// exitCodes checks that the process returns the exit codes of docs/reference/command-line.md. A server with
// the two orders above runs.
func exitCodes(t *testing.T, x *terminal) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		line string
		want int
	}{
		{"stepkeeper --version", 0},
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
	for _, command := range []string{"--version", "show o-1", "help", "list --output json"} {
		x.run(t, "{ sleep 0.3; stepkeeper "+command+" || echo failed >&2; } | true", 0, "failed")
		if _, err := os.Stat("/dev/full"); err == nil {
			x.run(t, "stepkeeper "+command+" >/dev/full", 1, "the output could not be written")
		}
	}
}

// TestReadme installs the program and runs the example as the README says. SIGTERM ends the runtime without
// an error, within the time that the document promises. The gate runs `make demo`.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts processes")
	}
	x := open(t)
	bin := t.TempDir()
	x.env = append(x.env, "GOBIN="+bin, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	steps := lines(t, "../../README.md", "make install")
	x.dir = "../.."
	x.run(t, steps[0], 0)
	cmd := x.command("exec " + steps[1] + " --listen 127.0.0.1:0")
	x.ran = append(x.ran, steps[1])
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready := bufio.NewScanner(out)
	require.True(t, ready.Scan())
	require.True(t, strings.HasPrefix(ready.Text(), "stepkeeper dev ready on http://127.0.0.1:"), ready.Text())
	require.True(t, ready.Scan())
	_, next, _ := strings.Cut(ready.Text(), "in another terminal: ")
	x.run(t, next, 6, "Processed", "Compensated") // one of the services refuses some orders
	_, orders, _ := strings.Cut(next, "submit --wait ")
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.LessOrEqual(t, time.Since(began), 5*time.Second)
	_, err = os.Stat(filepath.Dir(orders))
	require.ErrorIs(t, err, os.ErrNotExist, "the example's folder is left")
	x.covers(t, "../../README.md")
}
