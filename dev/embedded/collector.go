package embedded

import "runtime/debug"

// ballast is never read or written, so the system allots no memory to it. The collector counts its size
// nevertheless.
var ballast []byte //nolint:unused // a global variable stays reachable

// With this ballast and this percentage the heap may grow by 32 MB and half the size of its live objects
// between two collections.
const (
	ballastBytes = 64 << 20
	gcPercent    = 50
)

// SetCollector makes Go's garbage collector run less often while the heap is small, and more often than by
// default once it is large. The next collection begins when the heap has grown by 32 MB and a half of its
// live objects; by default it begins when the heap has doubled. SetCollector changes nothing if the
// environment sets GOGC or GOMEMLIMIT.
func SetCollector(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	ballast = make([]byte, ballastBytes)
	debug.SetGCPercent(gcPercent)
}
