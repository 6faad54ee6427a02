package embedded_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/internal/reference"
)

const callsPage = "../../docs/how-to/http-orders.md"

var fence = regexp.MustCompile("(?ms)^```.*?^```$")

// blocks returns the indented blocks of the page.
func blocks(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(callsPage)
	require.NoError(t, err)
	for _, part := range strings.Split(fence.ReplaceAllString(string(text), ""), "\n\n") {
		if strings.HasPrefix(part, "    ") {
			all = append(all, strings.ReplaceAll(part[4:], "\n    ", "\n")+"\n")
		}
	}
	return all
}

// statusesOfSubmission returns what the page says that the first and the repeated submission of an order get.
func statusesOfSubmission(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(callsPage)
	require.NoError(t, err)
	found := regexp.MustCompile(`response is (\d{3}), once[^.]*\. The same order again gets (\d{3})`).
		FindSubmatch(text)
	require.Len(t, found, 3)
	return []string{string(found[1]), string(found[2])}
}

// Each call of the page about HTTP does what the page says, with the workflow of the page.
func TestCallsOfThePage(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	all := blocks(t)
	w := &fixture{t: t, options: embedded.Options{Data: t.TempDir(), Workflows: t.TempDir()}}
	page := filepath.Join(w.options.Workflows, "purchase.yaml")
	require.NoError(t, os.WriteFile(page, []byte(all[0]), 0o600))
	server, _ := w.run()
	want := []string{
		`"orderId":"p-1","known":false`, `"orderId":"p-3","accepted":true`, `"question":"Pay?"`,
		`"id":"approval-17","command":"answer","accepted":true`,
		`"id":"evt-77","command":"answer","accepted":true`, `"state":"Processed","ended":true`,
		`"state":"Processed","ended":true`, `"id":"cancel-p-2","command":"cancel","accepted":true`,
	}
	require.Len(t, all, len(want)+1, "blocks of the page")
	statuses := statusesOfSubmission(t)
	call := func(lines string) ([]byte, error) {
		lines = strings.ReplaceAll(lines, "http://127.0.0.1:8377", server.Address)
		return exec.CommandContext(t.Context(), "bash", "-c", lines).Output()
	}
	for i, block := range all[1:] {
		// Following does not end by itself.
		lines := strings.ReplaceAll(block, "--no-buffer", "--no-buffer --max-time 2")
		out, err := call(lines)
		if lines == block {
			require.NoError(t, err, "%s\n%s", block, out)
		}
		require.Contains(t, string(out), want[i], block)
		reference.Printed(t, callsPage, strings.TrimSpace(block), string(out))
	}
	submission := strings.Replace(all[1], "--fail-with-body", "--fail-with-body --write-out '%{http_code}'", 1)
	again, err := call(submission)
	require.NoError(t, err)
	require.Contains(t, string(again), `"known":true`)
	require.Equal(t, statuses[1], string(again[len(again)-3:]))
	first, err := call(strings.Replace(submission, "p-1", "p-4", 1))
	require.NoError(t, err)
	require.Contains(t, string(first), `"known":false`)
	require.Equal(t, statuses[0], string(first[len(first)-3:]))
}
