package cli

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/author"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

const buggy = `
workflow: pair
agents:
  shop: {queueAllowance: 5s}
steps:
  reserve:
    agent: shop
    operation: reserve
    input: {of: "${ order.n }"}
    timeout: 5s
    onFailure: undo
    undo: release
    grade: fenced
  charge:
    after: [reserve]
    agent: shop
    operation: charge
    input: {amount: "${ order.amount.value }"}
    timeout: 5s
    onFailure: stop
    undo: refund
    grade: fenced
`

// opened starts the real runtime on a folder of workflows, as `dev` does.
func opened(t *testing.T, folder string) (server string, end func()) {
	t.Helper()
	stack, err := embedded.Open(t.Context(), embedded.Options{
		Data: filepath.Join(folder, "data"), Workflows: filepath.Join(folder, "workflows"),
		Operations: map[string]worker.Operations{"shop": {worker.AnyOperation: {
			Run: func(context.Context, worker.Call) (any, error) {
				return map[string]bool{"ok": true}, nil
			},
		}}},
	})
	require.NoError(t, err)
	s := httptest.NewServer(api.New(api.Config{Backend: stack}))
	return s.URL, func() {
		s.Close()
		if err := stack.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A bug in the workflow stops an order. After the file is fixed and the server restarted, `show` reports that
// the order still runs the old definition. After a move it continues with the fixed one (P49).
func TestOrderGoesOnWithTheFixedWorkflow(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "workflows"), 0o700))
	deploy := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "workflows", "pair.yaml"), []byte(text),
			0o600))
	}
	deploy(buggy)
	server, end := opened(t, folder)
	c := call{server: server}
	c.run(t, "submit", "--workflow", "pair", "--id", "one", "--wait",
		write(t, "order.json", `{"n":1}`)).want(t, failure.NotProcessed, "Error")
	require.NotContains(t, c.run(t, "show", "one").out, "older definition", "nothing else is deployed")
	end()
	deploy(strings.Replace(buggy, "order.amount.value", "order.n", 1))
	server, end = opened(t, folder)
	defer end()
	c = call{server: server}
	require.Contains(t, get(t, server+"/v1/workflows/none"), `no workflow \"none\" is deployed; check the name`)
	c.run(t, "show", "one").want(t, failure.OK, "it is pinned to an older definition of its workflow",
		"resubmit one --definition latest", "move one --definition latest --dry-run")
	c.run(t, "move", "one", "--definition", "latest", "--dry-run").want(t, failure.OK,
		"step charge: its input changed (allowed)")
	c.run(t, "resubmit", "one", "--definition", "latest", "--dry-run").want(t, failure.OK,
		"step charge: its input changed (allowed)")
	c.run(t, "show", "one").want(t, failure.OK, "command 0", "older definition") // a dry run changes nothing
	c.run(t, "resubmit", "one").want(t, failure.OK)
	c.run(t, "watch", "one").want(t, failure.NotProcessed, "Error")
	c.run(t, "resubmit", "one", "--definition", someHash).want(t, failure.Refused,
		"no definition with the hash")
	c.run(t, "resubmit", "one", "--definition", "latest").want(t, failure.OK, "one: resubmit accepted")
	c.run(t, "watch", "one").want(t, failure.OK, "Processed")
	r := c.run(t, "show", "one")
	require.NotContains(t, r.out, "older definition", "it was moved")
	require.Contains(t, r.out, "command 3")
}

// A report is printed although its tape cannot be written: hours of search may have found it.
func TestReportOfAMoveWithoutItsTape(t *testing.T) {
	s, b := streams.Test(false)
	o := &orderCommand{app: app.New(s, func(string) string { return "" }), ids: []string{"one"}}
	require.NoError(t, o.app.Root().ParseFlags([]string{"--output", "json"}))
	err := o.each(t.Context(), func(context.Context, *client.Client, string) (verdictLine, error) {
		return verdictLine{Report: &author.Simulated{Statement: "broken"}}, os.ErrPermission
	})
	require.ErrorIs(t, err, os.ErrPermission)
	require.Contains(t, b.Out.String(), `"statement":"broken"`)
}

// A move can be simulated first. The simulation finds a definition with which the order would stop again,
// before anything is moved.
func TestMoveIsSimulatedFirst(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.Mkdir("workflows", 0o700))
	deploy := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join("workflows", "pair.yaml"), []byte(text), 0o600))
	}
	deploy(buggy)
	server, end := opened(t, folder)
	c := call{server: server}
	c.run(t, "submit", "--workflow", "pair", "--id", "one", "--wait",
		write(t, "order.json", `{"n":1}`)).want(t, failure.NotProcessed, "Error")
	end() // its end is reported now
	_, end = opened(t, folder)
	again := strings.Replace(buggy, "order.amount.value", "steps.reserve.output.amount.value", 1)
	fixed := strings.Replace(buggy, "order.amount.value", "order.n", 1)
	const stops = "with nothing going wrong an order does not end Processed: step charge failed"
	end()
	deploy(again)
	server, end = opened(t, folder)
	c = call{server: server}
	c.run(t, "move", "one", "--definition", "latest", "--simulate").want(t, failure.NotProcessed, stops,
		"one: move refused: it is not moved")
	c.run(t, "show", "one").want(t, failure.OK, "command 0")
	c.run(t, "move", "one", "--definition", "latest", "--simulate=-1").want(t, failure.Usage,
		"out of range")
	end()
	deploy(fixed)
	server, end = opened(t, folder)
	defer end()
	c = call{server: server}
	c.run(t, "move", "one", "--definition", someHash, "--simulate").want(t, failure.Refused,
		"no definition with the hash")
	c.run(t, "move", "one", "--definition", "latest", "--simulate=40", "--dry-run").want(t, failure.OK,
		"No violation in 40 seeds", "dry run: move accepted")
	c.run(t, "show", "one").want(t, failure.OK, "command 0")
	c.run(t, "move", "one", "--definition", "latest", "--simulate=40", "--output", "json").want(t, failure.OK,
		`"accepted":true`, `"seeds":40`, `"findings":[]`)
	c.run(t, "resubmit", "one").want(t, failure.OK)
	c.run(t, "watch", "one").want(t, failure.OK, "Processed")
}
