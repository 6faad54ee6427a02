package cdkapp

import (
	"fmt"
	"net/url"

	"github.com/stepkeeper/stepkeeper/shared/loopback"
)

// Loopback returns an error for an endpoint that is not on this machine. The package must never change a real
// account (rule 27 in docs/reference/aws-rules.md).
func Loopback(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err == nil && loopback.Is(u.Hostname()) {
		return nil
	}
	return fmt.Errorf(
		"endpoint %.100q is not on this machine; this is for emulators on 127.0.0.1, "+
			"see docs/how-to/localstack.md",
		endpoint)
}
