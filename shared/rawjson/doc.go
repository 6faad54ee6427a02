// Package rawjson reads JSON as text. It checks each value from outside before recursive code or arithmetic
// uses it: syntax, encoding, depth, and the length and the exponent of its numbers. It reads members and
// elements without decoding the others, and writes the canonical form. Its bounds leave room for the levels
// of the documents and messages that contain a value.
package rawjson
