// Package core is the pure heart of Stepkeeper: one function, [Decide], that takes a task and
// an event and returns the next task and the effects to carry out after it was stored.
//
// Nothing here does I/O, reads a clock, draws a random number or starts a goroutine; time and
// what an instance has learnt arrive as the argument [At]. Rules are cited by their number in
// docs/protocol.md (P1 to P32).
package core
