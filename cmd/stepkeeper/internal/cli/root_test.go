package cli

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

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

func TestDynamicCompletion(t *testing.T) {
	b := newBackend(noon)
	asking(b)
	c := call{server: serve(t, b).URL, in: orderLine("stopped-1", "Error")}
	c.run(t, "submit", "-").want(t, failure.OK)
	complete := func(c call, line string) result {
		return c.run(t, append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
	}
	for line, want := range map[string]string{
		"list --where":                      "state=Compensated\n",
		"list --output":                     "json\n",
		"submit --workflow":                 "provision",
		"show":                              "stopped-1\tError",
		"show stopped-1":                    ":4\n",
		"resolve stopped-1":                 "charge\tFailed",
		"resolve stopped-1 charge":          "not-happened",
		"resolve stopped-1 charge happened": ":4\n",
		"answer asking":                     "approve\tWaiting",
		"answer asking approve":             ":4\n",
		"init":                              ":16\n",
		"submit":                            "jsonl\n",
		"agent new":                         ":4\n",
		"agent test --earns":                "fenced\n",
		"dev --agents":                      "yaml\nyml\n:8\n",
		"dev --data":                        ":16\n",
		"dev --log-level":                   "debug\ninfo\nwarn\nerror\n:4\n",
		"demo --report":                     "json\n:8\n",
	} {
		complete(c, line).want(t, failure.OK, want)
	}
	for _, line := range []string{"show", "answer", "answer asking", "resolve asking"} {
		r := complete(call{}, line)
		require.Equal(t, failure.OK, r.code, "without a server nothing is suggested, and nothing fails")
		require.NotContains(t, r.out, "\t", line)
	}
	require.NotContains(t, complete(c, "show stopped-1").out, "asking", "a second order is suggested")
}

// With JSON output an error is one document on standard error, also if a wrong flag or argument stands before
// --output.
func TestErrorsAsJSON(t *testing.T) {
	for line, code := range map[string]failure.Code{
		"show a --output json":                failure.Unreachable,
		"show a --colour --output json":       failure.Usage,
		"--output json shwo":                  failure.Usage,
		"show a --output json --timeout soon": failure.Usage,
		"list --limit many --output=json":     failure.Usage,
		"submit --output json":                failure.Usage,
		"dead-letters lok --output json":      failure.Usage,
		"dev --example=none --output json":    failure.Usage,
		"undo --where --output json":          failure.Usage,
	} {
		r := call{}.run(t, strings.Fields(line)...)
		docs := decodeLines(t, r.err)
		require.Equal(t, code, r.code, line)
		require.Len(t, docs, 1, line)
		require.Empty(t, r.out, line)
		e := docs[0]["error"].(map[string]any)
		require.EqualValues(t, code, e["exit"], line)
		require.Equal(t, code.Word(), e["code"], line)
		require.NotEmpty(t, e["hint"], line)
		require.NotEmpty(t, e["message"], line)
	}
	for _, line := range []string{"show a --colour", "show a --colour --output text", "show --colour -- --output json"} {
		require.Regexp(t, "^stepkeeper: ", call{}.run(t, strings.Fields(line)...).err, line)
	}
}
