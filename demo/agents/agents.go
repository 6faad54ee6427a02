// Package agents writes the agents file of the demo's services. The file states the address and the
// operations of each service.
package agents

import (
	"bytes"
	"fmt"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// operations lists the operations of each service. check is true if the service can report whether a call had
// its effect. Shipping is a plain service and cannot report this. The operator therefore resolves its calls
// in doubt (P31, a plain service needs a ledger).
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

// settings holds the settings of every agent. The services fail in about one of twelve calls. The circuit
// breaker must not open because of these failures.
const settings = `    concurrency: 32
    allow: {loopback: true}
    breaker: {failures: 10, window: 20, delay: 2s}
`

// File returns an agents file with the addresses of the services. The function external reports whether the
// agent of a service is external. An external agent runs outside `stepkeeper dev`. If external is nil, no
// agent is external.
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
