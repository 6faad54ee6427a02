// Package mutants checks that the tests of the product can fail. It contains a list of mutants. A mutant is a
// small change of the product that breaks one rule of docs/explanation/protocol.md or one invariant of
// docs/reference/simulator.md (I1 to I21). At least one test must fail with the mutant.
//
// The sources of the product contain no mutants. [Weave] writes changed copies of the sources into another
// folder, with a file for `go test -overlay`. A copy contains the original functions, and a changed copy of a
// function for each mutant. The original function begins with a switch. The switch calls the changed copy if
// the environment variable STEPKEEPER_MUTANT names the mutant. Therefore each test binary is compiled once
// for all mutants.
//
// The files lists/*.txt contain one paragraph for each mutant:
//   - The first line contains the name, the file and the function.
//   - Lines that begin with "-" contain the old text.
//   - Lines that begin with "+" contain the new text.
//   - An optional last line contains an argument. "equivalent: " explains why no test can fail with the
//     mutant. "unsimulated: " explains why no simulation can notice the mutant.
//
// A line that begins with "#" is a comment. The name of a mutant begins with the rule, the invariant, the
// rule of docs/reference/aws-rules.md (A1 …), or a word for the package. The old text must occur exactly once
// in the function.
//
// `make mutants` (verify/mutants/run) tries the mutants that [Offline] returns. A room (rooms.go) is a group
// of packages with their tests. Each test of a room first runs alone without a mutant. This run measures the
// test's time and the functions that the test calls. Then the tests that call the function of a mutant run
// with the mutant. The tests of the mutant's package run first. Among these tests, the tests in the test file
// of the mutant's file run first, then fast tests that reach few mutants.
//
// A mutant survives if no test fails. If a mutant survives, `make mutants` fails. In this case, add a test to
// the room of the changed code. If no test can fail, add the argument "equivalent: ". A mutant with this
// argument must survive, and does not count.
//
// The program verify/mutants/sampled tries randomly drawn mutants instead.
package mutants
