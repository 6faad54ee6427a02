// Package deployment holds the settings that a deployed function has in its environment: the names of its
// queues, tables and topic. The construct in infra writes these variables, the functions read them;
// both use this package, so that they cannot disagree.
//
// All that is missing or wrong is reported at once, in one error that lists all of it, at the start of
// the process and not in the middle of an order.
package deployment
