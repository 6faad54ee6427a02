// Package e2e holds tests of the built program. They run bin/stepkeeper as separate processes, kill them,
// fill their disk, and talk to them as applications, agents and operators do. All of it happens on the
// loopback interface.
//
// STEPKEEPER_E2E_SEED chooses the moments of the random kills. The tests print the seed that they use. -short
// runs smaller tests.
package e2e
