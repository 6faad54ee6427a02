// Package booking is the project that `stepkeeper init` writes: a workflow of two steps, the services
// that it calls, an order, and a test.
package booking

import "embed"

// Files are those of the project. gitignore stands for .gitignore; go.mod is made when it is written.
//
//go:embed workflows/booking.yaml services/main.go agents.yaml order.json booking_test.go README.md gitignore
var Files embed.FS
