// Package agents is what `stepkeeper dev` and agents of the user's own must know of the demo's services.
package agents

import (
	"bytes"
	"fmt"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// operations of each service: whether it can be asked if a call has happened. Shipping cannot: it
// is plain, and what it leaves in doubt is the operator's (P31).
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

// settings of every agent. These services fail one call in eleven on their ordinary days: the
// breaker must not take a run of bad luck for an outage.
const settings = `    concurrency: 32
    allow: {loopback: true}
    breaker: {failures: 10, window: 20, delay: 2s}
`

// File is an agents' file: it says where the services are. Those for which external says yes have an
// agent outside, which attaches to its queue; nil means that no service has.
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
