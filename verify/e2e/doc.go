// Package e2e holds tests of the built program: they run bin/stepkeeper as processes of their own,
// kill them, fill their disk, and talk to them as applications, agents and operators do. All on
// the loopback interface.
//
// STEPKEEPER_E2E_SEED chooses the moments of the random kills; the one used is printed. -short
// runs smaller ones.
package e2e
