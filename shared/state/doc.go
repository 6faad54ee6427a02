// Package state loads and stores tasks for the actors, in the documents of a state store.
//
// Authority: Only this package writes documents. It writes each task exactly as package protocol has
// decided. The struct tags of protocol.Task name the members of each document. Package state derives the
// index fields from the task, and stores a definition before a task pins its hash.
//
// States: The version of a record grows by one with each write. A write succeeds only if the stored version
// is the expected version (P8, every commit is conditional). Unknown members of a task or a step are kept. A
// document of a newer schema is refused, and is not changed.
//
// Failures: port.ErrConflict means that another writer was first. After port.ErrUnavailable it is unknown
// whether the write was stored. An unreadable document does not affect the other tasks of a Load. A process
// may cache decoded tasks if it is the only writer. A cached task is never older than the last response of
// the store.
package state
