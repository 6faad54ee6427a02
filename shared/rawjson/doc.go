// Package rawjson walks JSON as text: it finds where values begin and end, and reads members without
// decoding the others. It also has the bounds of each value that comes in: its depth, and the length and the
// exponent of its numbers. They are checked before anything recursive sees the value or computes with it. What
// is stored must stay readable, and the documents, messages and answers around a value add levels of their own.
// Package rawjson imports the standard library only.
package rawjson
