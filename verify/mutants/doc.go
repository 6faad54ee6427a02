// Package mutants proves that the tests can fail. It holds a list of mutants. Each is a small change of the
// product that breaks one rule of docs/explanation/protocol.md or one invariant (I1 to I21, see
// docs/reference/simulator.md), and the tests have to notice it.
//
// The product's sources contain no mutants. [Weave] writes patched copies of the sources into another folder,
// with a file for `go test -overlay`. Each changed function gets a copy for each of its mutants, and begins
// with a switch: it calls the copy if the environment variable STEPKEEPER_MUTANT names that mutant. So each
// test binary is compiled once for all mutants.
//
// The lists (lists/*.txt) have a paragraph for each mutant: its name, the file and the function on the first
// line, then the old text, with "-" before each line, and the new text, with "+" before each line. A last
// line gives an argument, if there is one: "equivalent: " why no test can notice the mutant, or "unsimulated:
// " why the simulator does not. A line that begins with "#" is a comment.
//
// `make mutants` (verify/mutants/run) tries all mutants. The name of a mutant begins with the rule, the
// invariant, the rule of docs/reference/aws-rules.md (A1 …) or the room, and the old text occurs in the
// function exactly once. Each test of a room (rooms.go) first runs alone and without a mutant, to measure its
// time and the functions that it reaches. Then the tests that reach a mutant's function run with it, those of
// its package first, fastest first. A mutant that survives fails the gate: write a test that notices it, in
// the room of the changed code. If no test can notice it, give an argument; such a mutant is run and must
// survive, but it does not count.
//
// verify/mutants/sampled tries mutants that are drawn at random instead.
package mutants
