package embedded

import (
	"runtime/debug"
	"sync"
)

// The garbage collector counts ballast as a part of the heap. The operating system assigns no memory to
// ballast, because the program never reads or writes it. The runtime writes a part that begins where it has used
// memory before, and then the whole part is resident. So the parts are small.
var ballast [][]byte //nolint:unused // a global variable stays reachable

// With these values, the next collection starts when the heap has grown by two amounts: 32 MB, which is half
// the ballast, and half the size of the live objects.
const (
	ballastBytes = 64 << 20
	ballastPart  = 1 << 20
	gcPercent    = 50
)

// SetCollector makes Go's garbage collector run less often while the heap is small, and more often once the
// heap is large. By default a collection begins when the heap has doubled. After SetCollector, a collection
// begins when the heap has grown by 32 MB plus half the size of the live objects. SetCollector does nothing
// if the environment sets GOGC or GOMEMLIMIT.
func SetCollector(getenv func(string) string) {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return
	}
	setCollector()
}

var setCollector = sync.OnceFunc(func() {
	for range ballastBytes / ballastPart {
		ballast = append(ballast, make([]byte, ballastPart))
	}
	debug.SetGCPercent(gcPercent)
})
