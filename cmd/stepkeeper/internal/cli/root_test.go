package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	s, _ := streams.Test(false)
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(Root(app.New(s, os.Getenv)))
	require.GreaterOrEqual(t, len(all), 18)
	return all
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands(t) {
		if !c.IsAvailableCommand() && c.Name() != "exit-codes" && c.HasParent() {
			continue // cobra's own, hidden
		}
		require.NotEmpty(t, c.Short, c.CommandPath())
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() {
			require.NotEmpty(t, c.Long, "the description of %s", c.CommandPath())
			require.NotEmpty(t, c.Example, "the example of %s", c.CommandPath())
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		r := call{}.run(t, args...)
		r.want(t, failure.OK)
		require.GreaterOrEqual(t, len(r.out), 100, c.CommandPath())
		require.Empty(t, r.err, c.CommandPath())
	}
}

// TestFewCommands: the program has at most 40 commands, of which a person can keep an overview.
func TestFewCommands(t *testing.T) {
	var all []string
	for _, c := range commands(t) {
		if c.Runnable() && !c.HasSubCommands() && c.Name() != "help" {
			all = append(all, c.CommandPath())
		}
	}
	require.LessOrEqual(t, len(all), 40, "%v", all)
}

// TestFlagsBelongToTheirCommands: only commands that reach a server or a stack have the flags that select one.
func TestFlagsBelongToTheirCommands(t *testing.T) {
	for _, line := range []string{
		"agent validate agents.yaml --stack x", "aws pause --server http://x", "aws template --stack x",
		"backup a.db --server http://x", "demo --timeout 1s", "dev --stack x", "init --region x",
		"simulate x.yaml --server http://x", "workflow graph x.yaml --stack nosuch", "workflow schema --server ftp://zz",
		"workflow validate x.yaml --timeout 1s", "console --timeout 1s", "--stack Shop workflow schema",
	} {
		call{}.run(t, strings.Fields(line)...).want(t, failure.Usage, "unknown flag: --")
	}
	call{}.run(t, "--server", "http://127.0.0.1:1", "show", "a").want(t, failure.Unreachable)
	call{}.run(t, "--server", "http://127.0.0.1:1", "dead-letters", "list").want(t, failure.Unreachable)
}

func TestHelpNamesExitCodes(t *testing.T) {
	r := call{}.run(t, "help", "exit-codes")
	r.want(t, failure.OK, "5  the server cannot be reached", "6  an order ended otherwise")
	for code := failure.OK; code <= failure.NotProcessed; code++ {
		require.Contains(t, r.out, fmt.Sprintf("\n  %d  ", code))
	}
}

var meaning = regexp.MustCompile(`(?m)^  (\d)  (.*)$`)

func TestCommandLineDocument(t *testing.T) {
	data, err := os.ReadFile("../../../../docs/reference/command-line.md")
	require.NoError(t, err)
	page := strings.Join(strings.Fields(string(data)), " ") // the page wraps its lines
	for _, c := range commands(t) {
		if c.Runnable() && c.HasParent() && !c.HasSubCommands() {
			require.Contains(t, page, "`"+c.CommandPath())
		}
	}
	for _, m := range meaning.FindAllStringSubmatch(call{}.run(t, "help", "exit-codes").out, -1) {
		require.Contains(t, page, m[2])
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := call{}.run(t, "completion", shell)
		r.want(t, failure.OK, "stepkeeper")
		require.GreaterOrEqual(t, len(r.out), 1000, shell)
	}
}

