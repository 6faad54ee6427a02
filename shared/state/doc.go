// Package state is the actors' view of the state store: tasks instead of documents.
//
// Authority: it is the only package that writes documents, and it writes what package core decided,
// unchanged. It encodes and decodes by one table of members (fields.go), derives the index fields from the
// task, and stores a definition before a task pins its hash.
//
// States: a record is stored on the condition of its version, which grows by one (P8, every commit is
// conditional). Members that this program does not know are kept. A document of a newer schema is refused and
// left as it is.
//
// Failures: port.ErrConflict means that another writer was first; port.ErrUnavailable, that the write may or
// may not be stored. An unreadable document is an error of its task alone. If one process is the only writer,
// it caches decoded tasks; a cached task is never older than the last response of the store.
package state
