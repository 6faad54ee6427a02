//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/reference"
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
	said    string            // output of the program that was left running last
	took    time.Duration     // time of the lines so far
	here    map[string]string // addresses and folders of the test, and those of the pages instead
}

func open(t *testing.T) *terminal {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, name)))
	env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=",
		"GOWORK=off", "NO_COLOR=1")
	return &terminal{
		dir: t.TempDir(), env: append(env, "STEPKEEPER_SERVER=http://127.0.0.1:1"), here: map[string]string{},
	}
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
	x.took += time.Since(began)
	t.Logf("%6.1f s %s", time.Since(began).Seconds(), line)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		t.Fatalf("%s: %v", line, err)
	}
	require.Equal(t, wantCode, code, "%s", out)
	for _, w := range want {
		require.Contains(t, string(out), w)
	}
	return string(out)
}

// shows runs a line of a page as run does, and checks that the page shows what it prints.
func (x *terminal) shows(t *testing.T, page, line string, wantCode int) string {
	t.Helper()
	out := x.run(t, line, wantCode)
	x.recorded(t, page, line, out)
	return out
}

// recorded checks that a page shows what a line printed. It writes addresses and folders as the page does.
func (x *terminal) recorded(t *testing.T, page, line, out string) {
	t.Helper()
	for here, there := range x.here {
		out = strings.ReplaceAll(out, here, there)
	}
	reference.Printed(t, page, line, out)
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
	x.said = ""
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
		x.said += lines.Text() + "\n"
		if m := ready.FindStringSubmatch(lines.Text()); m != nil {
			x.took += time.Since(began)
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

// firstSubmit is the line of the first tutorial that submits its order.
const firstSubmit = "stepkeeper submit --workflow booking --id o-1 --wait order.json"

var minutes = regexp.MustCompile(`It takes (?:about )?(\d+) minutes`)

// told logs how long the lines so far took, beside the time that a tutorial names for reading and typing.
func (x *terminal) told(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	m := minutes.FindSubmatch(text)
	require.NotNil(t, m, "%s names no time", page)
	t.Logf("%s: its commands took %.1f of %s minutes", page, x.took.Minutes(), m[1])
	x.took = 0
}

// TestFirstHour runs the lines of the first two tutorials, and of the project that they make, one after the
// other. Only the ports and the wait before an undo differ.
func TestFirstHour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts processes")
	}
	x := open(t)
	const page = tutorials + "first-order.md"
	x.shows(t, page, "stepkeeper init shop", 0)
	x.run(t, "cd shop && pwd", 0)
	x.dir = filepath.Join(x.dir, "shop")
	x.run(t, "stepkeeper init", 2, "nothing was written", "is there already")
	services := free(t)
	x.here[services] = "127.0.0.1:9100"
	x.edit(t, "agents.yaml", "127.0.0.1:9100", services)
	// The refund of a declined card waits until no charge can still run; the test has no half a minute.
	x.edit(t, "workflows/booking.yaml", "steps:\n",
		"agents: {seats: {queueAllowance: 1s}, payments: {queueAllowance: 1s, clockSkew: 10ms}}\nsteps:\n")
	x.edit(t, "workflows/booking.yaml", "timeout: 5s", "timeout: 1s")
	server := x.leave(t, "stepkeeper dev --listen 127.0.0.1:0", address)
	x.here[server] = "127.0.0.1:8377"
	x.recorded(t, page, "stepkeeper dev", x.said)
	x.env = append(x.env, "STEPKEEPER_SERVER=http://"+server)
	down := " --server http://" + x.leave(t, "stepkeeper dev --data down --listen 127.0.0.1:0", address)
	x.run(t, strings.Replace(firstSubmit, "o-1", "o-0", 1)+down, 6,
		"o-0: accepted, Error: reserve-seat: ", "could not be reached")
	x.leave(t, "go run ./services -listen "+services, address)
	x.recorded(t, page, "go run ./services", x.said)
	x.run(t, "stepkeeper resubmit o-0"+down, 0, "o-0: resubmit accepted")
	x.shows(t, page, firstSubmit, 0)
	x.shows(t, page, "stepkeeper show o-1", 0)
	x.shows(t, page, strings.Replace(firstSubmit, " --wait", "", 1), 0)

	declined := lines(t, "../../examples/booking/README.md", "echo ")
	x.shows(t, page, declined[0], 6)
	x.shows(t, page, declined[1], 0)
	tests := lines(t, "../../examples/booking/README.md", "stepkeeper workflow validate")
	x.run(t, tests[0], 0, "valid, workflow booking")
	x.run(t, tests[1]+" --seeds 20", 0, "No violation")
	x.run(t, tests[2], 0, "ok")
	x.covers(t, "../../examples/booking/README.md")
	x.covers(t, page, "go install ./cmd/stepkeeper") // TestReadme runs it
	x.told(t, page)
	firstWorkflow(t, x)
	exitCodes(t, x)
	restore(t, x)
	approved(t, x)
	firstAgent(t, x, services)
	x.covers(t, tutorials+"first-workflow.md")
	x.told(t, tutorials+"first-workflow.md")
}

