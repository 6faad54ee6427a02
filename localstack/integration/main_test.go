// Package integration tests the deployed product: the CDK app's template in an emulator, with the
// functions as they are built for AWS, orders sent to the intake queue by a plain AWS SDK client,
// and remote services of the test's own on the loopback interface, which the deployed HTTP agent
// calls.
//
// It is run by `make integration`; plain `go test` skips it and says so. STEPKEEPER_INTEGRATION is
// the emulator's endpoint, STEPKEEPER_BACKEND is localstack (default) or ministack.
//
// Faults are put on the wire, never into the product. All functions reach LocalStack through a proxy
// of the test's, given by AWS_ENDPOINT_URL in their environment. It can repeat, refuse, and pass the test the very moment at which to kill a process. The fault injection
// of shared/awsclient lives inside a client and therefore inside the tested process; here the
// deployed binaries stay as they are, and what dies is the real process at SIGKILL.
package integration

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

const (
	varEndpoint = "STEPKEEPER_INTEGRATION"
	varBackend  = "STEPKEEPER_BACKEND"
	localstack  = emulate.NameLocalStack
	ministack   = emulate.NameMiniStack
)

// deployed is what TestMain has deployed; nil without an endpoint.
var deployed *site

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	endpoint := os.Getenv(varEndpoint)
	if endpoint == "" {
		return m.Run()
	}
	if err := cdkapp.Loopback(endpoint); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	backend := os.Getenv(varBackend)
	if backend == "" {
		backend = localstack
	}
	// what builds and synthesises is slow on a busy machine
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	s, err := deploy(ctx, endpoint, backend)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration: the stack could not be deployed:", err)
		return 1
	}
	deployed = s
	code := m.Run()
	if err := s.close(); err != nil {
		fmt.Fprintln(os.Stderr, "integration: cleaning up:", err)
	}
	return code
}

// on gives the deployed stack to tests of one emulator.
func on(t *testing.T, backend string) *site {
	t.Helper()
	if deployed == nil {
		t.Skip("SKIPPED: NOTHING WAS TESTED AGAINST AN EMULATOR, because " + varEndpoint +
			" is not set; run `make integration`")
	}
	if deployed.backend != backend {
		t.Skipf("SKIPPED: this test is for %s, and this run is against %s", backend, deployed.backend)
	}
	return deployed
}
