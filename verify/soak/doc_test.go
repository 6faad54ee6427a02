// Package soak runs Stepkeeper, its agents and their services for a long time as real processes, under a
// steady flow of orders, cancels and operator's commands. Meanwhile it kills and freezes processes, fills
// disks and steps clocks. The services delay and duplicate calls, and cut connections. After the faults every
// order has to end within a bound, and the services' ledgers are audited.
//
// The faults are drawn from a seed and printed. The exact moment of a fault within a process depends on the
// machine.
//
// The faults stay within the assumptions of docs/explanation/reliability.md: calls to services without a
// fence end in time. Freezing an agent, or moving all clocks, would make such a call late, so these services
// take no call meanwhile. A service with a fence receives late calls.
package soak_test