// untilListed returns a line that repeats a command until its output has a text.
// atDefault returns what an example prints if it listens on the default address instead of server.
func atDefault(said, server string) string {
	return strings.ReplaceAll(strings.Replace(said, " --server "+server, "", 1), server, "http://127.0.0.1:8377")
}

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

const validateAll = "stepkeeper workflow validate workflows/*.yaml"

// firstWorkflow runs the lines of the second tutorial in the project and on the server of the first one.
func firstWorkflow(t *testing.T, x *terminal) {
	t.Helper()
	const page = tutorials + "first-workflow.md"
	x.shows(t, page, validateAll, 0)
	x.shows(t, page, "stepkeeper workflow graph workflows/booking.yaml", 0)
	x.shows(t, page, "stepkeeper workflow schema", 0)
	const example = "stepkeeper dev --example=carriers"
	next := x.leave(t, example+" --listen 127.0.0.1:0", regexp.MustCompile("in another terminal: (.*)"))
	server := address.FindString(x.said)
	x.recorded(t, page, example, atDefault(x.said, server))
	x.run(t, next, 0, "carriers-1: accepted", "carriers-1  Processing")

	served := lines(t, page, `echo '{"schema"`)
	x.recorded(t, page, strings.Join(served, "\n"), x.run(t, served[0]+" && "+served[1], 0, "o-7: accepted"))
	x.shows(t, page, "stepkeeper list --where state=Compensated", 0)
}

