package services

import (
	"bytes"
	"fmt"
	"slices"
)

// settings holds the settings of every agent. The services fail in about one of twelve calls. The circuit
// breaker must not open because of these failures.
const settings = `    concurrency: 32
    allow: {loopback: true}
    breaker: {failures: 10, window: 20, delay: 2s}
`

// AgentsFile returns an agents file for the services at an address. The agents whose names are in external run outside
// `stepkeeper dev`.
//
// The operations of the plain service have no check, although it could answer one: the operator resolves its calls in
// doubt (P31, a plain service needs a ledger).
func AgentsFile(url string, external ...string) []byte {
	var b bytes.Buffer
	b.WriteString("agents:\n")
	for _, s := range all() {
		if slices.Contains(external, s.name) {
			fmt.Fprintf(&b, "  %s: {external: true}\n", s.name)
			continue
		}
		fmt.Fprintf(&b, "  %s:\n    url: %q\n%s    operations:\n", s.name, url+"/"+s.name, settings)
		for _, op := range s.operations() {
			check := ""
			if s.grade != plain {
				check = fmt.Sprintf("check: {method: GET, path: %q}", "/"+op+"?key={key}")
			}
			fmt.Fprintf(&b, "      %s: {%s}\n", op, check)
		}
	}
	return b.Bytes()
}
