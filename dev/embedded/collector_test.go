package embedded_test

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
)

// untilNextCollection returns by how many MB the heap may grow until the next collection.
func untilNextCollection() int64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64()-s[1].Value.Uint64()) >> 20
}

func TestCollectorRunsLessOftenOnASmallHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		before := untilNextCollection()
		embedded.SetCollector(func(asked string) string {
			if asked == name {
				return "100"
			}
			return ""
		})
		require.LessOrEqual(t, untilNextCollection(), before+10, name)
	}
	embedded.SetCollector(func(string) string { return "" })
	after := untilNextCollection()
	require.GreaterOrEqual(t, after, int64(32), "the heap may grow by %d MB", after)
	require.LessOrEqual(t, after, int64(64), "the heap may grow by %d MB", after)
}
