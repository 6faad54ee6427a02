// Package state loads and stores tasks for the actors, in the documents of a state store.
//
// Authority: Only this package writes documents. It writes the tasks that package protocol has decided,
// unchanged. The table of members in fields.go encodes and decodes each document. Package state derives the
// index fields from the task, and stores a definition before a task pins its hash.
//
// States: A record is stored on the condition of its version, which grows by one with each write (P8, every
// commit is conditional). Unknown members of a task or a step are kept. A document of a newer schema is
// refused, and is not changed.
//
// Failures: port.ErrConflict means that another writer was first. After port.ErrUnavailable it is unknown
// whether the write was stored. An unreadable document is an error of its own task only. If one process is
// the only writer, it may cache decoded tasks. A cached task is never older than the last response of the
// store.
package state
