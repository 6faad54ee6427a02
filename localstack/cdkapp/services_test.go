package cdkapp_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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