func TestDynamicCompletion(t *testing.T) {
	b := newBackend(noon)
	asking(b)
	server := serve(t, b).URL
	call{
		server: server,
		in:     `{"schema":1,"orderId":"stopped-1","workflow":"order","order":{"end":"Error"}}`,
	}.run(t, "submit",
		"-").want(t, failure.OK)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "--where", ""}, "state=Compensated\n"},
		{[]string{"list", "--output", ""}, "json\n"},
		{[]string{"submit", "--workflow", ""}, "provision"},
		{[]string{"show", ""}, "stopped-1\tError"},
		{[]string{"resolve", "stopped-1", ""}, "charge\tFailed"},
		{[]string{"resolve", "stopped-1", "charge", ""}, "not-happened"},
		{[]string{"resolve", "stopped-1", "charge", "happened", ""}, ":4\n"},
		{[]string{"show", "stopped-1", ""}, ":4\n"},
		{[]string{"answer", ""}, "asking\tProcessing"},
		{[]string{"answer", "asking", ""}, "approve\tWaiting"},
		{[]string{"answer", "asking", "approve", ""}, ":4\n"},
		{[]string{"init", ""}, ":16\n"},
		{[]string{"workflow", "validate", ""}, "yaml\n"},
		{[]string{"submit", ""}, "jsonl\n"},
		{[]string{"agent", "new", "--dir", ""}, ":16\n"},
		{[]string{"agent", "validate", ""}, "yaml\n"},
		{[]string{"agent", "new", "--module-dir", ""}, ":16\n"},
		{[]string{"agent", "test", "--earns", ""}, "fenced\n"},
		{[]string{"demo", "--report", ""}, "json\n:8\n"},
		{[]string{"dev", "--agents", ""}, "yaml\nyml\n:8\n"},
		{[]string{"dev", "--data", ""}, ":16\n"},
		{[]string{"dev", "--workflows", ""}, ":16\n"},
		{[]string{"dev", "--log-level", ""}, "debug\ninfo\nwarn\nerror\n:4\n"},
		{[]string{"dev", "--log-format", ""}, "text\njson\n:4\n"},
		{[]string{"simulate", "--order", ""}, "json\n:8\n"},
		{[]string{"simulate", "--replay", ""}, "json\n:8\n"},
		{[]string{"simulate", "--services", ""}, "yaml\nyml\n:8\n"},
		{[]string{"doctor", "--order", ""}, "json\njsonl\n:8\n"},
		{[]string{"workflow", "validate", "--agents", ""}, "yaml\nyml\n:8\n"},
		{[]string{"workflow", "validate", "--order", ""}, "json\n:8\n"},
	} {
		call{server: server}.run(t, append([]string{"__complete"}, c.args...)...).want(t, failure.OK, c.want)
	}
	for _, args := range [][]string{
		{"show", ""},
		{"answer", ""},
		{"answer", "asking", ""},
		{"resolve", "asking", ""},
	} {
		r := (call{}).run(t, append([]string{"__complete"}, args...)...)
		require.Equal(t, failure.OK, r.code, "without a server nothing is suggested, and nothing fails")
		require.NotContains(t, r.out, "\t", "%v", args)
	}
	require.NotContains(t, (call{server: server}).run(t, "__complete", "show", "stopped-1", "").out, "asking", "a second order is suggested")
}

