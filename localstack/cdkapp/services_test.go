package cdkapp_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// Two checkouts on one machine have services of their own, and one keeps its port.
func TestServicesOfACheckout(t *testing.T) {
	one := t.TempDir()
	two := t.TempDir()
	first, err := cdkapp.ServicesAddress(one)
	if err != nil {
		t.Fatal(err)
	}
	held, err := net.Listen("tcp", first) // as the first one's services do
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	again, err := cdkapp.ServicesAddress(one)
	if err != nil || again != first {
		t.Errorf("%s became %s, %v", first, again, err)
	}
	if second, err := cdkapp.ServicesAddress(two); err != nil || second == first {
		t.Errorf("both have %s, %v", second, err)
	}
	if err := os.WriteFile(filepath.Join(two, cdkapp.ServicesFile), []byte("example.com:80\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if address, err := cdkapp.ServicesAddress(two); err == nil ||
		!strings.Contains(err.Error(), cdkapp.ServicesFile) {
		t.Errorf("services elsewhere are called: %s, %v", address, err)
	}
}

// The agents that are deployed call this checkout's services.
func TestAgentsFile(t *testing.T) {
	root := filepath.Join("..", "..")
	address, err := cdkapp.ServicesAddress(root)
	if err != nil {
		t.Fatal(err)
	}
	file, err := cdkapp.AgentsFile(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := agentsfile.Read(data)
	if err != nil || len(all.Agents) != 4 {
		t.Fatalf("%d agents, %v", len(all.Agents), err)
	}
	for name, a := range all.Agents {
		if string(a.URL) != "http://"+address+"/"+name {
			t.Errorf("agent %s calls %s", name, a.URL)
		}
	}
}
