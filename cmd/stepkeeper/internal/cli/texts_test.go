package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"
)

// TestHelp compares the help of every command with the recorded text. Each command and each flag explains itself.
func TestHelp(t *testing.T) {
	var all strings.Builder
	for _, c := range commands(t) {
		path := strings.Fields(c.CommandPath())[1:]
		r := call{}.run(t, append([]string{"help"}, path...)...)
		fmt.Fprintf(&all, "$ stepkeeper help %s\n%s%s\n", strings.Join(path, " "), r.out, r.err)
		require.Equal(t, r, call{}.run(t, append(path, "--help")...))
		require.NotEmpty(t, c.Short, c.CommandPath())
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() {
			require.NotEmpty(t, c.Long, "the description of %s", c.CommandPath())
			require.NotEmpty(t, c.Example, "the example of %s", c.CommandPath())
		}
		if c.HasParent() && c.HasSubCommands() {
			require.Equal(t, r, call{}.run(t, path...), "a group alone explains itself")
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, f.Usage, "--%s of %s", f.Name, c.CommandPath())
			require.Contains(t, r.out, "--"+f.Name, c.CommandPath())
		})
	}
	golden.Assert(t, all.String(), "help.txt")
}

// recorded makes the calls of a file again, which stand in its lines with a prompt, and compares the file with what
// they print now. A call that is added without its output gets it by -update.
func recorded(t *testing.T, file string, run func(line string) result) {
	t.Helper()
	var all strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^\$ stepkeeper (.*)$`).FindAllStringSubmatch(read(t, "testdata/"+file), -1) {
		r := run(m[1])
		fmt.Fprintf(&all, "%s\n%s%sexit %d\n\n", m[0], strings.ReplaceAll(r.out, "\x1b", "ESC"),
			strings.ReplaceAll(r.err, "\x1b", "ESC"), r.code)
	}
	golden.Assert(t, all.String(), file)
}

// TestRefusedCallsSayWhatToDo: the error of a wrong call states what to do, and nothing is sent.
func TestRefusedCallsSayWhatToDo(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	asking(b)
	c := call{server: serve(t, b).URL}
	recorded(t, "wrong-calls.txt", func(line string) result { return c.run(t, wordsOf(t, line)...) })
	require.Empty(t, b.Commands, "commands were sent")
}

// TestOutputOfSuccessfulCalls compares the output of successful calls, as text, as JSON, and as text at a terminal.
func TestOutputOfSuccessfulCalls(t *testing.T) {
	c := call{server: serve(t, filled()).URL, in: "{}"} // no command changes an order of the fake
	recorded(t, "good-calls.txt", func(line string) result {
		c := c
		line, c.terminal = strings.CutSuffix(line, " at a terminal")
		return c.run(t, wordsOf(t, line)...)
	})
}
