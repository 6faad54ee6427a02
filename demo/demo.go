// Package demo carries the orders of `stepkeeper demo`: 1,000 lines, one submission each, as a
// shop of this world would send them, about two in a hundred of them broken on purpose.
package demo

import _ "embed"

//go:generate go run ./generate -o orders.jsonl

// Orders is the demo's own file, JSON Lines.
//
//go:embed orders.jsonl
var Orders []byte
