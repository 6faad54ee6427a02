package infra_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// An agent in Python gets the runtime of its language, and everything else as any agent. How a bundle is made
// is tested in package build.
func TestFolderInPython(t *testing.T) {
	folder := t.TempDir()
	for file, text := range map[string]string{
		"agent.py":         "handler = None\n",
		"requirements.txt": "# none\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.Agents["payment"] = infra.Agent{Folder: folder}
	})
	f := x.of("AWS::Lambda::Function")["AgentPayment"].Properties
	same(t, "runtime", f["Runtime"], "python3.13")
	same(t, "handler", f["Handler"], "agent.handler")
	same(t, "memory", f["MemorySize"], 256)
	same(t, "runtime of the Scheduler", x.of("AWS::Lambda::Function")["Scheduler"].Properties["Runtime"],
		"provided.al2023")
}
