package reference

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// columns is the length at which a page cuts a line of output. The cut line ends with cut.
const (
	columns = 110
	cut     = "…"
	// elided is a line of a page that stands for any number of lines of the output.
	elided = "..."
)

// varying matches the parts of an output that differ from run to run.
var varying = regexp.MustCompile(`\d{4}[-/]\d\d[-/]\d\d|\d\d:\d\d:\d\d(\.\d+)?|\b\d+(\.\d+)? ?(ns|µs|ms|s|m|h|d)(\d+(\.\d+)?s)?\b|` +
	`\b[0-9a-f]{32}\b|127\.0\.0\.1:\d+|\S*/stepkeeper-example-\d+|\d+ bytes|\d{8}-\d{6}-\w{4}`)

// outside matches the end of an indented block, and the first character after it.
var outside = regexp.MustCompile(`\n+\S`)

// Printed checks that a page shows what a command prints. An indented block of the page begins with the lines of
// the command, and the output is the block fenced with ```text after it. Times, durations, hashes and ports may
// differ. A line that is too long is cut, and a line `...` of the page stands for any lines. With the flag
// -update, Printed writes the output into the page.
func Printed(t *testing.T, page, command, output string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	lines := strings.ReplaceAll(command, "\n", "\n    ")
	place := regexp.MustCompile(`\n    ` + regexp.QuoteMeta(lines) + `(?: +# .*)?\n`).FindIndex(text)
	require.NotNil(t, place, "%s has no block that begins with %q", page, command)
	before := string(text[:place[1]-1])
	after := string(text[place[1]-1:])
	block, rest := cutBlock(after)
	shown, tail := fenced(rest)
	want, difference := compared(output, shown)
	if difference == "" {
		return
	}
	if !golden.FlagUpdate() {
		t.Errorf("%s: %s prints something else than the page shows (-want +page); run this test with -update:\n%s",
			page, command, difference)
		return
	}
	written := before + block + "\n\n```text\n" + strings.Join(want, "\n") + "\n```\n\n" + tail
	require.NoError(t, os.WriteFile(page, []byte(written), 0o644)) //nolint:gosec // a document
}

// cutBlock returns the rest of the indented block that a text begins with, and the text after it.
func cutBlock(text string) (block, rest string) {
	end := outside.FindStringIndex(text)
	if end == nil {
		return strings.TrimRight(text, "\n"), ""
	}
	return text[:end[0]], text[end[1]-1:]
}

// compared returns an output as a page shows it, and how the lines that the page shows differ from it.
func compared(output string, shown []string) (want []string, difference string) {
	for line := range strings.Lines(strings.Trim(output, "\n")) {
		want = append(want, shorten(line))
	}
	want = elide(want, shown)
	return want, cmp.Diff(masked(want), masked(shown))
}

// fenced returns the lines of the output that a text begins with, and the text after it.
func fenced(text string) (lines []string, rest string) {
	shown, found := strings.CutPrefix(text, "```text\n")
	if !found {
		return nil, text
	}
	shown, rest, _ = strings.Cut(shown, "\n```\n")
	return strings.Split(shown, "\n"), strings.TrimLeft(rest, "\n")
}

func shorten(line string) string {
	line = strings.TrimRight(line, " \n")
	runes := []rune(line)
	if len(runes) <= columns {
		return line
	}
	return string(runes[:columns]) + cut
}

// elide leaves out the lines of an output that the page leaves out.
func elide(output, shown []string) []string {
	head := slices.Index(shown, elided)
	if head < 0 {
		return output
	}
	tail := len(shown) - head - 1
	if head+tail > len(output) {
		return output
	}
	return slices.Concat(output[:head], []string{elided}, output[len(output)-tail:])
}

// masked returns lines without their varying parts, which make columns wider, and cut lines shorter.
func masked(lines []string) []string {
	all := make([]string, 0, len(lines))
	for _, line := range lines {
		line, isCut := strings.CutSuffix(line, cut)
		line = strings.Join(strings.Fields(varying.ReplaceAllString(line, "*")), " ")
		if isCut {
			line = line[:min(len(line), columns/2)]
		}
		all = append(all, line)
	}
	return all
}
