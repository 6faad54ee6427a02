// Package state loads and stores tasks for the actors, in the documents of a state store. Only this package writes
// documents. The struct tags of protocol.Task name their members, and unknown members are kept.
//
// A write succeeds only if the stored version is the expected version (P8, every commit is conditional). A process
// may cache decoded tasks if it is the only writer. A cached task is never older than the last response of the store.
// An unreadable document does not affect the other tasks of a Load.
package state
