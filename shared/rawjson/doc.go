// Package rawjson reads JSON as text. It checks each value that comes in before anything recursive sees it
// or computes with it: syntax, encoding, depth, and the length and the exponent of its numbers. It reads
// members and elements without decoding the others, and writes the canonical form. What is stored must
// stay readable, and the documents, messages and answers around a value add levels of their own.
package rawjson
