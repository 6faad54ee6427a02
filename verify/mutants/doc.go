// Package mutants proves that the tests can fail: it holds the list of semantic mutants, each one a small
// change of the product that breaks one rule of docs/explanation/protocol.md or one invariant (I1 to
// I21, see docs/reference/simulator.md), and the tests have to notice every one of them.
//
// The product's sources hold nothing of it. [Weave] writes patched copies of them into another
// folder, with a file for `go test -overlay`: each function that mutants change gets a copy per
// mutant beside it, and begins with a switch that goes there when the environment variable
// STEPKEEPER_MUTANT names that mutant. So each test binary is compiled once for all mutants.
//
// The lists (lists/*.txt) have a paragraph for each mutant: its name, the file and the function on the first
// line, then the text that is replaced, each line after a "-", and what replaces it, each line after a "+".
// A last line gives an argument, if there is one: "equivalent: " why no test can notice the mutant, or
// "unsimulated: " why the simulator does not. A line that begins with "#" is a comment.
//
// `make mutants` (verify/mutants/run) runs all of it. The name of a mutant begins with the rule, the
// invariant, the rule of docs/reference/aws-rules.md (A1 …) or the room, and the replaced text occurs in the
// function exactly once. Each test of its room (rooms.go) runs by itself first, without a mutant: that shows
// how long it takes and which mutants' functions it reaches. The tests that reach a mutant are tried, those
// of its package first, fastest first. A mutant that survives fails the gate: write the test that kills it,
// in the room of the code that it changes. One that no test could kill, because what it changes is held by
// something else too, gets an argument; such a mutant is not counted, but it is run, and must survive.
//
// verify/mutants/sampled tries mutants that are drawn at random instead.
package mutants
