// Package deployment is what a deployed function is told through its environment: the names of its
// queues, tables and topic. The construct in infra writes these variables, the functions read them;
// both use this package, so that they cannot disagree.
//
// Whatever is missing or wrong is told at once, in one error that lists all of it, at the start of
// the process and not in the middle of an order.
package deployment
