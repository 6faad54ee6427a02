package simulate

import (
	"os"
	"runtime/debug"
)

// Spacious lets the garbage collector run a quarter as often as it would by itself, until back is
// called. Runs keep little and throw away much: for some tens of MB of memory they are a fifth
// faster. It is for programs that do nothing else meanwhile, and does nothing where GOGC is set.
func Spacious() (back func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(before) }
}
