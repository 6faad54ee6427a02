package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The example agent in Python, with the package of sdk/python and its boto3: beside `dev`, where it looks
// its queues up, and as with a deployed stack, where it is given their addresses. It needs both, so it is
// skipped, loudly, where they are not installed.
func TestPythonAgent(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: python3 is not installed; examples/agent-python was not tested")
	}
	if out, err := exec.Command(python, "-c", "import boto3").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: boto3 is not installed; examples/agent-python was not tested:\n%s", out)
	}
	example, err := filepath.Abs("../../examples/agent-python")
	require.NoError(t, err)
	agents, err := os.ReadFile(filepath.Join(example, "agents.yaml"))
	require.NoError(t, err)
	cloakroom, err := os.ReadFile(filepath.Join(example, "workflows", "cloakroom.yaml"))
	require.NoError(t, err)
	tests := exec.Command(python, "-m", "unittest")
	tests.Dir = example
	tests.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", fromTheFolder)
	_, err = tests.CombinedOutput()
	require.NoError(t, err, "its own tests")
	p := newSite(t, string(agents), map[string]string{"cloakroom.yaml": string(cloakroom)}).start()
	address := func(queue string) string { return p.URL() + "/000000000000/" + queue }
	for order, variables := range map[string][]string{
		"looked-up": nil,
		// The prefix would lead the search astray: nothing is looked up.
		"given": {
			"STEPKEEPER_QUEUE_PREFIX=none-", "STEPKEEPER_REQUESTS_URL=" + address("requests-coats"),
			"STEPKEEPER_REPLIES_URL=" + address("replies"),
			"STEPKEEPER_QUARANTINE_URL=" + address("quarantine"),
		},
	} {
		stop := startPythonAgent(t, python, example, append(variables, "AWS_ENDPOINT_URL_SQS="+p.URL()))
		p.run(`{"coat":"red"}`, "submit", "--wait", "--workflow", "cloakroom", "--id", order, "-").wants(t,
			"a coat", 0)
		require.NotNil(t, p.end(order, "Processed").Steps[0].Output, order)
		stop()
	}
}

// fromTheFolder lets Python find the package without an installation.
const fromTheFolder = "PYTHONPATH=../../sdk/python"

// startPythonAgent starts the agent; stop ends it as an operator does.
func startPythonAgent(t *testing.T, python, folder string, variables []string) (stop func()) {
	t.Helper()
	agent := exec.Command(python, "agent.py")
	var log bytes.Buffer // read after the end of the process
	agent.Dir = folder
	agent.Stderr = &log
	agent.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", fromTheFolder,
		"AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	agent.Env = append(agent.Env, variables...)
	require.NoError(t, agent.Start())
	exited := make(chan struct{})
	go func() { defer close(exited); _ = agent.Wait() }()
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("log of the agent:\n%s", &log)
		}
	})
	return func() {
		require.NoError(t, agent.Process.Signal(syscall.SIGTERM))
		select {
		case <-exited:
		case <-time.After(patience):
			t.Error("the agent does not end on SIGTERM")
		}
	}
}
