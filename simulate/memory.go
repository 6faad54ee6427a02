package simulate

import (
	"os"
	"runtime/debug"
)

// Spacious makes the garbage collector run a quarter as often until back is called. Runs allocate much memory
// and keep little, so they become a fifth faster, and need some tens of MB more. Call it in programs that
// only simulate. It does nothing if GOGC is set.
func Spacious() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}