// TestRefusedCallsSayWhatToDo has the whole errors of more wrong calls.
func TestWrongCalls(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"shwo", "x"}, []string{`no command "shwo"`, "did you mean `stepkeeper show`?"}},
		{[]string{"workflow", "valdate"}, []string{"did you mean `stepkeeper workflow validate`?"}},
		{[]string{"nonsense"}, []string{"see `stepkeeper --help`"}},
		{[]string{"completion", "tcsh"}, []string{`no completions for "tcsh"`, "bash, zsh, fish or powershell"}},
		{[]string{"help", "nonsense"}, []string{`no command "nonsense"`}},
		{[]string{"help", "workflow", "valdate"}, []string{"did you mean `stepkeeper workflow validate`?"}},
		{[]string{"show", "../etc/passwd"}, []string{"is no order's ID"}},
		{[]string{"show", strings.Repeat("x", 129)}, []string{"is no order's ID"}},
		{[]string{"show", "a\x1b[2J"}, []string{"is no order's ID"}},
		{
			[]string{"show", "a", "--colour"},
			[]string{"unknown flag: --colour", "see `stepkeeper show --help`"},
		},
		{[]string{"show", "a", "--output", "xml"}, []string{"--output json"}},
		{[]string{"show", "a", "--timeout", "-1s"}, []string{"out of range"}},
		{[]string{"show", "a", "--timeout", "soon"}, []string{`--timeout cannot be "soon"`, "give a time like", "7d"}},
		{[]string{"simulate", "a.yaml", "--orders", "many"}, []string{
			`--orders cannot be "many"`,
			"give a whole number",
		}},
		{[]string{"simulate", "a.yaml", "--seed", "-1"}, []string{`--seed cannot be "-1"`, "a whole number from 0"}},
		{[]string{"simulate", "a.yaml", "--for", "x"}, []string{`--for cannot be "x"`, "give a time like"}},
		{[]string{"undo", "a", "--yes=perhaps"}, []string{`--yes cannot be "perhaps"`, "true or false"}},
		{[]string{"show", "a", "--server", "localhost"}, []string{"cannot be used", "http://127.0.0.1:8377"}},
		{[]string{"show", "a", "--server", "ftp://localhost"}, []string{"cannot be used"}},
		{[]string{"list", "--where", "state=Done"}, []string{`no state "Done"`, "Compensated"}},
		{[]string{"list", "extra"}, []string{"no arguments"}},
		{[]string{"watch", "--interval", "0s"}, []string{"out of range"}},
		{[]string{"submit", "--id", "x", "-"}, []string{"--id is for a bare order"}},
		{[]string{"submit", "--workflow", "order", "--id", "a b", "-"}, []string{"is no order's ID"}},
		{[]string{"submit", "."}, []string{"is a directory"}},
		{[]string{"undo", "a", "b", "--command", "3"}, []string{"--command belongs to one order"}},
		{[]string{"resubmit", "a", "--deadline", "tomorrow"}, []string{"neither a time nor a duration"}},
		{[]string{"resolve", "a", "charge"}, []string{"what happened"}},
		{[]string{"resolve", "a", "charge", "perhaps"}, []string{"happened, not-happened, undone"}},
		{
			[]string{"dev", "--listen", "0.0.0.0:8377"},
			[]string{"other machines could reach it", "127.0.0.1:8377"},
		},
		{[]string{"dev", "--listen", "8377"}, []string{"is not an address"}},
		{[]string{"dev", "--listen", "127.0.0.1:99999"}, []string{"is not an address"}},
		{[]string{"dev", "--listen", "localhost:http"}, []string{"is not an address"}},
		{[]string{"dev", "--listen", "example.com:80"}, []string{"other machines could reach it"}},
		{[]string{"dev", "--sweep-every", "-1s"}, []string{"out of range"}},
		{[]string{"agent", "new", "No Good"}, []string{"is not an agent's name"}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			call{}.run(t, c.args...).want(t, failure.Usage, c.want...)
		})
	}
}

func TestMissingFiles(t *testing.T) {
	for _, args := range [][]string{
		{"submit", "no-such.jsonl"},
		{"workflow", "validate", "no-such.yaml"},
		{"workflow", "graph", "no-such.yaml"},
		{"dev", "--workflows", "no-such"},
		{"dev", "--workflows", ".", "--agents", "no-such.yaml"},
	} {
		call{}.run(t, args...).want(t, failure.NotFound, "no-such")
	}
}

func TestErrorsAsJSON(t *testing.T) {
	r := call{}.run(t, "show", "a", "--output", "json")
	r.want(t, failure.Unreachable)
	docs := decodeLines(t, r.err)
	require.Len(t, docs, 1, "want one document on standard error")
	require.Empty(t, r.out)
	e := docs[0]["error"].(map[string]any)
	require.EqualValues(t, 5, e["exit"])
	require.Equal(t, "unreachable", e["code"])
	require.NotEmpty(t, e["hint"])
	require.Contains(t, e["message"].(string), "127.0.0.1:1")
}