// approved runs the lines of the second tutorial that let a person approve, and search for faults.
func approved(t *testing.T, x *terminal) {
	t.Helper()
	const page = tutorials + "first-workflow.md"
	approval := lines(t, page, "workflow: booking\n    steps:\n      approve:")
	x.edit(t, "workflows/booking.yaml", "after: [reserve-seat]", "after: [approve]")
	x.edit(t, "workflows/booking.yaml", "\n  charge-card:", "\n  approve:\n    after: [reserve-seat]\n"+
		"    approval: {"+strings.Join(approval[4:], ", ")+"}\n  charge-card:")
	changed := x.run(t, validateAll+" --output json", 0)
	_, hash, _ := strings.Cut(changed, `"hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	x.run(t, untilListed(hash, "workflow list --output json"), 0) // the server has read the changed file
	x.shows(t, page, lines(t, page, `echo '{"seat"`)[0], 0)
	x.run(t, untilListed("o-8", "approvals"), 0)
	x.shows(t, page, "stepkeeper approvals", 0)
	answer := lines(t, page, "stepkeeper answer")
	x.recorded(t, page, strings.Join(answer, "\n"), x.run(t, answer[0]+" && "+answer[1], 0, "Processed"))

	const simulate = "stepkeeper simulate workflows/booking.yaml --order order.json --answer approve=approve"
	x.shows(t, page, simulate+" --seeds 20", 0)
	x.run(t, simulate+" --for 1200ms --faults crash-after,fresh-copy", 0, "No violation")
	wrong, err := filepath.Abs("../../examples/wrong-workflows")
	require.NoError(t, err)
	x.run(
		t,
		"stepkeeper simulate "+wrong+"/forgets-keys.yaml --services "+wrong+"/services/forgets-keys.yaml",
		6,
		"replay: stepkeeper simulate --replay counterexample.json",
	)
	x.shows(t, page, "stepkeeper simulate --replay counterexample.json", 6)
}

// firstAgent runs the agent of the second tutorial beside a second server, for the service at an address.
func firstAgent(t *testing.T, x *terminal, services string) {
	t.Helper()
	const page = tutorials + "first-workflow.md"
	x.shows(t, page, lines(t, page, "stepkeeper agent new")[0], 0)
	x.edit(t, "agents.yaml", "  seats:\n    url: http://"+services+"/seats\n    allow: {loopback: true}\n",
		"  seats: {external: true}\n")
	server := x.leave(t, "stepkeeper dev --data second --listen 127.0.0.1:0", address)
	// The agent starts late: it gets a repeated request too.
	x.run(t, strings.Replace(firstSubmit, " --wait", "", 1)+" --server http://"+server, 0)
	x.run(t, untilListed(`"attempt 2"`, "show o-1 --server http://"+server), 0)
	line := strings.Replace(lines(t, page, "cd seats")[0], "127.0.0.1:8377", server, 1)
	line = strings.Replace(line, "127.0.0.1:9100", services, 1)
	x.leave(t, line+" 2>&1", regexp.MustCompile("(takes requests)"))
	x.recorded(t, page, lines(t, page, "cd seats")[0], x.said)
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
	x.shows(t, page, "stepkeeper init shop --aws", 0)
	x.run(t, "stepkeeper init other", 0)
	x.dir = filepath.Join(x.dir, "other")
	x.shows(t, page, "stepkeeper init --aws", 0)
	x.covers(t, page, "stepkeeper aws local", "npm ci", "npx cdk", "aws ", "stepkeeper --stack shop-dev",
		"make deploy", "make smoke")
	x.told(t, page)
}

// restore runs the lines of docs/how-to/back-up.md that make a backup of the running server and start a
// server on it.
func restore(t *testing.T, x *terminal) {
	t.Helper()
	const page = "../../docs/how-to/back-up.md"
	const backup = "stepkeeper backup monday.db"
	x.shows(t, page, backup, 0)
	x.run(t, backup, 2, "monday.db exists already")
	steps := lines(t, page, "mkdir")
	require.Len(t, steps, 4)
	x.run(t, strings.Join(steps[:3], " && "), 0)
	want := x.run(t, "stepkeeper list --output json", 0, "o-1", "o-2")
	server := x.leave(t, steps[3]+" --listen 127.0.0.1:0", address)
	x.here[server] = "127.0.0.1:8377"
	x.recorded(t, page, strings.Join(steps, "\n"), x.said)
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
	const page = "../../README.md"
	const example = "stepkeeper dev --example"
	x.dir = "../.."
	x.run(t, lines(t, page, "go install")[0], 0)
	cmd := x.command("exec " + example + " --listen 127.0.0.1:0")
	x.ran = append(x.ran, example)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready := bufio.NewScanner(out)
	require.True(t, ready.Scan())
	said := ready.Text() + "\n"
	require.True(t, ready.Scan())
	said += ready.Text() + "\n"
	server := address.FindString(said)
	x.recorded(t, page, example, atDefault(said, server))
	_, next, _ := strings.Cut(ready.Text(), "in another terminal: ")
	x.run(t, next, 6, "Processed", "Compensated") // one of the services refuses some orders
	_, orders, _ := strings.Cut(next, "submit --wait ")
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
	require.LessOrEqual(t, time.Since(began), 5*time.Second)
	_, err = os.Stat(filepath.Dir(orders))
	require.ErrorIs(t, err, os.ErrNotExist, "the example's folder is left")
	x.covers(t, page)
}

// The example removes its folder when its terminal is closed. Under nohup, it goes on until it is told to end.
func TestClosedTerminal(t *testing.T) {
	const dev = "exec stepkeeper dev --example --listen 127.0.0.1:0"
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // a child then has the default, also if these tests run under nohup
	defer signal.Stop(caught)
	for line, end := range map[string]syscall.Signal{dev: syscall.SIGHUP, "trap '' HUP; " + dev: syscall.SIGTERM} {
		folder := t.TempDir()
		cmd := open(t).command(line)
		cmd.Env = append(cmd.Env, "TMPDIR="+folder)
		out, err := cmd.StdoutPipe()
		require.NoError(t, errors.Join(err, cmd.Start()))
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		_, err = bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
		if end != syscall.SIGHUP {
			time.Sleep(100 * time.Millisecond)
			require.NotEmpty(t, entries(t, folder), "it has ended, although the signal was ignored before")
			require.NoError(t, cmd.Process.Signal(end))
		}
		require.NoError(t, cmd.Wait())
		require.Empty(t, entries(t, folder))
	}
}

func entries(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	return all
}
