// Package booking contains the project that `stepkeeper init` writes: a workflow of two steps, the services
// that the steps call, an order, and a test.
package booking

import "embed"

// Files holds the project's files. `stepkeeper init` writes the file gitignore as .gitignore, and also
// writes go.mod.
//
//go:embed workflows/booking.yaml services/main.go agents.yaml order.json booking_test.go README.md gitignore
var Files embed.FS
