//go:build ruleguard

// Package gorules refuses dense assignments. golangci-lint runs it by ruleguard.
package gorules

import "github.com/quasilyte/go-ruleguard/dsl"

// hidden refuses an assignment in the init of an if whose effect outlives the if.
func hidden(m dsl.Matcher) {
	m.Match(`$*_ = $*_`, `$_ += $_`, `$_ -= $_`, `$_++`, `$_--`).
		Where(m["$$"].Node.Parent().Is("IfStmt")).
		Report("assign on a line of its own: the effect outlives the if")
}

// several refuses two assignments in one statement, but for a swap and the head of a loop.
func several(m dsl.Matcher) {
	m.Match(`$a, $b = $c, $d`).
		Where(!(m["a"].Text == m["d"].Text && m["b"].Text == m["c"].Text) && !m["$$"].Node.Parent().Is("ForStmt")).
		Report("assign one value a statement")
	m.Match(`$_, $_ := $_, $_`, `$_, $_, $_ := $_, $_, $_`, `$_, $_, $_, $_ := $_, $_, $_, $_`,
		`$_, $_, $_ = $_, $_, $_`, `$_, $_, $_, $_ = $_, $_, $_, $_`).
		Where(!m["$$"].Node.Parent().Is("ForStmt")).
		Report("assign one value a statement")
}
