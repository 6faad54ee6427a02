// Package e2e contains tests of the built program. The tests run bin/stepkeeper in separate processes, kill
// the processes, and fill their disks. They communicate with the program as applications, agents and
// operators do. All addresses are on the loopback interface.
//
// The environment variable STEPKEEPER_E2E_SEED sets the seed for the times of the random kills. The tests
// print the seed that they use. With the flag -short the tests are smaller.
package e2e
