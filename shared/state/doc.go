// Package state is the state store as the actors see it: tasks instead of documents. It encodes
// and decodes, derives the index fields, checks versions (P8), loads definitions by their hash,
// and, where one process is the only writer, keeps decoded tasks at hand.
package state
