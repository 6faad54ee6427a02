// Package agents describes the demo's services for `stepkeeper dev` and for agents of the user.
package agents

import (
	"bytes"
	"fmt"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// operations lists the operations of each service, and whether the service reports if a call has happened.
// Shipping does not: it is plain, and the operator resolves its calls in doubt (P31, a plain service needs a
// ledger).
var operations = []struct {
	agent      string
	operations []string
	check      bool
}{
	{services.Inventory, []string{"reserve", "release"}, true},
	{services.Payment, []string{"charge", "refund"}, true},
	{services.Shipping, []string{"book", "cancel"}, false},
	{services.Notification, []string{"confirm"}, true},
}

// settings holds the settings of every agent. These services normally fail one call in eleven, and the
// breaker must not treat a series of failures as an outage.
const settings = `    concurrency: 32
    allow: {loopback: true}
    breaker: {failures: 10, window: 20, delay: 2s}
`

// File returns an agents' file with the services' addresses. The services for which external returns true
// have an external agent, which connects to its queue. A nil external means that no service has one.
func File(url func(name string) string, external func(name string) bool) []byte {
	var b bytes.Buffer
	b.WriteString("agents:\n")
	for _, a := range operations {
		if external != nil && external(a.agent) {
			fmt.Fprintf(&b, "  %s: {external: true}\n", a.agent)
			continue
		}
		fmt.Fprintf(&b, "  %s:\n    url: %q\n%s    operations:\n", a.agent, url(a.agent), settings)
		for _, op := range a.operations {
			if a.check {
				fmt.Fprintf(&b, "      %s: {check: {method: GET, path: %q}}\n", op, "/"+op+"?key={key}")
			} else {
				fmt.Fprintf(&b, "      %s: {}\n", op)
			}
		}
	}
	return b.Bytes()
}
