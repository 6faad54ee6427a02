// Package deployment holds the settings in the environment of a deployed function: the names of its queues,
// tables and topic. The construct in infra writes these variables and the functions read them. Both use this
// package, so that they agree.
//
// One error lists all missing and wrong settings, at the start of the process and not in the middle of an
// order.
package deployment
