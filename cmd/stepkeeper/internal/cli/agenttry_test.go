package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
)

// deskVariable is a variable that lets TestDeskAgent run as the agent "desk". Its value is the folder of the
// agent's files.
const deskVariable = "STEPKEEPER_TEST_DESK"

// TestDeskAgent is not a test but the agent that TestAgentTry starts. It remembers keys, and has no fence.
func TestDeskAgent(t *testing.T) {
	folder := os.Getenv(deskVariable)
	if folder == "" {
		t.Skip("it is started by TestAgentTry")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var mu sync.Mutex
	lend := func(_ context.Context, c agent.Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(string(c.Input), "careless") {
			c.Key += fmt.Sprint("-", c.Attempt)
		}
		return nil, os.WriteFile(filepath.Join(folder, strings.ReplaceAll(c.Key, "/", "~")), nil, 0o600)
	}
	takeBack := func(_ context.Context, c agent.Call) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		lent, err := filepath.Glob(filepath.Join(folder, strings.ReplaceAll(c.Key, "/", "~")+"*"))
		for _, one := range lent {
			err = errors.Join(err, os.Remove(one))
		}
		return nil, err
	}
	require.NoError(t, agent.Serve(ctx, "desk", agent.Operations{"lend": {Run: lend}, "take-back": {Run: takeBack}},
		ledger.InFolder("")))
}

func TestAgentTry(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	try := func(flags ...string) result {
		t.Helper()
		all := append([]string{
			"agent", "test", "desk", "--do", "lend", "--undo", "take-back", "--between",
			"5", "--call-timeout", "30s", // a busy machine makes no request late
			"--effects", `ls "` + folder + `" | grep -c "^$(echo "$KEY" | tr / "~")" || true`,
		}, flags...)
		return call{}.run(t, append(all, "--", "env", deskVariable+"="+folder, self, "-test.run=^TestDeskAgent$")...)
	}
	try("--earns", "idempotent").want(t, failure.OK, "desk earns idempotent; it is not fenced",
		"do after undo", "ok     duplicate")
	ons := filepath.Join(folder, "ons.log")
	delays := filepath.Join(folder, "delays.log")
	try("--refuse", `echo "$ON" >> "`+ons+`"`, "--delay", `echo "$MS" >> "`+delays+`"`,
		"--call-timeout", "5s").want(t, failure.OK,
		"a refusal is not remembered")
	require.True(t, strings.HasPrefix(read(t, ons), "1\n0\n"), "the service was asked to refuse: %s", read(t, ons))
	text := read(t, delays)
	require.True(t, strings.HasSuffix(text, "\n0\n"), "the service was asked to be slow: %s", text)
	require.False(t, strings.HasPrefix(text, "0"))
	try("--earns", "fenced").want(t, failure.General, "agent desk is not fenced",
		"declare idempotent in the workflow")
	r := try("--input", `{"how":"careless"}`, "--output", "json")
	r.want(t, failure.OK)
	require.Equal(t, "plain", decodeLines(t, r.out)[0]["grade"])
}

// What is wrong shows only while the agent is tried. TestRefusedCallsSayWhatToDo has the calls that begin no trial.
func TestAgentTryEnds(t *testing.T) {
	for flags, x := range map[string]struct {
		code failure.Code
		says string
	}{
		"--effects=false -- sleep 60":                           {failure.General, "the command of --effects failed"},
		"--effects=pwd -- sleep 60":                             {failure.General, "must print a number"},
		"--effects=:;echo${IFS}0 -- true":                       {failure.General, "process has ended"},
		"--effects=x -- no-such-program-at-all":                 {failure.Usage, "cannot be started"},
		"--timeout=2s --call-timeout=1ms --effects=echo${IFS}0": {failure.General, "did not finish with its requests"},
		"--timeout=100ms --effects=sleep${IFS}60 -- sleep 60":   {failure.General, "--effects did not end within 100ms"},
	} {
		call{}.run(t, append([]string{"agent", "test", "desk", "--do=lend"}, strings.Fields(flags)...)...).want(t,
			x.code, x.says)
	}
}

// A child of the command may live longer than the command, and keep its output open, as of `go run`.
func TestAgentTryDoesNotWaitForChildren(t *testing.T) {
	t.Parallel()
	began := time.Now()
	call{}.run(t, "agent", "test", "desk", "--do=lend", "--effects=pwd", "--", "sh", "-c", "sleep 60 & wait").want(t,
		failure.General, "must print a number")
	require.Less(t, time.Since(began), 50*time.Second)
}
