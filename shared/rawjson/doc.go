// Package rawjson reads JSON as text, without decoding it into Go values. It has four tasks:
//
//   - It checks values from outside before recursive code or arithmetic uses them: syntax, encoding, depth,
//     and the length and exponent of numbers.
//   - It reads the members of an object, and the elements of a list.
//   - It writes the canonical form of a value.
//   - It writes values with parts that were checked before, and does not read these parts again.
package rawjson
