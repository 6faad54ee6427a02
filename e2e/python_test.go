package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The example agent in Python, with its boto3, beside `dev`. It needs both, so it is skipped, loudly,
// where they are not installed.
func TestPythonAgent(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED: python3 is not installed; examples/agent-python was not tested")
	}
	if out, err := exec.Command(python, "-c", "import boto3").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: boto3 is not installed; examples/agent-python was not tested:\n%s", out)
	}
	example, err := filepath.Abs("../examples/agent-python")
	if err != nil {
		t.Fatal(err)
	}
	agents, err := os.ReadFile(filepath.Join(example, "agents.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cloakroom, err := os.ReadFile(filepath.Join(example, "workflows", "cloakroom.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := newSite(t, string(agents), map[string]string{"cloakroom.yaml": string(cloakroom)}).start()

	agent := exec.Command(python, "agent.py")
	log := &buffer{}
	agent.Dir, agent.Stderr = example, log
	agent.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "AWS_ENDPOINT_URL_SQS="+p.url,
		"AWS_DEFAULT_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local")
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = agent.Wait() }()
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		<-exited
		if t.Failed() {
			t.Logf("log of the agent:\n%s", log)
		}
	})
	p.run(`{"coat":"red"}`, "submit", "--wait", "--workflow", "cloakroom", "--id", "coat-1", "-").wants(t, "a coat", 0)
	task := p.end("coat-1", "Processed")
	if task.Steps[0].Output == nil {
		t.Errorf("no ticket: %+v", task.Steps[0])
	}
	if err := agent.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-exited:
	case <-time.After(patience):
		t.Error("the agent does not end on SIGTERM")
	}
}
