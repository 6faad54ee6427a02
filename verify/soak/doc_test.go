// Package soak is the long run: Stepkeeper, its agents and their services as real processes under a
// steady flow of orders, cancels and operator's commands, while processes are killed and frozen, disks
// are full, clocks are stepped, and a network of ours cuts, delays, duplicates and half-closes what goes
// between agents and services. When the faults have ended, every order has to reach its end within a
// bound, and the services' own books are audited.
//
// What happens is drawn from a seed and printed; the moments within a process are the machine's.
//
// It stays within what docs/explanation/reliability.md assumes: calls of services without a fence end in
// their time. Freezing an agent, or leaping all clocks, makes a late call of it; so the network drops the
// calls of those services for that moment. A service with a fence gets them.
package soak_test