// With JSON output, a wrong flag or argument at any place is reported as one document too.
func TestUsageErrorsAsJSON(t *testing.T) {
	for _, line := range []string{
		"show a --colour --output json", "show --output=json", "--output json shwo",
		"show a --output json --timeout soon",
		"list --limit many --output=json", "submit --output json", "dead-letters lok --output json",
		"dev --example=none --output json",
		"undo --where --output json",
	} {
		r := call{}.run(t, strings.Fields(line)...)
		docs := decodeLines(t, r.err)
		require.Equal(t, failure.Usage, r.code, line)
		require.Len(t, docs, 1, line)
		require.NotNil(t, docs[0]["error"], line)
		require.Empty(t, r.out, line)
	}
	for _, line := range []string{
		"show a --colour", "show a --colour --output text",
		"show --colour -- --output json",
	} {
		require.Regexp(t, "^stepkeeper: ", call{}.run(t, strings.Fields(line)...).err, line)
	}
}

func TestVersion(t *testing.T) {
	call{}.run(t, "--version").want(t, failure.OK, "stepkeeper ", "go1.")
	built := app.Version{
		Version: "v1.2.3", Commit: "abc", Time: "2026-01-02T03:04:05Z", Go: "go1.26",
		Platform: "linux/amd64",
	}
	require.Equal(t, "stepkeeper v1.2.3\ncommit abc (2026-01-02T03:04:05Z)\ngo1.26 "+
		"linux/amd64\n", built.String())
	r := call{}.run(t, "--version", "--output", "json")
	v := decodeLines(t, r.out)
	require.Len(t, v, 1)
	require.NotEmpty(t, v[0]["go"])
	require.NotEmpty(t, v[0]["version"])
}

// full is an output that takes nothing, such as a closed pipe.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// The reader gets the whole output, or the command fails. A command that continued after a failed write would
// never end in this test.
func TestOutputThatCannotBeWritten(t *testing.T) {
	c := call{server: serve(t, filled()).URL, out: full{}, in: orderLine("o-9", "")}
	for _, line := range strings.Split(strings.TrimSpace(printing), "\n") {
		for _, flags := range [][]string{{"--output", "json"}, {}} {
			r := c.run(t, append(strings.Fields(line), flags...)...)
			require.Equal(t, failure.General, r.code, line)
			require.Contains(t, r.err, "the output could not be written", line)
		}
	}
	for _, line := range []string{
		"", "help", "help exit-codes", "--help", "--version", "dead-letters",
		"completion bash", "submit --help",
	} {
		c.run(t, strings.Fields(line)...).want(t, failure.General, "the output could not be written")
	}
}

// filled has an order in each state.
func filled() *backend {
	b := newBackend(noon)
	fill(b)
	asking(b)
	return b
}

const printing = `
--version
list
show stopped
watch --interval 10ms
watch processed
schedules
approvals
workflow list
workflow validate ../../../../examples/order/order.yaml
workflow graph ../../../../examples/order/order.yaml
workflow schema
doctor
submit -
cancel running
undo processed --yes
resubmit stopped
answer asking approve yes --by ann
simulate ../../../../examples/order/order.yaml --seeds 1
`

// TestEveryFlagIsExplained: the help of a command has each of its flags, with a text.
func TestEveryFlagIsExplained(t *testing.T) {
	for _, c := range commands(t) {
		page := call{}.run(t, append(strings.Fields(c.CommandPath())[1:], "--help")...).out
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			require.NotEmpty(t, f.Usage, "--%s of %s", f.Name, c.CommandPath())
			require.Contains(t, page, "--"+f.Name, c.CommandPath())
		})
	}
}
