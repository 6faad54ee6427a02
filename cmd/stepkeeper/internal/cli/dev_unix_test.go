//go:build unix

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

// devFolder names the folder for a test process that is `stepkeeper dev`.
const devFolder = "STEPKEEPER_TEST_DEV"

// If nobody reads the output of `dev` any more, it continues to serve, loses its log, and ends without an
// error by SIGTERM.
func TestDevOutlivesTheReaderOfItsOutput(t *testing.T) {
	if folder := os.Getenv(devFolder); folder != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		a := app.New(streams.System(), os.Getenv)
		os.Exit(int(a.Execute(ctx, Root(a),
			[]string{
				"dev", "--output", "json", "--data", folder,
				"--workflows", folder + "/workflows", "--agents", folder + "/agents.yaml", "--listen",
				"127.0.0.1:0", "--log-level", "info",
			})))
	}
	folder := t.TempDir()
	require.NoError(t, errors.Join(os.Mkdir(folder+"/workflows", 0o700),
		os.WriteFile(folder+"/agents.yaml", []byte("agents: {shop: {external: true}}"), 0o600)))
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDevOutlivesTheReaderOfItsOutput$")
	process.Env = append(os.Environ(), devFolder+"="+folder)
	out, err1 := process.StdoutPipe()
	logged, err2 := process.StderrPipe()
	require.NoError(t, errors.Join(err1, err2, process.Start()))
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready struct{ URL string }
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(line, &ready))
	require.NoError(t, errors.Join(out.Close(), logged.Close()))
	for range 2 { // a refused order is logged before it is answered
		body := `{"schema":1,"orderId":"o","workflow":"none","order":1}`
		answer, err := http.Post(ready.URL+"/v1/orders", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		_ = answer.Body.Close()
		require.Equal(t, 4, answer.StatusCode/100)
	}
	require.NoError(t, process.Process.Signal(syscall.SIGTERM))
	require.NoError(t, process.Wait())
	require.Equal(t, int(failure.OK), process.ProcessState.ExitCode())
}
