package cdkapp_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// Two checkouts on one machine have services of their own, and one keeps its port.
func TestServicesOfACheckout(t *testing.T) {
	one := t.TempDir()
	two := t.TempDir()
	first, err := cdkapp.ServicesAddress(one)
	require.NoError(t, err)
	held, err := net.Listen("tcp", first) // as the first one's services do
	require.NoError(t, err)
	defer held.Close()
	again, err := cdkapp.ServicesAddress(one)
	require.NoError(t, err)
	require.Equal(t, first, again)
	second, err := cdkapp.ServicesAddress(two)
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NoError(t, os.WriteFile(filepath.Join(two, cdkapp.ServicesFile), []byte("example.com:80\n"), 0o600))
	_, err = cdkapp.ServicesAddress(two)
	require.ErrorContains(t, err, cdkapp.ServicesFile, "services elsewhere are called")
}

// The agents that are deployed call this checkout's services.
func TestAgentsFile(t *testing.T) {
	root := filepath.Join("..", "..")
	address, err := cdkapp.ServicesAddress(root)
	require.NoError(t, err)
	file, err := cdkapp.AgentsFile(root, t.TempDir())
	require.NoError(t, err)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	all, err := agentsfile.Read(data)
	require.NoError(t, err)
	require.Len(t, all.Agents, 4)
	for name, a := range all.Agents {
		require.Equal(t, "http://"+address+"/"+name, string(a.URL), name)
	}
}
